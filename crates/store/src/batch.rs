//! What is written: operations on data structures, together or not at all.
//!
//! Operations that merge (add, greatest, union) come before those that replace: they need no guard, survive
//! concurrency, and many of them on one key collapse into one before they reach a store.

use std::fmt;

use crate::{Atom, Kind};

/// The name of one data structure.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Box<[u8]>);

impl Key {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self(name.as_bytes().into())
    }
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        Self(name.into_bytes().into())
    }
}

impl From<&[u8]> for Key {
    fn from(name: &[u8]) -> Self {
        Self(name.into())
    }
}

impl From<Vec<u8>> for Key {
    fn from(name: Vec<u8>) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// What a counter moves by. Integers stay exact for as long as only integers are added; a decimal, or adding to one,
/// makes a decimal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Decimal(f64),
}

/// Which members of a sorted set an addition touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddWhen {
    /// Sets the score, new member or not.
    Always,
    /// Leaves the score of a member that is there.
    IfNew,
    /// Raises scores, never lowers them; adds new members.
    IfGreater,
    /// Lowers scores, never raises them; adds new members.
    IfLess,
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Present,
}

/// One change to one data structure. A collection that becomes empty is gone, as in Redis.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Replies [`crate::Reply::Done`]. Clears the expiry.
    Set { key: Key, value: Atom },
    /// Replies `Done`: increments of many callers may have become one, so there is no value that is *the* result.
    Increment { key: Key, by: Number },
    /// Replies the count of fields that are new.
    HashSet { key: Key, fields: Vec<(Atom, Atom)> },
    /// Replies `Done`, as `Increment` does.
    HashIncrement { key: Key, fields: Vec<(Atom, Number)> },
    /// Replies the count of fields removed.
    HashRemove { key: Key, fields: Vec<Atom> },
    /// Replies the count of members that are new.
    SetAdd { key: Key, members: Vec<Atom> },
    /// Replies the count of members removed.
    SetRemove { key: Key, members: Vec<Atom> },
    /// Replies the count of members that are new.
    SortedAdd { key: Key, when: AddWhen, members: Vec<(Atom, f64)> },
    /// Replies the count of members removed.
    SortedRemove { key: Key, members: Vec<Atom> },
    /// Replies the count of members removed.
    SortedRemoveByScore { key: Key, range: crate::ScoreRange },
    /// Pushes one after the other: several pushed to the front end up reversed. Replies the new length.
    ListPush { key: Key, end: End, values: Vec<Atom> },
    /// Replies the values taken, in the order they were taken.
    ListPop { key: Key, end: End, count: u64 },
    /// Replies 1 if an estimate may have changed, else 0.
    HllAdd { key: Key, members: Vec<Atom> },
    /// Merges a HyperLogLog in Redis's own representation into the key; a fresh key becomes a copy. Replies `Done`.
    HllMerge { key: Key, hll: Box<[u8]> },
    /// Replies 1 if the key is there, else 0. An instant that has passed removes the key.
    ExpireAt { key: Key, at_ms: u64 },
    /// The same, by the store's own clock.
    ExpireIn { key: Key, ms: u64 },
    /// Removes the expiry. Replies 1 if there was one, else 0.
    Persist { key: Key },
    /// Replies 1 if the key was there, else 0.
    Delete { key: Key },
    /// Reaches every subscriber after the batch is durable, not before. Replies `Done`.
    Publish { channel: Key, message: Box<[u8]> },
}

