//! What this process remembers of keys, so that values which continue a key cost no read.
//!
//! Memory is of what was *planned*: the next values are planned while the last are still on their way to the disk. It is never
//! trusted: the remembered record is in the guard of what is written. Where another server, a declaration or a failure came between,
//! nothing is written, and the keys are read.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tickmark_stats::{Interval, Timestamp};
use tickmark_store::{Account, Atom};

use super::KeyPath;
use super::state::State;
use super::total::Total;
use super::values::Values;

/// Keys remembered, of all accounts together. When there are more, all are forgotten and read again as needed.
pub const REMEMBERED_MAX: usize = 200_000;

#[derive(Debug, Default)]
pub(super) struct Memory {
    keys: Mutex<HashMap<(Account, Arc<KeyPath>), Remembered, RandomState>>,
}

/// A key that is complete, and ends with its newest value.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) record: Atom,
    pub(super) state: State,
    /// Of each interval that is calculated, the last that has a value.
    pub(super) last: Vec<(Interval, i64, Total)>,
}

/// What is remembered of the keys of a request.
#[derive(Debug)]
pub struct Recalled {
    /// In the order of the values.
    pub(super) keys: Vec<Remembered>,
}

impl Memory {
    /// Takes out what is remembered of every key of these values, if all continue what there is.
    pub(super) fn take(&self, account: Account, values: &Values) -> Option<Recalled> {
        let mut clock = values.settings.calendar.wall_clock();
        let mut known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let mut continues = |slot: &super::values::Slot, newest: i64| match slot.values[..] {
            [(first, _), .., (last, _)] | [(first @ last, _)] => {
                first > newest && clock.is_steady(Timestamp::from_micros(newest), Timestamp::from_micros(last))
            }
            [] => false,
        };
        for slot in &values.slots {
            let remembered = known.get(&Named(account, &slot.path))?;
            if !continues(slot, remembered.state.newest) {
                return None;
            }
        }
        let keys = values.slots.iter().map(|slot| known.remove(&Named(account, &slot.path)));
        Some(Recalled { keys: keys.collect::<Option<_>>()? })
    }

    /// Remembers a key, or forgets it.
    pub(super) fn put(&self, account: Account, path: Arc<KeyPath>, remembered: Option<Remembered>) {
        let mut known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        match remembered {
            None => drop(known.remove(&Named(account, &path))),
            Some(remembered) => {
                if known.len() >= REMEMBERED_MAX {
                    known.clear();
                }
                known.insert((account, path), remembered);
            }
        }
    }
}

/// Looks up without an owned path.
#[derive(Hash)]
struct Named<'a>(Account, &'a KeyPath);

impl hashbrown::Equivalent<(Account, Arc<KeyPath>)> for Named<'_> {
    fn equivalent(&self, key: &(Account, Arc<KeyPath>)) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}
