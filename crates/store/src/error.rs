//! Everything that can go wrong at the waist.

use std::fmt;
use std::path::PathBuf;

use crate::{Atom, Key};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The type of the data structure behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    String,
    Hash,
    Set,
    SortedSet,
    List,
    HyperLogLog,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "sorted set",
            Self::List => "list",
            Self::HyperLogLog => "HyperLogLog",
        })
    }
}

/// Only [`Error::FateUnknown`] leaves open whether a batch was written; after every other error of a commit, nothing
/// of it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a key is empty")]
    EmptyKey,
    #[error("the {what} {start:?}… has {len} bytes, more than the {max} allowed")]
    TooLong { what: &'static str, start: String, len: usize, max: usize },
    #[error("{what}: {len}, more than the {max} allowed")]
    TooMany { what: &'static str, len: usize, max: usize },
    #[error("key {key}, member {member}: a score must be a number, not NaN")]
    ScoreNotANumber { key: Key, member: Atom },
    #[error("key {key}: an increment must be a finite number, not {by}")]
    NotFinite { key: Key, by: f64 },
    #[error("key {key} is a {found}, but the operation is on a {wanted}")]
    WrongType { key: Key, wanted: Kind, found: Kind },
    #[error("key {key} is a Redis {found}, a type that is not used here")]
    ForeignType { key: Key, found: String },
    #[error("key {key}{}: holds {value:?}, which is not a number to add to", InField(.field))]
    NotANumber { key: Key, field: Option<Atom>, value: String },
    #[error("key {key}{}: adding {by} to {value} overflows", InField(.field))]
    Overflow { key: Key, field: Option<Atom>, value: String, by: String },
    #[error("key {key}: not a HyperLogLog in Redis's representation: {why}")]
    BadHll { key: Key, why: String },
    #[error("the cursor is not one this store made for this scan")]
    BadCursor,
    #[error("guard {index} of the batch no longer holds")]
    GuardFailed { index: usize },
    #[error("keys {first} and {second} are in one batch but not in one slot of the Cluster; give them one {{tag}}")]
    CrossSlot { first: Key, second: Key },
    #[error(
        "account {account} does not exist on this Redis, which has {databases} databases; raise `databases` in its configuration"
    )]
    NoSuchAccount { account: u32, databases: u32 },

    #[error("the store does not answer: {0}")]
    Unavailable(String),
    #[error("the connection was lost while writing, so the write may or may not have happened: {0}")]
    FateUnknown(String),
    #[error("writes are refused since one failed ({0}); free what it lacked, then restart")]
    Poisoned(String),
    #[error("the store is closed")]
    Closed,
    #[error("{path} is in use by another process; stop it, or give this one another directory", path = .0.display())]
    Locked(PathBuf),
    #[error("{path} has format version {found}, but this program reads version {wanted}", path = .path.display())]
    Format { path: PathBuf, found: u32, wanted: u32 },
    #[error("the store's files are damaged: {0}")]
    Corrupt(String),
    #[error("{doing}: {source}")]
    Io { doing: String, source: std::io::Error },
    #[error("the store URL {url:?} is not usable: {why}")]
    BadUrl { url: String, why: String },
    #[error("a defect in the store: a reply should be {wanted} but is {got}")]
    Shape { wanted: &'static str, got: String },
}

struct InField<'a>(&'a Option<Atom>);

impl fmt::Display for InField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(field) => write!(f, ", field {field}"),
            None => Ok(()),
        }
    }
}
