//! Writers of an event in one process: they keep out of each other's way, and tell what they wrote to what is in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::times::{Moved, Times};

/// What this process has of an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Keeps writers who would only get into each other's way apart. Nothing rests on it: what must hold is in guards.
    pub(super) lock: Arc<RwLock<()>>,
    /// None until they are asked for, and where others write to the store as well.
    times: Arc<Mutex<Option<Times>>>,
    pub(super) used_ms: Option<i64>,
}

impl Held {
    pub(super) fn times(&self) -> MutexGuard<'_, Option<Times>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody is using it at this moment.
    pub(super) fn is_in_hand(&self) -> bool {
        Arc::strong_count(&self.lock) > 1
    }

    /// To be asked before a write is planned, and told with it when it is done.
    pub(super) fn edition(&self) -> Option<i64> {
        self.times().as_ref().map(Times::edition)
    }

    pub(super) fn follow(&self, edition: Option<i64>, moved: Moved) {
        match &mut *self.times() {
            Some(times) => times.follow(edition, moved),
            // Nobody need be read who was not there before.
            none if moved.is_first => none.insert(Times::new(0)).follow(Some(0), moved),
            _ => {}
        }
    }
}

/// Someone who is writing heartbeats.
#[derive(Debug)]
pub struct Turn {
    held: Held,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    hold: Option<Hold>,
    edition: Option<i64>,
    planned: Option<Moved>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "they are held, not looked at")]
enum Hold {
    Shared(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Turn {
    pub(super) fn new(held: Held) -> Self {
        Self { held, progress: Mutex::default() }
    }

    /// To be called before each attempt. Writers mostly have different viewers, so the first is beside others; who was in
    /// somebody's way then goes alone.
    pub async fn attempt(&self) {
        let lock = Arc::clone(&self.held.lock);
        let is_first = std::mem::take(&mut *self.progress()).hold.is_none();
        let hold = if is_first { Hold::Shared(lock.read_owned().await) } else { Hold::Alone(lock.write_owned().await) };
        *self.progress() = Progress { hold: Some(hold), edition: self.held.edition(), planned: None };
    }

    /// What is about to be committed.
    pub fn planned(&self, moved: Moved) {
        self.progress().planned = Some(moved);
    }

    /// It was.
    pub fn written(&self) {
        let mut progress = self.progress();
        if let Some(moved) = progress.planned.take().filter(|moved| !moved.is_empty()) {
            self.held.follow(progress.edition, moved);
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
