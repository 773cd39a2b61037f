//! What an embedded store is told when it is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it. A power cut loses nothing that was acknowledged.
    #[default]
    Always,
    /// When the kernel has it; the disk has it within a second. A killed process loses nothing, a power cut at most
    /// that second.
    Interval,
    /// When the kernel has it; the disk has it when the kernel sees fit.
    Os,
}

/// How long `Durability::Interval` leaves a commit unsynced.
pub(crate) const SYNC_INTERVAL: Duration = Duration::from_secs(1);

pub const MEMORY_BYTES_DEFAULT: usize = 256 * 1_024 * 1_024;
/// Below this the engine would do nothing but load and evict.
pub const MEMORY_BYTES_MIN: usize = 8 * 1_024 * 1_024;

#[derive(Clone, Debug)]
pub struct Options {
    pub durability: Durability,
    /// What objects, caches and write buffers may take together. Raised to [`MEMORY_BYTES_MIN`] where it is less.
    pub memory_bytes: usize,
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self { durability: Durability::default(), memory_bytes: MEMORY_BYTES_DEFAULT, clock: Clock::System }
    }
}

/// What decides whether a key has expired.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Milliseconds since 1970, moved by a test.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    pub(crate) fn now_ms(&self) -> u64 {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            }
            Self::Manual(now_ms) => now_ms.load(Ordering::SeqCst),
        }
    }
}
