//! Who is watching, now and in all, from heartbeats alone.
//!
//! A scope is an event, or a session inside it; a heartbeat that names a session counts in both. In each scope a viewer is
//! a `Viewer`: what a heartbeat adds to the time they were active is worked out from what was known of them, and
//! turned into increments of everything that is counted (`planning.rs`). So nothing is counted when it is asked for:
//!
//! - who is active now, by country and group, is kept as of a moment that the passing of time moves on (`sweep.rs`), which
//!   rests on who was last seen when (`seen.rs`);
//! - the five-minute records are sums of stretches that cover their time, so late heartbeats correct them;
//! - the peak is looked for only where something was added, and only where it could be exceeded (`peak.rs`).
//!
//! What a viewer's heartbeat rests on is their record, which is guarded, so writers of different viewers never meet.

mod error;
mod joins;
mod keys;
mod label;
mod median;
mod name;
mod peak;
mod planning;
mod purge;
mod reading;
mod record;
mod registry;
mod removal;
mod roll;
mod seen;
mod sightings;
mod statistics;
mod sums;
mod sweep;
mod times;
mod turn;
mod viewer;
mod writing;

pub use error::AudienceError;
pub use label::{GROUP_BYTES_MAX, GROUPS_MAX, LOCATION_DEFAULT};
pub use name::{AudienceName, USER_BYTES_MAX};
pub use planning::Planned;
pub use reading::{Seen, Viewing};
pub use record::VIEWING_SESSIONS_MAX;
pub use registry::{Audience, LOCATIONS_MAX, Page, SESSIONS_MAX, THRESHOLD_SECONDS_DEFAULT, THRESHOLD_SECONDS_MAX};
pub use roll::{AHEAD_MS_MAX, HEARTBEATS_MAX, Heartbeat, Roll};
pub use statistics::{RECORD_MS, Statistics};
pub use sweep::Settled;
pub use times::Moved;
pub use turn::Turn;

/// What is counted together: an event, or one of its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    pub event: AudienceName,
    pub session: Option<AudienceName>,
}

/// A viewing session: from the first heartbeat to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start_ms: i64,
    pub end_ms: i64,
}

/// The most viewers active at one instant, and the first such instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    pub viewers: u64,
    /// None before the first viewer.
    pub at_ms: Option<i64>,
}
