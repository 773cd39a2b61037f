//! Removing what has expired. Reads never see it; this frees its space, at a bounded rate.

use std::ops::Bound;
use std::sync::RwLock;
use std::time::{Duration, Instant};

use super::checkpoint::{hint_key, hinted_key};
use super::committer::apply_ops;
use super::keys::{account_of, name_of};
use super::records::{Records, Slice, Space};
use super::state::State;
use crate::{Account, Op, Order, Result};

const SWEEP_INTERVAL: Duration = Duration::from_millis(100);
/// Hints followed in one sweep.
const SWEEP_HINTS_MAX: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Sweeper {
    last: Instant,
    /// The last hint followed. Those before it wait to be removed by a checkpoint.
    after: Option<Slice>,
    used_hints: Vec<Slice>,
}

impl Sweeper {
    pub(crate) fn new() -> Self {
        Self { last: Instant::now(), after: None, used_hints: Vec::new() }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.last.elapsed() >= SWEEP_INTERVAL
    }

    /// Removes keys that expired, and answers what to log of it.
    pub(crate) fn sweep(
        &mut self,
        state: &RwLock<State>,
        records: &Records,
        now_ms: u64,
    ) -> Result<Vec<(Account, Vec<Op>)>> {
        self.last = Instant::now();
        let end = hint_key(now_ms.saturating_add(1), &[]);
        let from = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let hints = records.range(Space::Hints, (from, Bound::Excluded(&end)), Order::Ascending);
        let hints: Vec<Slice> = hints.take(SWEEP_HINTS_MAX).map(|hint| Ok(hint?.0)).collect::<Result<_>>()?;
        if hints.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(mut state) = state.write() else { return Ok(Vec::new()) };
        let mut expired: Vec<(Account, Vec<Op>)> = Vec::new();
        for hint in hints {
            let key = hinted_key(&hint);
            let slot = state.load(key, records)?;
            match slot.entry_mut() {
                None => {}
                Some(entry) if entry.is_live(now_ms) => {
                    // Its expiry was put off; the next checkpoint hints at the new time.
                    entry.hinted_at_ms = None;
                    state.changed(key);
                }
                Some(_) => {
                    let account = account_of(key);
                    let ops = vec![Op::Delete { key: name_of(key) }];
                    // At time zero nothing has expired yet, so there is something to delete.
                    let (_, applied) = apply_ops(&mut state, records, account, 0, &ops)?;
                    applied.keep(&mut state);
                    match expired.last_mut() {
                        Some((last, same)) if *last == account => same.extend(ops),
                        _ => expired.push((account, ops)),
                    }
                }
            }
            self.used_hints.push(hint.clone());
            self.after = Some(hint);
        }
        metrics::counter!("tickmark_store_expired_keys_total")
            .increment(expired.iter().map(|(_, ops)| ops.len() as u64).sum());
        Ok(expired)
    }

    pub(crate) fn take_used_hints(&mut self) -> Vec<Slice> {
        std::mem::take(&mut self.used_hints)
    }

    /// After a checkpoint the used hints are gone, and new ones may lie before those followed last.
    pub(crate) fn start_over(&mut self) {
        self.after = None;
    }
}
