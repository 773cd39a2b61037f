//! What a series can refuse.

use crate::NameError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SeriesError {
    #[error("there is no series {series:?}; events create one, or `PUT /v1/series/{{name}}`")]
    Unknown { series: String },
    #[error("the series {series:?} has no granularity {granularity:?}; it has {known}")]
    UnknownGranularity { series: String, granularity: String, known: String },
    #[error("`from` ({from}) is after `to` ({to})")]
    FromAfterTo { from: i64, to: i64 },
    #[error("that is {points} points, more than the {max} allowed; ask for a shorter time or a coarser granularity")]
    TooManyPoints { points: u64, max: u64 },
    #[error("the union has more than {max} members; ask for a shorter time, or keep such a series as unique_approx")]
    TooManyMembers { max: usize },
    #[error("the series {series:?} counts events, so an event of it has no `member`")]
    UnexpectedMember { series: String, event: u64 },
    #[error("the series {series:?} counts distinct members, so each event of it needs a `member` and has no `n`")]
    MissingMember { series: String, event: u64 },
    #[error("a member has 1 to {max} bytes, this one has {len}")]
    MemberLength { len: usize, max: usize },
    #[error("the counts of one bucket of {series:?} add up to more than 64 bits hold")]
    Overflow { series: String },
    #[error("the series {series:?} has data, so {what} cannot change; delete the series first, or use another name")]
    HasData { series: String, what: String },
    #[error("{0}")]
    Declaration(String),
    #[error(transparent)]
    Name(#[from] NameError),
}

impl SeriesError {
    /// The event that is to blame, where one is: as it was numbered when it was tallied.
    pub fn event(&self) -> Option<u64> {
        match self {
            Self::UnexpectedMember { event, .. } | Self::MissingMember { event, .. } => Some(*event),
            _ => None,
        }
    }
}
