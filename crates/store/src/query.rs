//! What is asked, and what is answered.

use std::ops::Bound;

use crate::{Atom, Error, Key, Kind, Result};

/// A range of scores, each end included, excluded or open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRange {
    pub from: Bound<f64>,
    pub to: Bound<f64>,
}

impl ScoreRange {
    pub const ALL: Self = Self { from: Bound::Unbounded, to: Bound::Unbounded };

    pub fn inclusive(from: f64, to: f64) -> Self {
        Self { from: Bound::Included(from), to: Bound::Included(to) }
    }

    pub fn contains(&self, score: f64) -> bool {
        let after = match self.from {
            Bound::Included(from) => score >= from,
            Bound::Excluded(from) => score > from,
            Bound::Unbounded => true,
        };
        let before = match self.to {
            Bound::Included(to) => score <= to,
            Bound::Excluded(to) => score < to,
            Bound::Unbounded => true,
        };
        after && before
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

/// Where a scan goes on. Made by the store that answered, of use to no other; opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) Box<[u8]>);

impl Cursor {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A cursor that came back from a client. Nonsense in it is an error of the scan, never a wrong page.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

/// One question about one data structure. A key that is not there answers as an empty structure.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Replies [`Reply::Kind`].
    Kind { key: Key },
    /// Replies [`Reply::Expiry`].
    Expiry { key: Key },
    /// Replies `Value`.
    Get { key: Key },
    /// Replies `Value`.
    HashGet { key: Key, field: Atom },
    /// Replies `Values`, in the order asked.
    HashGetMany { key: Key, fields: Vec<Atom> },
    /// Replies `Fields`, in no order. For hashes known to be small; else [`Query::HashScan`].
    HashAll { key: Key },
    /// Replies `Count`.
    HashLen { key: Key },
    /// Replies `FieldPage`.
    HashScan { key: Key, cursor: Option<Cursor>, limit: u32 },
    /// Replies `Count`, 0 or 1.
    SetContains { key: Key, member: Atom },
    /// Replies `Count`.
    SetLen { key: Key },
    /// Replies `Members`, in no order. For sets known to be small; else [`Query::SetScan`].
    SetAll { key: Key },
    /// Replies `MemberPage`.
    SetScan { key: Key, cursor: Option<Cursor>, limit: u32 },
    /// Replies `Scores`, in the order asked.
    SortedScores { key: Key, members: Vec<Atom> },
    /// Replies `Count`.
    SortedLen { key: Key },
    /// Replies `Count`, at a cost that does not grow with the members counted.
    SortedCount { key: Key, range: ScoreRange },
    /// Replies `Scored`, by score and then by bytes of the member.
    SortedRange { key: Key, range: ScoreRange, order: Order, offset: u64, limit: u64 },
    /// Replies `Members` in order of their bytes, after the one given. Only for sets whose scores are all equal.
    SortedByMember { key: Key, after: Option<Atom>, limit: u64 },
    /// Replies `ScoredPage`.
    SortedScan { key: Key, cursor: Option<Cursor>, limit: u32 },
    /// Replies `Count`.
    ListLen { key: Key },
    /// Replies `Members`: from position `start`, at most `limit`.
    ListRange { key: Key, start: u64, limit: u64 },
    /// Replies `Count`: the estimate for the union of the keys, Redis's to the digit.
    HllCount { keys: Vec<Key> },
    /// Replies `Value`: the HyperLogLog in Redis's own representation, dense.
    HllDump { key: Key },
}

impl Query {
    /// The keys this asks about.
    pub fn keys(&self) -> &[Key] {
        match self {
            Self::Kind { key }
            | Self::Expiry { key }
            | Self::Get { key }
            | Self::HashGet { key, .. }
            | Self::HashGetMany { key, .. }
            | Self::HashAll { key }
            | Self::HashLen { key }
            | Self::HashScan { key, .. }
            | Self::SetContains { key, .. }
            | Self::SetLen { key }
            | Self::SetAll { key }
            | Self::SetScan { key, .. }
            | Self::SortedScores { key, .. }
            | Self::SortedLen { key }
            | Self::SortedCount { key, .. }
            | Self::SortedRange { key, .. }
            | Self::SortedByMember { key, .. }
            | Self::SortedScan { key, .. }
            | Self::ListLen { key }
            | Self::ListRange { key, .. }
            | Self::HllDump { key } => std::slice::from_ref(key),
            Self::HllCount { keys } => keys,
        }
    }

    /// The key this asks about; the first, where there are several.
    pub fn key(&self) -> Option<&Key> {
        self.keys().first()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// There is no such key.
    NoKey,
    Never,
    AtMs(u64),
}

/// An answer to a [`Query`], or to an operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
    Count(u64),
    Kind(Option<Kind>),
    Expiry(Expiry),
    Value(Option<Atom>),
    Values(Vec<Option<Atom>>),
    Fields(Vec<(Atom, Atom)>),
    Members(Vec<Atom>),
    Scores(Vec<Option<f64>>),
    Scored(Vec<(Atom, f64)>),
    /// A page may be shorter than asked, even empty; only a missing cursor ends the scan. What was there throughout
    /// the scan is seen at least once.
    FieldPage {
        fields: Vec<(Atom, Atom)>,
        next: Option<Cursor>,
    },
    MemberPage {
        members: Vec<Atom>,
        next: Option<Cursor>,
    },
    ScoredPage {
        members: Vec<(Atom, f64)>,
        next: Option<Cursor>,
    },
}

/// A page of a scan over the keys of an account, under the same promise as the pages of collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPage {
    pub keys: Vec<Key>,
    pub next: Option<Cursor>,
}

/// The shape a caller knows its query to have. Another shape is a bug of an engine, reported as such rather than by a
/// panic in a server.
macro_rules! shape {
    ($name:ident, $variant:ident, $type:ty) => {
        pub fn $name(self) -> Result<$type> {
            match self {
                Self::$variant(inner) => Ok(inner),
                other => Err(Error::Shape { wanted: stringify!($variant), got: format!("{other:?}") }),
            }
        }
    };
}

impl Reply {
    shape!(count, Count, u64);
    shape!(kind, Kind, Option<Kind>);
    shape!(expiry, Expiry, Expiry);
    shape!(value, Value, Option<Atom>);
    shape!(values, Values, Vec<Option<Atom>>);
    shape!(fields, Fields, Vec<(Atom, Atom)>);
    shape!(members, Members, Vec<Atom>);
    shape!(scores, Scores, Vec<Option<f64>>);
    shape!(scored, Scored, Vec<(Atom, f64)>);
}
