//! Which events there are, what they are declared to be, and which sessions they have.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tickmark_store::{Account, AddWhen, Atom, Batch, Cursor, Guard, Key, Op, Placement, Presence, Query, Reply, Store};

use super::keys::{self, EventKeys, ScopeKeys, Stem};
use super::median::Medians;
use super::turn::{Held, Turn};
use super::{AudienceError, AudienceName, Scope};
use crate::{Error, Result};

pub const THRESHOLD_SECONDS_DEFAULT: u64 = 65;
pub const THRESHOLD_SECONDS_MAX: u64 = 3_600;
/// Sessions of one event.
pub const SESSIONS_MAX: usize = 10_000;
/// Locations of one event.
pub const LOCATIONS_MAX: usize = 100;
/// Events whose writers this process keeps in order, and whose time it moves on. The longest unused is let go of first, with what
/// is in memory of when its viewers were last seen.
const HELD_MAX: usize = 10_000;

/// The audiences in a store.
#[derive(Debug)]
pub struct Audience {
    pub(super) store: Arc<dyn Store>,
    held: Mutex<HashMap<(Account, AudienceName), Held, RandomState>>,
    pub(super) medians: Medians,
}

/// What an event is declared to be, and the record it was read from.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) threshold_ms: i64,
    /// None where the event is yet to be created.
    pub(super) record: Option<Atom>,
}

/// Which session it is, in the order they were first seen from 1, and how its keys begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) number: u32,
    pub(super) stem: Stem,
}

/// The field of the hash of sessions that has the number of the last. No session is called that.
pub(super) const LAST_SESSION: &str = "#";

/// A scope that is there.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) keys: ScopeKeys,
    /// Of its part in the records of viewers; 0 is the event.
    pub(super) number: u32,
    pub(super) threshold_ms: i64,
    /// Whether others read the same keys.
    pub(super) is_shared: bool,
}

