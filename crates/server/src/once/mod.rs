//! Writes that happen once, however often they are sent.
//!
//! Every write goes through [`commit()`]. With an `Idempotency-Key`, the answer is recorded in the same batch as the write
//! itself, under a guard that no such record is there yet. So there is no moment in which one exists without the other: a
//! crash leaves both or neither, and of two requests with the same key that race, one writes and the other replays.
//!
//! A request is one batch where the store is in one place. On Redis Cluster a batch lives in one slot, so a record carries the tag of its batch. A request that touches several
//! tags is applied part by part with a record each; sent again after a failure half-way, the parts that have their record
//! are skipped and the rest is done.
//!
//! Refused requests write nothing, so they leave no record and do not use up the key.

mod commit;
mod key;
mod record;

pub use commit::{Answer, Part, Plan, Written, commit};
pub use key::Once;
