//! Answers queries and guards from the state. Changes nothing.

use tickmark_stats::hll::Hll;

use super::collection::{Collection, List};
use super::cursor::Scan;
use super::entry::{Entry, Object};
use super::keys::full_key;
use super::records::Records;
use super::state::State;
use super::transaction::wrong_type;
use crate::{Account, Atom, Expiry, Guard, Key, Kind, Presence, Query, Reply, Result};

/// The state at one moment, as one account sees it. Every key asked for must be in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) state: &'a State,
    pub(crate) records: &'a Records,
    pub(crate) account: Account,
    pub(crate) now_ms: u64,
}

/// The object of one type behind a key, or `None`; another type is an error.
macro_rules! typed {
    ($name:ident, $variant:ident, $kind:expr, $type:ty) => {
        fn $name(&self, key: &Key) -> Result<Option<&'a $type>> {
            match self.entry(key).map(|entry| &entry.object) {
                None => Ok(None),
                Some(Object::$variant(object)) => Ok(Some(object)),
                Some(other) => Err(wrong_type(key, $kind, other)),
            }
        }
    };
}

impl<'a> View<'a> {
    typed!(string, String, Kind::String, Atom);
    typed!(hash, Hash, Kind::Hash, Collection<Atom>);
    typed!(set, Set, Kind::Set, Collection<()>);
    typed!(sorted, Sorted, Kind::SortedSet, Collection<f64>);
    typed!(list, List, Kind::List, List);
    typed!(hll, Hll, Kind::HyperLogLog, Hll);