/// A page of names.
#[derive(Clone, Debug)]
pub struct Page {
    pub names: Vec<String>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

impl Audience {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, held: Mutex::default(), medians: Medians::default() }
    }

    /// To be held while heartbeats are planned and committed.
    pub fn turn(&self, account: Account, event: &AudienceName, now_ms: i64) -> Turn {
        self.touch(account, event, now_ms);
        Turn::new(self.held(account, event))
    }

    pub(super) fn held(&self, account: Account, event: &AudienceName) -> Held {
        self.with_held(account, event, |held| held.clone())
    }

    /// Someone wrote to or asked about an event, so it is kept up to date for a while.
    pub(super) fn touch(&self, account: Account, event: &AudienceName, now_ms: i64) {
        self.with_held(account, event, |held| {
            held.used_ms = Some(held.used_ms.map_or(now_ms, |used| used.max(now_ms)));
        });
    }

    fn with_held<T>(&self, account: Account, event: &AudienceName, then: impl FnOnce(&mut Held) -> T) -> T {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (account, event.clone());
        if !held.contains_key(&name) && held.len() >= HELD_MAX {
            let idle = held.iter().filter(|(_, held)| !held.is_in_hand());
            let oldest = idle.min_by_key(|(_, held)| held.used_ms).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| held.remove(&oldest));
        }
        then(held.entry(name).or_default())
    }

    /// Events that someone wrote to or asked about, in no order.
    pub fn in_use(&self) -> Vec<(Account, AudienceName)> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().filter(|(_, held)| held.used_ms.is_some()).map(|(name, _)| name.clone()).collect()
    }

    /// Leaves an event alone until someone comes back to it, unless they did since a time.
    pub fn leave(&self, account: Account, event: &AudienceName, since_ms: i64) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (account, event.clone());
        if held.get(&name).is_some_and(|held| held.used_ms < Some(since_ms) && !held.is_in_hand()) {
            held.remove(&name);
        }
    }

    /// What declares an event, and whether it is a new one. The threshold of one that has heartbeats stays as it is.
    pub async fn declare(
        &self,
        account: Account,
        event: &AudienceName,
        threshold_seconds: u64,
    ) -> Result<(Batch, bool)> {
        if !(1..=THRESHOLD_SECONDS_MAX).contains(&threshold_seconds) {
            let refused = AudienceError::Threshold { found: threshold_seconds, max: THRESHOLD_SECONDS_MAX };
            return Err(refused.into());
        }
        self.finish_removal(account, event).await?;
        let old = self.declared(account, event).await?;
        let keys = EventKeys::of(self.placement(), event);
        let threshold_ms = i64::try_from(threshold_seconds * 1_000).unwrap_or(i64::MAX);
        let mut batch = Batch::new()
            .guard(Guard::Value { key: keys.event(), is: old.record.clone() })
            .guard(Guard::Key { key: keys.gone(), is: Presence::Absent });
        if old.record.is_some() && old.threshold_ms != threshold_ms {
            let viewers = self.scope_keys(&Scope { event: event.clone(), session: None }, Stem::Seed).statistics();
            if self.one(account, Query::HashLen { key: viewers.clone() }).await?.count()? > 0 {
                return Err(AudienceError::HasHeartbeats { event: event.to_string() }.into());
            }
            batch.guards.push(Guard::Key { key: viewers, is: Presence::Absent });
        }
        let is_new = old.record.is_none();
        batch.ops.push(Op::Set { key: keys.event(), value: Atom::from(threshold_ms) });
        self.enlist(account, event, &mut batch).await?;
        Ok((batch, is_new))
    }

    /// The threshold of an event that is there, in seconds.
    pub async fn threshold_seconds(&self, account: Account, event: &AudienceName) -> Result<u64> {
        let known = self.known(account, &Scope { event: event.clone(), session: None }).await?;
        Ok(u64::try_from(known.threshold_ms / 1_000).unwrap_or(0))
    }

    /// Events in order of their names, from after one.
    pub async fn list(&self, account: Account, after: Option<&str>, limit: u32) -> Result<Page> {
        let query = Query::SortedByMember {
            key: keys::index(self.placement()),
            after: after.map(Atom::from),
            limit: u64::from(limit) + 1,
        };
        let members = self.one(account, query).await?.members()?;
        let names: Vec<_> = members.iter().filter_map(|member| Some(member.as_str()?.into_owned())).collect();
        let mut page = paged(names, limit);
        // A name without a record: deleted between the two reads, or its creation was cut off half-way.
        let known =
            |name: &String| AudienceName::parse(name).ok().map(|name| EventKeys::of(self.placement(), &name).event());
        let queries = page.names.iter().filter_map(known).map(|key| Query::Get { key }).collect();
        let replies = self.store.read(account, queries).await?;
        let mut there = replies.into_iter().map(|reply| reply.value().is_ok_and(|value| value.is_some()));
        page.names.retain(|name| AudienceName::parse(name).is_ok() && there.next().unwrap_or(false));
        Ok(page)
    }

    /// Sessions of an event in order of their names, from after one.
    pub async fn sessions(
        &self,
        account: Account,
        event: &AudienceName,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page> {
        self.known(account, &Scope { event: event.clone(), session: None }).await?;
        let mut names: Vec<_> = self.claims(account, event).await?.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.retain(|name| after.is_none_or(|after| name.as_str() > after));
        Ok(paged(names, limit))
    }

    /// Every session of an event.
    pub(super) async fn claims(&self, account: Account, event: &AudienceName) -> Result<Vec<(String, Claim)>> {
        let key = EventKeys::of(self.placement(), event).sessions();
        let fields = self.one(account, Query::HashAll { key: key.clone() }).await?.fields()?;
        let sessions = fields.iter().filter(|(name, _)| *name != Atom::from(LAST_SESSION));
        let claims = sessions.filter_map(|(name, claim)| Some((name.as_str()?.into_owned(), claim)));
        claims.map(|(name, claim)| Ok((name, read_claim(&key, claim)?))).collect()
    }

    /// Every scope of an event that is there: the event, then its sessions.
    pub(super) async fn scopes(&self, account: Account, event: &AudienceName) -> Result<Vec<Known>> {
        let whole = Scope { event: event.clone(), session: None };
        let first = self.known(account, &whole).await?;
        let threshold_ms = first.threshold_ms;
        let mut scopes = vec![first];
        for (session, Claim { number, stem }) in self.claims(account, event).await? {
            let Ok(session) = AudienceName::parse(&session) else { continue };
            let keys = self.scope_keys(&Scope { session: Some(session), ..whole.clone() }, stem);
            scopes.push(Known { keys, number, threshold_ms, is_shared: self.store.is_shared() });
        }
        Ok(scopes)
    }

    /// A scope, if it is there.
    pub(super) async fn known(&self, account: Account, scope: &Scope) -> Result<Known> {
        Ok(self.known_with(account, scope, Vec::new()).await?.0)
    }

    /// A scope, if it is there, and answers to questions about it that do not depend on its stem.
    pub(super) async fn known_with(
        &self,
        account: Account,
        scope: &Scope,
        more: Vec<Query>,
    ) -> Result<(Known, Vec<Reply>)> {
        let keys = EventKeys::of(self.placement(), &scope.event);
        let session = scope.session.as_ref().map_or("", |session| session.as_str());
        let mut queries =
            vec![Query::Get { key: keys.event() }, Query::HashGet { key: keys.sessions(), field: Atom::from(session) }];
        queries.extend(more);
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let record = next(&mut replies)?.value()?;
        let claim = next(&mut replies)?.value()?;
        let record = record.ok_or_else(|| AudienceError::UnknownEvent { event: scope.event.to_string() })?;
        let threshold_ms = read_threshold(&keys.event(), &record)?;
        let claim = match (&scope.session, claim) {
            (None, _) => Claim { number: 0, stem: Stem::Seed },
            (Some(_), Some(claim)) => read_claim(&keys.sessions(), &claim)?,
            (Some(session), None) => {
                let (event, session) = (scope.event.to_string(), session.to_string());
                return Err(AudienceError::UnknownSession { event, session }.into());
            }
        };
        let (keys, is_shared) = (self.scope_keys(scope, claim.stem), self.store.is_shared());
        let known = Known { keys, number: claim.number, threshold_ms, is_shared };
        Ok((known, replies.collect()))
    }

    pub(super) async fn declared(&self, account: Account, event: &AudienceName) -> Result<Declared> {
        let key = EventKeys::of(self.placement(), event).event();
        let record = self.one(account, Query::Get { key: key.clone() }).await?.value()?;
        let threshold_ms = match &record {
            Some(record) => read_threshold(&key, record)?,
            None => i64::try_from(THRESHOLD_SECONDS_DEFAULT * 1_000).unwrap_or(i64::MAX),
        };
        Ok(Declared { threshold_ms, record })
    }

    /// Adds a name to the index: in the same batch, or first. A name without an event is not shown; an event without a name
    /// would be lost.
    pub(super) async fn enlist(&self, account: Account, event: &AudienceName, batch: &mut Batch) -> Result<()> {
        let members = vec![(Atom::from(event.as_str()), 0.0)];
        let op = Op::SortedAdd { key: keys::index(self.placement()), when: AddWhen::IfNew, members };
        match self.placement() {
            Placement::Together => batch.ops.push(op),
            Placement::ByTag => {
                self.store.commit(account, Batch::new().op(op)).await?;
            }
        }
        Ok(())
    }

    pub(super) fn placement(&self) -> Placement {
        self.store.placement()
    }

    pub(super) fn scope_keys(&self, scope: &Scope, stem: Stem) -> ScopeKeys {
        ScopeKeys::of(self.placement(), scope, stem)
    }

    /// The channel that tells of every change of a scope.
    pub fn channel(&self, scope: &Scope) -> Key {
        // It does not depend on the stem.
        self.scope_keys(scope, Stem::Seed).channel()
    }

    /// Some fields of a hash, and where to go on.
    pub(super) async fn page(
        &self,
        account: Account,
        key: Key,
        cursor: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<(Atom, Atom)>, Option<Cursor>)> {
        match self.one(account, Query::HashScan { key, cursor, limit }).await? {
            Reply::FieldPage { fields, next } => Ok((fields, next)),
            other => Err(unexpected("FieldPage", &other)),
        }
    }

    pub(super) async fn one(&self, account: Account, query: Query) -> Result<Reply> {
        next(&mut self.store.read(account, vec![query]).await?.into_iter())
    }
}

