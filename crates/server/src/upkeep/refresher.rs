//! Brings the hashes of results up to date, soon after values were kept.
//!
//! Changes to a key that come while it waits become one, so a burst costs a few refreshes however many values it has. What is
//! forgotten here (the list is bounded, and a server may crash) is still marked in the store, and found there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tickmark_engine::calculations::{Change, KeyPath, Refreshed};
use tickmark_store::Account;
use tokio::time::{Instant, sleep, sleep_until};

use super::Upkeep;
use crate::clock;

/// From a change to the refresh that shows it, at the least: what comes meanwhile is part of it.
const BETWEEN_REFRESHES: Duration = Duration::from_millis(500);
/// Between looks at what other servers, or this one before a crash, left to do.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// What is marked for longer than this is not being seen to by whoever marked it.
const LEFT_MS: u64 = 3_000;
/// Left keys taken up at a look.
const LEFT_MAX: u64 = 10_000;
/// Keys waiting, of all accounts. What does not fit is found in the store.
const WAITING_MAX: usize = 200_000;
/// Keys refreshed at once: so many commits share a sync.
const AT_ONCE: usize = 64;

type Waiting = HashMap<(Account, Arc<KeyPath>), Option<Change>>;

#[derive(Debug, Default)]
pub(super) struct Refresher {
    waiting: Mutex<Waiting>,
}

impl Refresher {
    pub(super) fn note(&self, account: Account, changes: Vec<Change>) {
        let mut waiting = self.lock();
        for change in changes {
            let is_full = waiting.len() >= WAITING_MAX;
            match waiting.entry((account, Arc::clone(&change.path))) {
                Entry::Occupied(mut known) => {
                    if let Some(known) = known.get_mut() {
                        known.merge(change);
                    }
                }
                Entry::Vacant(_) if is_full => {}
                Entry::Vacant(new) => {
                    new.insert(Some(change));
                }
            }
        }
    }

    pub(super) async fn run(&self, upkeep: &Upkeep) {
        let mut next_look = Instant::now();
        loop {
            let next = Instant::now() + BETWEEN_REFRESHES;
            if Instant::now() >= next_look {
                self.look(upkeep).await;
                next_look = Instant::now() + BETWEEN_LOOKS;
            }
            let waiting = std::mem::take(&mut *self.lock());
            stream::iter(waiting)
                .for_each_concurrent(AT_ONCE, |((account, path), change)| self.refresh(upkeep, account, path, change))
                .await;
            sleep_until(next).await;
        }
    }

    /// Finds what is marked and not seen to.
    async fn look(&self, upkeep: &Upkeep) {
        for account in upkeep.known_accounts().await {
            let before = clock::now_ms().saturating_sub(LEFT_MS);
            let Ok(left) = upkeep.calculations.left_pending(account, before, LEFT_MAX).await else { continue };
            let mut waiting = self.lock();
            for path in left.into_iter().take(WAITING_MAX.saturating_sub(waiting.len())) {
                waiting.entry((account, Arc::new(path))).or_insert(None);
            }
        }
    }

    async fn refresh(&self, upkeep: &Upkeep, account: Account, path: Arc<KeyPath>, change: Option<Change>) {
        let refreshed = upkeep.calculations.refresh(account, &path, change.as_ref(), clock::now_ms()).await;
        let seen_to = match refreshed {
            Ok(Refreshed::Done { recomputed, unmarking }) => {
                count(recomputed);
                // Where it changed again meanwhile, it is still to be refreshed, and the mark may stay.
                let is_waiting = self.lock().contains_key(&(account, Arc::clone(&path)));
                if is_waiting { Ok(()) } else { upkeep.calculations.unmark_done(account, &path, unmarking).await }
            }
            Ok(Refreshed::Behind { recomputed }) => {
                count(recomputed);
                upkeep.ring();
                // Whoever was faster has said what they changed; without that everything is written.
                self.lock().entry((account, Arc::clone(&path))).or_insert(None);
                Ok(())
            }
            Ok(Refreshed::Gone) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = seen_to {
            tracing::warn!(%error, "results of a key are not up to date; trying again");
            self.lock().entry((account, path)).or_insert(None);
            sleep(BETWEEN_REFRESHES).await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(recomputed: u64) {
    metrics::counter!("tickmark_calculation_refreshes_total").increment(1);
    metrics::counter!("tickmark_calculation_results_total").increment(recomputed);
}
