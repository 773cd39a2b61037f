//! Counts and uniques over time: one name, several granularities at once.
//!
//! An event falls into one bucket of every granularity its series has. Buckets are kept in groups under the names of
//! the schema this replaces (`NAME:GRANULARITY:GROUP`), so that whatever reads those keys keeps working. Nothing is read
//! in order to count: a request's events are collected in a [`Tally`], rolled up to one increment a bucket, and
//! committed under a guard that the series is still declared as this process remembers it.

mod catalog;
mod cover;
mod declaration;
mod error;
mod granularity;
mod keys;
mod kind;
mod name;
mod points;
mod record;
mod removal;
mod rollup;
mod tally;
mod total;
mod writing;

pub use catalog::{Catalog, DECLARATIONS_MAX, Declared, Listing, Memory, Page};
pub use declaration::{Declaration, GRANULARITIES_MAX, GranularityRequest};
pub use error::SeriesError;
pub use granularity::{DURATION_SECONDS_MAX, GRANULARITY_NAME_BYTES_MAX, Granularity, Span};
pub use kind::{Kind, Layout};
pub use name::SeriesName;
pub use points::{Points, Range, Value};
pub use tally::{Event, MEMBER_BYTES_MAX, Slot, Tallied, Tally, What};
pub use total::UNION_MEMBERS_MAX;
pub use writing::{Part, Writing};