    fn entry(&self, key: &Key) -> Option<&'a Entry> {
        self.state.resident(&full_key(self.account, key.as_bytes()))?.live(self.now_ms)
    }

    pub(crate) fn answer(&self, query: &Query) -> Result<Reply> {
        let records = self.records;
        Ok(match query {
            Query::Kind { key } => Reply::Kind(self.entry(key).map(|entry| entry.object.kind())),
            Query::Expiry { key } => Reply::Expiry(match self.entry(key) {
                None => Expiry::NoKey,
                Some(entry) => entry.expires_at_ms.map_or(Expiry::Never, Expiry::AtMs),
            }),
            Query::Get { key } => Reply::Value(self.string(key)?.cloned()),
            Query::HashGet { key, field } => Reply::Value(self.field(key, field)?),
            Query::HashGetMany { key, fields } => {
                let values = self.hash(key)?.map(|hash| hash.get_many(fields, records)).transpose()?;
                Reply::Values(values.unwrap_or_else(|| vec![None; fields.len()]))
            }
            Query::HashAll { key } => Reply::Fields(all(self.hash(key)?, records)?),
            Query::HashLen { key } => Reply::Count(self.hash(key)?.map_or(0, Collection::len)),
            Query::HashScan { key, cursor, limit } => {
                cursor.as_ref().map(|cursor| Scan::Fields.last_seen(cursor)).transpose()?;
                let hash = self.hash(key)?.map(|hash| hash.page(Scan::Fields, cursor.as_ref(), *limit, records));
                let (fields, next) = hash.transpose()?.unwrap_or_default();
                Reply::FieldPage { fields, next }
            }
            Query::SetContains { key, member } => {
                let found = self.set(key)?.map(|set| set.get(member, records)).transpose()?.flatten();
                Reply::Count(u64::from(found.is_some()))
            }
            Query::SetLen { key } => Reply::Count(self.set(key)?.map_or(0, Collection::len)),
            Query::SetAll { key } => Reply::Members(members(all(self.set(key)?, records)?)),
            Query::SetScan { key, cursor, limit } => {
                cursor.as_ref().map(|cursor| Scan::Members.last_seen(cursor)).transpose()?;
                let set = self.set(key)?.map(|set| set.page(Scan::Members, cursor.as_ref(), *limit, records));
                let (page, next) = set.transpose()?.unwrap_or_default();
                Reply::MemberPage { members: members(page), next }
            }
            Query::SortedScores { key, members } => {
                let scores = self.sorted(key)?.map(|sorted| sorted.get_many(members, records)).transpose()?;
                Reply::Scores(scores.unwrap_or_else(|| vec![None; members.len()]))
            }
            Query::SortedLen { key } => Reply::Count(self.sorted(key)?.map_or(0, Collection::len)),
            Query::SortedCount { key, range } => {
                let count = self.sorted(key)?.map(|sorted| sorted.count_within(range, records));
                Reply::Count(count.transpose()?.unwrap_or_default())
            }
            Query::SortedRange { key, range, order, offset, limit } => {
                let found = self.sorted(key)?.map(|sorted| sorted.range(range, *order, *offset, *limit, records));
                Reply::Scored(found.transpose()?.unwrap_or_default())
            }
            Query::SortedByMember { key, after, limit } => {
                let found = self.sorted(key)?.map(|sorted| sorted.by_member(after.as_ref(), *limit, records));
                Reply::Members(found.transpose()?.unwrap_or_default())
            }
            Query::SortedScan { key, cursor, limit } => {
                cursor.as_ref().map(|cursor| Scan::Scored.last_seen(cursor)).transpose()?;
                let sorted =
                    self.sorted(key)?.map(|sorted| sorted.page(Scan::Scored, cursor.as_ref(), *limit, records));
                let (members, next) = sorted.transpose()?.unwrap_or_default();
                Reply::ScoredPage { members, next }
            }
            Query::ListLen { key } => Reply::Count(self.list(key)?.map_or(0, List::len)),
            Query::ListRange { key, start, limit } => {
                let found = self.list(key)?.map(|list| list.range(*start, *limit, records));
                Reply::Members(found.transpose()?.unwrap_or_default())
            }
            Query::HllCount { keys } => Reply::Count(self.hll_count(keys)?),
            Query::HllDump { key } => Reply::Value(self.hll(key)?.map(|hll| Atom::Bytes(hll.to_redis_dense().into()))),
        })
    }

    /// Whether what a guard says is so.
    pub(crate) fn holds(&self, guard: &Guard) -> Result<bool> {
        Ok(match guard {
            Guard::Key { key, is } => presence(self.entry(key).is_some()) == *is,
            Guard::Value { key, is } => self.string(key)? == is.as_ref(),
            Guard::Field { key, field, is } => self.field(key, field)? == *is,
            Guard::Fields { key, are } => match self.hash(key)? {
                Some(hash) => hash.all_are(are, self.records)?,
                None => are.iter().all(|(_, is)| is.is_none()),
            },
            Guard::Member { key, member, is } => {
                let found = self.set(key)?.map(|set| set.get(member, self.records)).transpose()?.flatten();
                presence(found.is_some()) == *is
            }
            Guard::Score { key, member, is } => {
                self.sorted(key)?.map(|sorted| sorted.get(member, self.records)).transpose()?.flatten() == *is
            }
            Guard::Front { key, is } => {
                let front = self.list(key)?.map(|list| list.range(0, 1, self.records)).transpose()?;
                front.as_ref().and_then(|front| front.first()) == is.as_ref()
            }
        })
    }

    fn field(&self, key: &Key, field: &Atom) -> Result<Option<Atom>> {
        self.hash(key)?.map_or(Ok(None), |hash| hash.get(field, self.records))
    }

    fn hll_count(&self, keys: &[Key]) -> Result<u64> {
        if let [key] = keys {
            return Ok(self.hll(key)?.map_or(0, Hll::count));
        }
        let mut union = Hll::default();
        for key in keys {
            if let Some(hll) = self.hll(key)? {
                union.merge(hll);
            }
        }
        Ok(union.count())
    }
}

fn all<V: super::collection::Payload>(collection: Option<&Collection<V>>, records: &Records) -> Result<Vec<(Atom, V)>> {
    collection.map_or(Ok(Vec::new()), |collection| collection.all(records))
}

fn members(elements: Vec<(Atom, ())>) -> Vec<Atom> {
    elements.into_iter().map(|(member, ())| member).collect()
}

fn presence(there: bool) -> Presence {
    if there { Presence::Present } else { Presence::Absent }
}
