//! What a series counts, and in which data structure.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Events, or `n` each.
    Count(Layout),
    /// Distinct members, exactly: a sorted set a group.
    Unique,
    /// Distinct members, within 0.81 % standard error: a HyperLogLog a bucket.
    UniqueApprox,
}

/// How the counts of a series are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One hash a group of buckets.
    Hash,
    /// One key a bucket.
    String,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Count(_) => "count",
            Self::Unique => "unique",
            Self::UniqueApprox => "unique_approx",
        }
    }

    pub fn layout(self) -> Option<Layout> {
        match self {
            Self::Count(layout) => Some(layout),
            Self::Unique | Self::UniqueApprox => None,
        }
    }

    /// Whether its events say who, rather than how many.
    pub fn takes_members(self) -> bool {
        matches!(self, Self::Unique | Self::UniqueApprox)
    }

    /// Whether several buckets share a key.
    pub fn is_grouped(self) -> bool {
        matches!(self, Self::Count(Layout::Hash) | Self::Unique)
    }
}

impl Layout {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::String => "string",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
