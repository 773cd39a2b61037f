//! Whoever listens: counted while there, and asked now and then whether they may stay.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::access::{Access, Identity};

/// A revoked token hears nothing more after this long.
const BETWEEN_CHECKS: Duration = Duration::from_secs(2);

pub(super) struct Guest {
    identity: Identity,
    access: Arc<Access>,
    checked_at: Instant,
    _place: OwnedSemaphorePermit,
}

impl Guest {
    pub(super) fn new(identity: Identity, access: Arc<Access>, place: OwnedSemaphorePermit) -> Self {
        metrics::gauge!("tickmark_live_connections").increment(1.0);
        Self { identity, access, checked_at: Instant::now(), _place: place }
    }

    /// To be asked before anything is sent.
    pub(super) async fn is_welcome(&mut self) -> bool {
        let now = Instant::now();
        if now < self.checked_at + BETWEEN_CHECKS {
            return true;
        }
        self.checked_at = now;
        self.access.is_still_good(&self.identity).await
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        metrics::gauge!("tickmark_live_connections").decrement(1.0);
    }
}
