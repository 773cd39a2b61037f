//! The only clock on the wall. Everything below the server is handed the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tickmark_engine::Seconds;

pub(crate) fn now() -> Seconds {
    Seconds(since_1970().as_secs())
}

/// In milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn now_micros() -> i64 {
    i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX)
}

fn since_1970() -> Duration {
    // Before 1970 is a clock that was never set; zero makes expiries err on the side of "not yet".
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
