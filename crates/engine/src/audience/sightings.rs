//! Who was last seen when, in the order of time.
//!
//! Where others read the same keys it is the seed's sorted set of users by time. Where nobody can, each member begins with the
//! time: members are then in the order of their scores, and the embedded store keeps such a set once instead of
//! once by name and once by score. When somebody was last seen is known from their record, so nobody is looked for by name.

use tickmark_store::{AddWhen, Atom, Bytes, Cursor, Guard, Key, Op, Order, Query, Reply, ScoreRange};

use super::keys::ScopeKeys;
use super::registry::{Known, unexpected};
use super::writing::whole_ms;
use crate::Result;

/// Bytes of a time in a member, most significant first, so that they sort as times do. They reach a million years from 1970
/// either way.
const TIME_BYTES: usize = 7;
const TIME_OFFSET: i64 = 1 << (8 * TIME_BYTES - 1);

/// Someone and when they were last seen.
pub(super) type Sighting = (Atom, i64);

/// The sightings of a scope.
pub(super) struct Sightings {
    key: Key,
    spelling: Spelling,
}

/// How members are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    User,
    TimeAndUser,
}

/// Who is seen at another time than before.
#[derive(Debug, Default)]
pub(super) struct Moved {
    from: Vec<Sighting>,
    to: Vec<Sighting>,
}

impl Moved {
    pub(super) fn add(&mut self, user: &Atom, from_ms: Option<i64>, to_ms: i64) {
        self.from.extend(from_ms.map(|from_ms| (user.clone(), from_ms)));
        self.to.push((user.clone(), to_ms));
    }
}

impl Sightings {
    pub(super) fn of(keys: &ScopeKeys, is_shared: bool) -> Self {
        if is_shared {
            Self { key: keys.heartbeat(), spelling: Spelling::User }
        } else {
            Self { key: keys.seen(), spelling: Spelling::TimeAndUser }
        }
    }

    pub(super) fn count(&self, range: ScoreRange) -> Query {
        Query::SortedCount { key: self.key.clone(), range }
    }

    /// The earliest of a range.
    pub(super) fn range(&self, range: ScoreRange, limit: u64) -> Query {
        Query::SortedRange { key: self.key.clone(), range, order: Order::Ascending, offset: 0, limit }
    }

    pub(super) fn read(&self, reply: Reply) -> Result<Vec<Sighting>> {
        Ok(reply.scored()?.into_iter().map(|(member, at)| (self.user(member), whole_ms(at))).collect())
    }

    pub(super) fn scan(&self, cursor: Option<Cursor>, limit: u32) -> Query {
        Query::SortedScan { key: self.key.clone(), cursor, limit }
    }

    /// Some of the users, and where to go on.
    pub(super) fn read_page(&self, reply: Reply) -> Result<(Vec<Atom>, Option<Cursor>)> {
        match reply {
            Reply::ScoredPage { members, next } => {
                Ok((members.into_iter().map(|(member, _)| self.user(member)).collect(), next))
            }
            other => Err(unexpected("ScoredPage", &other)),
        }
    }

    /// That somebody was last seen at that time.
    pub(super) fn guard(&self, (user, at_ms): &Sighting) -> Guard {
        Guard::Score { key: self.key.clone(), member: self.member(user, *at_ms), is: Some(*at_ms as f64) }
    }

    pub(super) fn removal(&self, gone: &[Sighting]) -> Op {
        let members = gone.iter().map(|(user, at_ms)| self.member(user, *at_ms)).collect();
        Op::SortedRemove { key: self.key.clone(), members }
    }

    pub(super) fn ops(&self, mut moved: Moved, ops: &mut Vec<Op>) {
        if moved.to.is_empty() {
            return;
        }
        if self.spelling == Spelling::TimeAndUser {
            // As they stand in the set, so that each is found beside the last.
            moved.from.sort_by_key(|(_, at_ms)| *at_ms);
            moved.to.sort_by_key(|(_, at_ms)| *at_ms);
            if !moved.from.is_empty() {
                ops.push(self.removal(&moved.from));
            }
        }
        let members = moved.to.into_iter().map(|(user, at_ms)| (self.member(&user, at_ms), at_ms as f64)).collect();
        ops.push(Op::SortedAdd { key: self.key.clone(), when: AddWhen::Always, members });
    }

    fn member(&self, user: &Atom, at_ms: i64) -> Atom {
        if self.spelling == Spelling::User {
            return user.clone();
        }
        let time = at_ms.saturating_add(TIME_OFFSET).to_be_bytes();
        // Never the spelling of a number: a time does not begin with a digit.
        Atom::Bytes(Bytes::joined(&time[size_of::<i64>() - TIME_BYTES..], &user.as_bytes()))
    }

    fn user(&self, member: Atom) -> Atom {
        match self.spelling {
            Spelling::User => member,
            Spelling::TimeAndUser => Atom::from_bytes(member.as_bytes().get(TIME_BYTES..).unwrap_or_default()),
        }
    }
}

impl Known {
    pub(super) fn sightings(&self) -> Sightings {
        Sightings::of(&self.keys, self.is_shared)
    }
}

#[cfg(test)]
mod tests {
    use tickmark_store::Placement;

    use super::super::keys::Stem;
    use super::super::{AudienceName, Scope};
    use super::*;

    #[test]
    fn members_sort_as_their_times() {
        let scope = Scope { event: AudienceName::parse("expo").unwrap(), session: None };
        let sightings = Sightings::of(&ScopeKeys::of(Placement::Together, &scope, Stem::Seed), false);
        let times = [-1_700_000_000_000, -1, 0, 1, 15, 16, 1_700_000_000_000, 253_402_300_799_999];
        let members = times.map(|at_ms| sightings.member(&Atom::from("7"), at_ms));
        assert!(members.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()), "{members:?}");
        assert_eq!(members[3], Atom::from_bytes(b"\x80\0\0\0\0\0\x017"));
        assert!(members.into_iter().all(|member| sightings.user(member) == Atom::from(7)));
    }
}
