//! Which series there are, and what each is declared to be.
//!
//! Counting an event must not cost a read, so this process remembers declarations. It never trusts its memory: every
//! batch carries a guard that the record in the store still says the same. Where it does not, nothing was written, and the
//! caller plans again with [`Memory::Doubted`].

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Key, Op, Placement, Query, Reply, Store, rehearse};

use super::keys::{self, Keys};
use super::record::{self, Use};
use super::tally::{Closed, Tallied};
use super::writing::{self, Writing};
use super::{Declaration, SeriesError, SeriesName};
use crate::{Error, Result};

/// Declarations remembered, of all accounts together. When there are more, all are forgotten and read again as needed.
pub const DECLARATIONS_MAX: usize = 200_000;

/// The series in a store.
#[derive(Debug)]
pub struct Catalog {
    pub(super) store: Arc<dyn Store>,
    remembered: Mutex<HashMap<(Account, SeriesName), Arc<Declared>, RandomState>>,
}

/// A declaration and the record it was read from.
#[derive(Clone, Debug)]
pub struct Declared {
    pub(super) declaration: Declaration,
    pub(super) used: Use,
    /// What the store holds; none where the series is yet to be created.
    pub(super) record: Option<Atom>,
}

/// Whether what is remembered may be relied on, until a guard says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Trusted,
    Doubted,
}

/// A series in a list.
#[derive(Clone, Debug)]
pub struct Listing {
    pub name: SeriesName,
    pub declaration: Declaration,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    pub series: Vec<Listing>,
    /// Where the next page begins; none at the end.
    pub next: Option<SeriesName>,
}

impl Declared {
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// The record to write with the first event.
    pub(super) fn record_once_used(&self) -> Option<Atom> {
        let is_written = self.record.is_some() && self.used == Use::Used;
        (!is_written).then(|| record::write(&self.declaration, Use::Used))
    }
}