impl Op {
    /// How many elements this operation carries; at least one.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::HashSet { fields, .. } => fields.len(),
            Self::HashIncrement { fields, .. } => fields.len(),
            Self::HashRemove { fields: elements, .. }
            | Self::SetAdd { members: elements, .. }
            | Self::SetRemove { members: elements, .. }
            | Self::SortedRemove { members: elements, .. }
            | Self::ListPush { values: elements, .. }
            | Self::HllAdd { members: elements, .. } => elements.len(),
            Self::SortedAdd { members, .. } => members.len(),
            _ => 1,
        }
        .max(1)
    }

    /// One of the elements that this operation names.
    pub(crate) fn element(&self, index: usize) -> Option<&Atom> {
        match self {
            Self::HashSet { fields, .. } => fields.get(index).map(|(field, _)| field),
            Self::HashIncrement { fields, .. } => fields.get(index).map(|(field, _)| field),
            Self::SortedAdd { members, .. } => members.get(index).map(|(member, _)| member),
            Self::HashRemove { fields: elements, .. }
            | Self::SetAdd { members: elements, .. }
            | Self::SetRemove { members: elements, .. }
            | Self::SortedRemove { members: elements, .. } => elements.get(index),
            _ => None,
        }
    }

    /// The type that the key must have, if it is there; none where any will do.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Set { .. } | Self::Increment { .. } => Some(Kind::String),
            Self::HashSet { .. } | Self::HashIncrement { .. } | Self::HashRemove { .. } => Some(Kind::Hash),
            Self::SetAdd { .. } | Self::SetRemove { .. } => Some(Kind::Set),
            Self::SortedAdd { .. } | Self::SortedRemove { .. } | Self::SortedRemoveByScore { .. } => {
                Some(Kind::SortedSet)
            }
            Self::ListPush { .. } | Self::ListPop { .. } => Some(Kind::List),
            Self::HllAdd { .. } | Self::HllMerge { .. } => Some(Kind::HyperLogLog),
            Self::ExpireAt { .. }
            | Self::ExpireIn { .. }
            | Self::Persist { .. }
            | Self::Delete { .. }
            | Self::Publish { .. } => None,
        }
    }

    /// The key this operation touches; none for a publication.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Set { key, .. }
            | Self::Increment { key, .. }
            | Self::HashSet { key, .. }
            | Self::HashIncrement { key, .. }
            | Self::HashRemove { key, .. }
            | Self::SetAdd { key, .. }
            | Self::SetRemove { key, .. }
            | Self::SortedAdd { key, .. }
            | Self::SortedRemove { key, .. }
            | Self::SortedRemoveByScore { key, .. }
            | Self::ListPush { key, .. }
            | Self::ListPop { key, .. }
            | Self::HllAdd { key, .. }
            | Self::HllMerge { key, .. }
            | Self::ExpireAt { key, .. }
            | Self::ExpireIn { key, .. }
            | Self::Persist { key }
            | Self::Delete { key } => Some(key),
            Self::Publish { .. } => None,
        }
    }
}

/// What must still be so for a batch to be written. A guard on a key of another type is an error, not a failed guard.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    Key {
        key: Key,
        is: Presence,
    },
    Value {
        key: Key,
        is: Option<Atom>,
    },
    Field {
        key: Key,
        field: Atom,
        is: Option<Atom>,
    },
    /// Many fields of one hash, each with what it is: one guard instead of one a field.
    Fields {
        key: Key,
        are: Vec<(Atom, Option<Atom>)>,
    },
    Member {
        key: Key,
        member: Atom,
        is: Presence,
    },
    Score {
        key: Key,
        member: Atom,
        is: Option<f64>,
    },
    /// The first value of a list, `None` where there is no list.
    Front {
        key: Key,
        is: Option<Atom>,
    },
}

impl Guard {
    pub fn key(&self) -> &Key {
        match self {
            Self::Key { key, .. }
            | Self::Value { key, .. }
            | Self::Field { key, .. }
            | Self::Fields { key, .. }
            | Self::Member { key, .. }
            | Self::Score { key, .. }
            | Self::Front { key, .. } => key,
        }
    }
}

/// Operations that are written together, in order, if every guard holds before the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub guards: Vec<Guard>,
    pub ops: Vec<Op>,
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guards.push(guard);
        self
    }

    #[must_use]
    pub fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.ops.is_empty()
    }
}

impl From<Vec<Op>> for Batch {
    fn from(ops: Vec<Op>) -> Self {
        Self { guards: Vec::new(), ops }
    }
}
