//! Whether a server on loopback is open: as long as there is no token.
//!
//! Asking the store for every request would cost a round trip on Redis, so the answer is kept for a second. A token made
//! through this server closes the door at once; one made by another process on the same store, within that second.

use std::sync::Mutex;
use std::time::Duration;

use tickmark_engine::accounts::Registry;
use tokio::time::Instant;

use crate::problem::Result;

const KEPT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct OpenDoor {
    registry: Registry,
    /// When the store was last asked, if it then said "no tokens".
    open_since: Mutex<Option<Instant>>,
}

impl OpenDoor {
    pub(super) fn new(registry: Registry) -> Self {
        Self { registry, open_since: Mutex::new(None) }
    }

    pub(super) async fn is_open(&self) -> Result<bool> {
        let now = Instant::now();
        if self.kept().is_some_and(|since| now < since + KEPT) {
            return Ok(true);
        }
        let open = self.registry.is_empty().await?;
        *self.lock() = open.then_some(now);
        Ok(open)
    }

    pub(super) fn close(&self) {
        *self.lock() = None;
    }

    fn kept(&self) -> Option<Instant> {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.open_since.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
