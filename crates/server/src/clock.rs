//! The only clock on the wall. Everything below the server is handed the time.

use std::time::{SystemTime, UNIX_EPOCH};

use tickmark_engine::Seconds;

pub(crate) fn now() -> Seconds {
    // Before 1970 is a clock that was never set; zero makes expiries err on the side of "not yet".
    Seconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
