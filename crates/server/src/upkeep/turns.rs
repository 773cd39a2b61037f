//! Whose turn it is to write to a key.
//!
//! A write to a key puts the key's state into a guard, so two writers never get in each other's way for long: one of them reads
//! again. Within one server it is cheaper to let the second wait for the first than to let it plan for nothing. What is planned from
//! memory only waits until the write before it is handed to the store; what has to read waits until that is done. Nothing rests
//! on it: writers of other servers take no turns here, and the guards hold for all.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tickmark_engine::calculations::KeyPath;
use tickmark_store::Account;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Queues there are. Keys that share one wait for each other without need, which is harmless.
const QUEUES: usize = 256;

#[derive(Debug)]
pub(crate) struct Turns {
    queues: Vec<Queue>,
    hashes: RandomState,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    /// Held by whoever plans.
    order: Arc<Mutex<()>>,
    /// Shared by those whose writes are under way, had alone by whoever must see them all.
    flight: Arc<RwLock<()>>,
}

/// The right to plan. Held until what was planned is handed to the store.
#[derive(Debug)]
pub(crate) struct Turn {
    queues: Vec<Queue>,
    _order: Vec<OwnedMutexGuard<()>>,
}

/// Held until a write is done.
#[derive(Debug)]
pub(crate) enum Flight {
    Shared { _held: Vec<OwnedRwLockReadGuard<()>> },
    Alone { _held: Vec<OwnedRwLockWriteGuard<()>> },
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            queues: vec![(); QUEUES].into_iter().map(|()| Queue::default()).collect(),
            hashes: RandomState::default(),
        }
    }

    /// Waits until nobody else plans for these keys.
    pub(crate) async fn take(&self, account: Account, paths: impl Iterator<Item = &KeyPath>) -> Turn {
        let mut numbers: Vec<_> = paths.map(|path| self.number(account, path)).collect();
        // Everyone takes them in the same order, so nobody waits in a circle.
        numbers.sort_unstable();
        numbers.dedup();
        let queues: Vec<_> = numbers.into_iter().map(|number| self.queues[number].clone()).collect();
        let mut order = Vec::with_capacity(queues.len());
        for queue in &queues {
            order.push(Arc::clone(&queue.order).lock_owned().await);
        }
        Turn { queues, _order: order }
    }

    fn number(&self, account: Account, path: &KeyPath) -> usize {
        usize::try_from(self.hashes.hash_one((account, path)) % QUEUES as u64).unwrap_or(0)
    }
}

impl Turn {
    /// For what is planned without reading: others may be under way.
    pub(crate) async fn shared(&self) -> Flight {
        let mut held = Vec::with_capacity(self.queues.len());
        for queue in &self.queues {
            held.push(Arc::clone(&queue.flight).read_owned().await);
        }
        Flight::Shared { _held: held }
    }

    /// For what reads first: waits until nobody is under way.
    pub(crate) async fn alone(&self) -> Flight {
        let mut held = Vec::with_capacity(self.queues.len());
        for queue in &self.queues {
            held.push(Arc::clone(&queue.flight).write_owned().await);
        }
        Flight::Alone { _held: held }
    }
}
