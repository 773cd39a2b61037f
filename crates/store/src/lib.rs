//! The waist of Tickmark: every capability speaks this vocabulary, and every engine answers it.
//!
//! A [`Batch`] of [`Op`]s is committed whole or not at all, under [`Guard`]s that make read-then-write safe without
//! locks. [`Query`]s are answered by [`Reply`]s. Both engines give the same answers; the
//! `conformance` suite and a differential test against a real Redis hold them to it.

mod atom;
mod batch;
mod bytes;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
mod error;
pub mod limits;
mod number;
mod query;
pub mod redis;
mod rehearsal;
mod store;

pub use atom::Atom;
pub use batch::{AddWhen, Batch, End, Guard, Key, Number, Op, Presence};
pub use bytes::Bytes;
pub use error::{Error, Kind, Result};
pub use query::{Cursor, Expiry, KeyPage, Order, Query, Reply, ScoreRange};
pub use rehearsal::rehearse;
pub use store::{Account, Event, Placement, SUBSCRIPTION_EVENTS_MAX, Store, Subscription};