/// The next reply. A store that answers too little is a defect of the store.
pub(super) fn next(replies: &mut impl Iterator<Item = Reply>) -> Result<Reply> {
    let missing = tickmark_store::Error::Shape { wanted: "a reply a query", got: "fewer".into() };
    replies.next().ok_or_else(|| missing.into())
}

/// A reply that is no answer to what was asked: a defect of the store.
pub(super) fn unexpected(wanted: &'static str, got: &Reply) -> Error {
    tickmark_store::Error::Shape { wanted, got: format!("{got:?}") }.into()
}

/// `NUMBER`, or `NUMBER#joined`.
pub(super) fn write_claim(claim: Claim) -> Atom {
    match claim.stem {
        Stem::Seed => Atom::from(i64::from(claim.number)),
        Stem::Joined => Atom::from(format!("{}#joined", claim.number)),
    }
}

pub(super) fn read_claim(key: &Key, atom: &Atom) -> Result<Claim> {
    let text = atom.as_str().unwrap_or_default();
    let (number, stem) = match text.strip_suffix("#joined") {
        Some(number) => (number, Stem::Joined),
        None => (&*text, Stem::Seed),
    };
    let number = number.parse().ok().filter(|number| *number > 0);
    let number =
        number.ok_or_else(|| Error::Record { key: key.to_string(), why: format!("{atom} is not a session") })?;
    Ok(Claim { number, stem })
}

fn read_threshold(key: &Key, record: &Atom) -> Result<i64> {
    let threshold = record.as_int().filter(|ms| (1..=i64::MAX / 4).contains(ms));
    threshold.ok_or_else(|| Error::Record { key: key.to_string(), why: format!("{record} is not a threshold") })
}

fn paged(mut names: Vec<String>, limit: u32) -> Page {
    let is_cut = names.len() > limit as usize;
    names.truncate(limit as usize);
    let next = names.last().filter(|_| is_cut).cloned();
    Page { names, next }
}