impl Catalog {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, remembered: Mutex::default() }
    }

    /// What a series is declared to be, now.
    pub async fn get(&self, account: Account, name: &SeriesName) -> Result<Declared> {
        let found = self.read(account, &[name]).await?.pop().flatten();
        Ok(found.ok_or_else(|| SeriesError::Unknown { series: name.to_string() })?)
    }

    /// The channel that tells of every change of a series.
    pub fn channel(&self, name: &SeriesName) -> Key {
        self.keys(name).channel()
    }

    /// The tags of the parts that [`Catalog::count`] will make of these events.
    pub fn tags(&self, tallied: &Tallied) -> Vec<String> {
        writing::tags(self.placement(), tallied)
    }

    /// What counts these events. Series that are not declared yet become so.
    pub async fn count(&self, account: Account, tallied: &Tallied, memory: Memory) -> Result<Writing> {
        match self.planned(account, tallied, memory).await {
            // No guard stands behind a refusal, so it must not come from memory.
            Err(Error::Series(_)) if memory == Memory::Trusted => self.planned(account, tallied, Memory::Doubted).await,
            planned => planned,
        }
    }

    async fn planned(&self, account: Account, tallied: &Tallied, memory: Memory) -> Result<Writing> {
        let declared = self.declared(account, &tallied.series, memory).await?;
        let mut writing = Writing::default();
        let mut created = Vec::new();
        for (series, declared) in tallied.series.iter().zip(&declared) {
            let keys = self.keys(&series.name);
            let batch = writing::counted(&keys, declared, series, &tallied.members)?;
            writing.put(&series.name, batch);
            if declared.record.is_none() {
                created.push(&series.name);
            }
        }
        self.list_names(account, &created, &mut writing).await?;
        self.remember_as_used(account, tallied, &declared);
        Ok(writing)
    }

    /// What declares a series, and whether it is a new one.
    pub async fn declare(
        &self,
        account: Account,
        name: &SeriesName,
        declaration: &Declaration,
    ) -> Result<(Writing, bool)> {
        let old = self.read(account, &[name]).await?.pop().flatten();
        let used = old.as_ref().map_or(Use::Empty, |old| old.used);
        if let Some(old) = old.as_ref().filter(|old| old.used == Use::Used)
            && let Some(what) = declaration.breaks(&old.declaration)
        {
            return Err(SeriesError::HasData { series: name.to_string(), what }.into());
        }
        let key = self.keys(name).declaration();
        let is_new = old.is_none();
        let batch = Batch::new()
            .guard(Guard::Value { key: key.clone(), is: old.and_then(|old| old.record) })
            .op(Op::Set { key, value: record::write(declaration, used) });
        let mut writing = Writing::default();
        writing.put(name, batch);
        self.list_names(account, &[name], &mut writing).await?;
        Ok((writing, is_new))
    }

    /// Series in order of their names, from after one, as long as they begin with a prefix.
    pub async fn list(&self, account: Account, prefix: &str, after: Option<&str>, limit: u32) -> Result<Page> {
        let after = match (after, crate::name::before(prefix)) {
            (Some(after), Some(before)) => Some(before.max(after.as_bytes().to_vec())),
            (after, before) => after.map(|after| after.as_bytes().to_vec()).or(before),
        };
        let query = Query::SortedByMember {
            key: keys::index(self.placement()),
            after: after.map(Atom::from),
            limit: u64::from(limit) + 1,
        };
        let members = self.ask(account, vec![query]).await?.pop().map_or(Ok(Vec::new()), Reply::members)?;
        let names = members.iter().map_while(|member| member.as_str().filter(|name| name.starts_with(prefix)));
        let mut names: Vec<_> = names.filter_map(|name| SeriesName::parse(&name).ok()).collect();
        let is_cut = names.len() > limit as usize;
        names.truncate(limit as usize);
        let next = names.last().filter(|_| is_cut).cloned();
        let declared = self.read(account, &names.iter().collect::<Vec<_>>()).await?;
        // A name without a declaration: deleted between the two reads, or its creation was cut off half-way.
        let series = names.into_iter().zip(declared);
        let series =
            series.filter_map(|(name, declared)| Some(Listing { name, declaration: declared?.declaration })).collect();
        Ok(Page { series, next })
    }

    pub(super) fn placement(&self) -> Placement {
        self.store.placement()
    }

    pub(super) fn keys(&self, name: &SeriesName) -> Keys {
        Keys::of(self.placement(), name)
    }

    pub(super) async fn ask(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        Ok(self.store.read(account, queries).await?)
    }

    /// Adds names to the index: in the same batch, or first. A name without a series is not shown; a series without a name
    /// would be lost. Where it is first, nothing is listed for a request that would then be refused.
    async fn list_names(&self, account: Account, names: &[&SeriesName], writing: &mut Writing) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let members = names.iter().map(|name| (Atom::from(name.as_str()), 0.0)).collect();
        let op = Op::SortedAdd { key: keys::index(self.placement()), when: AddWhen::IfNew, members };
        if let (Placement::Together, Some(part)) = (self.placement(), writing.parts.first_mut()) {
            part.batch.ops.push(op);
            return Ok(());
        }
        rehearse(&*self.store, account, writing.parts.iter().map(|part| &part.batch)).await?;
        self.store.commit(account, Batch::new().op(op)).await?;
        Ok(())
    }

    async fn declared(&self, account: Account, series: &[Closed], memory: Memory) -> Result<Vec<Arc<Declared>>> {
        let mut declared = self.recall(account, series, memory);
        let missing: Vec<usize> = (0..series.len()).filter(|index| declared[*index].is_none()).collect();
        let names: Vec<_> = missing.iter().map(|index| &series[*index].name).collect();
        for (index, found) in missing.iter().zip(self.read(account, &names).await?) {
            let found = found.unwrap_or_else(|| Declared {
                declaration: Declaration::standard(writing::kind_of(series[*index].first)),
                used: Use::Empty,
                record: None,
            });
            declared[*index] = Some(Arc::new(found));
        }
        Ok(declared.into_iter().flatten().collect())
    }

    fn recall(&self, account: Account, series: &[Closed], memory: Memory) -> Vec<Option<Arc<Declared>>> {
        if memory == Memory::Doubted {
            return vec![None; series.len()];
        }
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        series.iter().map(|series| remembered.get(&Named(account, &series.name)).cloned()).collect()
    }

    /// As each series will be once the events are counted. If they never are, the next guard fails and all is read again.
    fn remember_as_used(&self, account: Account, tallied: &Tallied, declared: &[Arc<Declared>]) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        for (series, declared) in tallied.series.iter().zip(declared) {
            let as_used = match declared.record_once_used() {
                Some(record) => Arc::new(Declared {
                    declaration: declared.declaration.clone(),
                    used: Use::Used,
                    record: Some(record),
                }),
                None => Arc::clone(declared),
            };
            if let Some(known) = remembered.get_mut(&Named(account, &series.name)) {
                *known = as_used;
                continue;
            }
            if remembered.len() >= DECLARATIONS_MAX {
                remembered.clear();
            }
            remembered.insert((account, series.name.clone()), as_used);
        }
    }

    async fn read(&self, account: Account, names: &[&SeriesName]) -> Result<Vec<Option<Declared>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<_> = names.iter().map(|name| self.keys(name).declaration()).collect();
        let queries = keys.iter().map(|key| Query::Get { key: key.clone() }).collect();
        let replies = self.ask(account, queries).await?;
        let read = |(key, reply): (&Key, Reply)| {
            let Some(atom) = reply.value()? else { return Ok(None) };
            let Some((declaration, used)) = record::read(&atom) else {
                return Err(Error::Record { key: key.to_string(), why: "it does not declare a series".into() });
            };
            Ok(Some(Declared { declaration, used, record: Some(atom) }))
        };
        keys.iter().zip(replies).map(read).collect()
    }
}

/// Looks up without an owned name.
#[derive(Hash)]
struct Named<'a>(Account, &'a SeriesName);

impl hashbrown::Equivalent<(Account, SeriesName)> for Named<'_> {
    fn equivalent(&self, key: &(Account, SeriesName)) -> bool {
        self.0 == key.0 && *self.1 == key.1
    }
}
