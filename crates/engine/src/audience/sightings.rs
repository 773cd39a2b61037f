//! Who was last seen when, where others read and write it too: the seed's sorted set of users by time.

use std::ops::{Bound, Range};

use tickmark_store::{AddWhen, Atom, Cursor, Guard, Key, Op, Order, Query, Reply, ScoreRange};

use super::keys::ScopeKeys;
use super::registry::{Known, unexpected};
use super::writing::whole_ms;
use crate::Result;

/// Someone and when they were last seen.
pub(super) type Sighting = (Atom, i64);

/// The sightings of a scope.
pub(super) struct Sightings {
    key: Key,
}

impl Sightings {
    pub(super) fn of(keys: &ScopeKeys) -> Self {
        Self { key: keys.heartbeat() }
    }

    pub(super) fn count(&self, range: &Range<i64>) -> Query {
        Query::SortedCount { key: self.key.clone(), range: scores(range) }
    }

    /// The earliest of a range.
    pub(super) fn range(&self, range: &Range<i64>, limit: u64) -> Query {
        Query::SortedRange { key: self.key.clone(), range: scores(range), order: Order::Ascending, offset: 0, limit }
    }

    pub(super) fn read(reply: Reply) -> Result<Vec<Sighting>> {
        Ok(reply.scored()?.into_iter().map(|(user, at)| (user, whole_ms(at))).collect())
    }

    pub(super) fn scan(&self, cursor: Option<Cursor>, limit: u32) -> Query {
        Query::SortedScan { key: self.key.clone(), cursor, limit }
    }

    /// Some of the users, and where to go on.
    pub(super) fn read_page(reply: Reply) -> Result<(Vec<Atom>, Option<Cursor>)> {
        match reply {
            Reply::ScoredPage { members, next } => Ok((members.into_iter().map(|(user, _)| user).collect(), next)),
            other => Err(unexpected("ScoredPage", &other)),
        }
    }

    /// That somebody was last seen at that time.
    pub(super) fn guard(&self, (user, at_ms): &Sighting) -> Guard {
        Guard::Score { key: self.key.clone(), member: user.clone(), is: Some(*at_ms as f64) }
    }

    pub(super) fn addition(&self, members: Vec<(Atom, f64)>) -> Op {
        Op::SortedAdd { key: self.key.clone(), when: AddWhen::Always, members }
    }

    pub(super) fn removal(&self, members: Vec<Atom>) -> Op {
        Op::SortedRemove { key: self.key.clone(), members }
    }
}

fn scores(range: &Range<i64>) -> ScoreRange {
    ScoreRange { from: Bound::Included(range.start as f64), to: Bound::Excluded(range.end as f64) }
}

impl Known {
    pub(super) fn sightings(&self) -> Sightings {
        Sightings::of(&self.keys)
    }
}
