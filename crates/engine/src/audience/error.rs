//! What an audience can refuse.

use super::{GROUP_BYTES_MAX, GROUPS_MAX, HEARTBEATS_MAX, LOCATIONS_MAX, SESSIONS_MAX, USER_BYTES_MAX};
use crate::NameError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AudienceError {
    #[error("there is no event {event:?}; heartbeats create one, or `PUT /v1/audience/{{event}}`")]
    UnknownEvent { event: String },
    #[error("the event {event:?} has no session {session:?}; heartbeats that name it create it")]
    UnknownSession { event: String, session: String },
    #[error("{user:?} was never seen there, or so long ago that what was known is purged")]
    UnknownViewer { user: String },
    #[error("the name {name:?} has a `#` in it, which separates the parts of keys; leave it out")]
    Hash { name: String },
    #[error("a user has 1 to {USER_BYTES_MAX} bytes without `#` and control characters, not {user:?}")]
    User { user: String },
    #[error("a heartbeat has at most {GROUPS_MAX} groups, this one has {found}")]
    TooManyGroups { found: usize },
    #[error("a group has 1 to {GROUP_BYTES_MAX} bytes without `#` and control characters, not {group:?}")]
    Group { group: String },
    #[error("a country is two letters, such as HK, not {country:?}")]
    Country { country: String },
    #[error(
        "the heartbeat is {ahead_ms} ms ahead of this server's clock; at most {max_ms} ms are taken as a clock that is off"
    )]
    Future { ahead_ms: i64, max_ms: i64 },
    #[error("a request has at most {HEARTBEATS_MAX} heartbeats; send them in several")]
    TooManyHeartbeats,
    #[error("the event {event:?} would have more than {SESSIONS_MAX} sessions")]
    TooManySessions { event: String },
    #[error("there would be more than {LOCATIONS_MAX} locations; a location is a kind of place, such as web or app")]
    TooManyLocations,
    #[error("the threshold is 1 to {max} seconds, not {found}")]
    Threshold { found: u64, max: u64 },
    #[error(
        "the event {event:?} has heartbeats that were counted with its threshold, so that cannot change; delete the event first, or use another name"
    )]
    HasHeartbeats { event: String },
    #[error("`from` ({from}) is after `to` ({to})")]
    FromAfterTo { from: i64, to: i64 },
    #[error("that is {found} records, more than the {max} allowed; ask for a shorter time")]
    TooManyRecords { found: u64, max: u64 },
    #[error(transparent)]
    Name(#[from] NameError),
}
