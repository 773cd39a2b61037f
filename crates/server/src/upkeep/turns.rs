//! Whose turn it is to write to a key.
//!
//! A write to a key reads its state and puts it into a guard, so that two writers never get in each other's way for long: one of them
//! reads again. Within one server it is cheaper to let the second wait for the first than to let it plan for nothing.
//! Nothing rests on it: writers of other servers take no turns here, and the guards hold for all.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tickmark_engine::calculations::KeyPath;
use tickmark_store::Account;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Queues there are. Keys that share one wait for each other without need, which is harmless.
const QUEUES: usize = 256;

#[derive(Debug)]
pub(crate) struct Turns {
    queues: Vec<Arc<Mutex<()>>>,
    hashes: RandomState,
}

/// Held for as long as the turn lasts.
#[derive(Debug)]
pub(crate) struct Turn {
    _held: Vec<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { queues: (0..QUEUES).map(|_| Arc::default()).collect(), hashes: RandomState::default() }
    }

    /// Waits until all keys are free.
    pub(crate) async fn take(&self, account: Account, paths: impl Iterator<Item = &KeyPath>) -> Turn {
        let mut numbers: Vec<_> = paths.map(|path| self.number(account, path)).collect();
        // Everyone takes them in the same order, so nobody waits in a circle.
        numbers.sort_unstable();
        numbers.dedup();
        let mut held = Vec::with_capacity(numbers.len());
        for number in numbers {
            held.push(Arc::clone(&self.queues[number]).lock_owned().await);
        }
        Turn { _held: held }
    }

    fn number(&self, account: Account, path: &KeyPath) -> usize {
        usize::try_from(self.hashes.hash_one((account, path)) % QUEUES as u64).unwrap_or(0)
    }
}
