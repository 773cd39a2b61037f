//! Writing what changed into the records, so that the log can be cut.
//!
//! A checkpoint is taken in an instant (handles to what is dirty, and the log's position) and written by a thread of
//! its own while commits go on. Objects and position are one atomic batch of records: recovery always finds the
//! objects exactly as they were at that position.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use super::collection::{Frozen, Large};
use super::entry::Entry;
use super::keys::FullKey;
use super::records::{Change, Records, Slice, Space};
use super::state::State;
use crate::{Error, Order, Result};

/// Records of deleted collections that one checkpoint removes.
const REAPED_RECORDS_MAX: usize = 10_000;

const POSITION: &[u8] = b"position";
const NEXT_ID: &[u8] = b"next_id";
/// Before the id of a deleted collection that still has elements.
const RETIRED: u8 = b'r';

/// What the records say of themselves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The last record of the log whose changes the records have.
    pub(crate) position: u64,
    pub(crate) next_id: u64,
}

impl Meta {
    pub(crate) fn read(records: &Records) -> Result<Self> {
        let number = |key: &[u8]| -> Result<u64> {
            match records.get(Space::Meta, key)? {
                None => Ok(0),
                Some(value) => match <[u8; 8]>::try_from(&value[..]) {
                    Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
                    Err(_) => Err(Error::Corrupt("the position of the checkpoint does not read back".into())),
                },
            }
        };
        Ok(Self { position: number(POSITION)?, next_id: number(NEXT_ID)? })
    }
}

/// A moment's changes, on their way into the records.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    items: Vec<(FullKey, Item)>,
    /// Hints whose time has come and that are of no more use.
    used_hints: Vec<Slice>,
    retired: Vec<u64>,
    meta: Meta,
}

#[derive(Debug)]
enum Item {
    Gone,
    Small { entry: Arc<Entry>, hint_at_ms: Option<u64> },
    Large { header: Vec<u8>, frozen: Vec<(Vec<u8>, Frozen)>, hint_at_ms: Option<u64> },
}

impl Checkpoint {
    /// Everything that differs from the records now.
    pub(crate) fn take(state: &mut State, used_hints: Vec<Slice>, position: u64) -> Self {
        let mut items = Vec::new();
        let retired = state.begin_flush(|key, slot| {
            let Some(entry) = slot.entry_mut() else {
                items.push((Arc::clone(key), Item::Gone));
                return;
            };
            // A hint that is too early is harmless: whoever follows it makes a later one.
            let hint_at_ms = entry.expires_at_ms.filter(|at| entry.hinted_at_ms.is_none_or(|hinted| *at < hinted));
            entry.hinted_at_ms = hint_at_ms.or(entry.hinted_at_ms);
            let frozen = entry.object.large_mut().map(Large::freeze);
            let item = match (frozen, slot.entry()) {
                (Some(frozen), Some(entry)) => Item::Large { header: entry.pack(), frozen, hint_at_ms },
                (None, Some(entry)) => Item::Small { entry: Arc::clone(entry), hint_at_ms },
                (_, None) => Item::Gone,
            };
            items.push((Arc::clone(key), item));
        });
        Self { items, used_hints, retired, meta: Meta { position, next_id: state.next_id() } }
    }

    pub(crate) fn write(self, records: &Records) -> Result<()> {
        let mut changes = Vec::with_capacity(self.items.len() + 2);
        for (key, item) in self.items {
            let hint_at_ms = match item {
                Item::Gone => {
                    changes.push(Change::remove(Space::Objects, &key[..]));
                    None
                }
                Item::Small { entry, hint_at_ms } => {
                    changes.push(Change::put(Space::Objects, &key[..], entry.pack()));
                    hint_at_ms
                }
                Item::Large { header, frozen, hint_at_ms } => {
                    changes.push(Change::put(Space::Objects, &key[..], header));
                    changes.extend(frozen.into_iter().map(|(key, frozen)| match frozen {
                        Frozen::Page(page) => Change::put(Space::Elements, key, page.pack()),
                        Frozen::Chunk(chunk) => Change::put(Space::Elements, key, chunk),
                        Frozen::Gone => Change::remove(Space::Elements, key),
                    }));
                    hint_at_ms
                }
            };
            if let Some(at_ms) = hint_at_ms {
                changes.push(Change::put(Space::Hints, hint_key(at_ms, &key), []));
            }
        }
        changes.extend(self.used_hints.into_iter().map(|hint| Change::remove(Space::Hints, hint)));
        changes.extend(self.retired.iter().map(|id| Change::put(Space::Meta, retired_key(*id), [])));
        reap(records, &mut changes)?;
        changes.push(Change::put(Space::Meta, POSITION, self.meta.position.to_be_bytes()));
        changes.push(Change::put(Space::Meta, NEXT_ID, self.meta.next_id.to_be_bytes()));
        records.write(changes)
    }
}

/// Removes elements of collections that earlier checkpoints retired, a bounded number of them.
fn reap(records: &Records, changes: &mut Vec<Change>) -> Result<()> {
    let mut left = REAPED_RECORDS_MAX;
    let retired = (Bound::Included(&[RETIRED][..]), Bound::Excluded(&[RETIRED + 1][..]));
    for found in records.range(Space::Meta, retired, Order::Ascending) {
        let (key, _) = found?;
        let (from, to) = match <[u8; 8]>::try_from(&key[1..]).map(u64::from_be_bytes) {
            Ok(id) => (id.to_be_bytes(), (id + 1).to_be_bytes()),
            Err(_) => continue,
        };
        for element in records.range(Space::Elements, (Bound::Included(&from), Bound::Excluded(&to)), Order::Ascending)
        {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            changes.push(Change::remove(Space::Elements, element?.0));
        }
        changes.push(Change::remove(Space::Meta, key));
    }
    Ok(())
}

fn retired_key(id: u64) -> Vec<u8> {
    [&[RETIRED][..], &id.to_be_bytes()].concat()
}

pub(crate) fn hint_key(at_ms: u64, key: &[u8]) -> Vec<u8> {
    [&at_ms.to_be_bytes()[..], key].concat()
}

/// The key that a hint is about.
pub(crate) fn hinted_key(hint: &[u8]) -> &[u8] {
    hint.get(size_of::<u64>()..).unwrap_or_default()
}

/// The thread that writes checkpoints, one at a time.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    jobs: Option<Sender<Checkpoint>>,
    outcomes: Receiver<Result<()>>,
    thread: Option<JoinHandle<()>>,
    busy: bool,
}

impl Checkpointer {
    pub(crate) fn start(records: Arc<Records>) -> Result<Self> {
        let (jobs, accepted) = channel::<Checkpoint>();
        let (finished, outcomes) = channel();
        let run = move || {
            for checkpoint in accepted {
                if finished.send(checkpoint.write(&records)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("tickmark-checkpoint".into()).spawn(run);
        let thread = thread.map_err(|source| Error::Io { doing: "starting a thread".into(), source })?;
        Ok(Self { jobs: Some(jobs), outcomes, thread: Some(thread), busy: false })
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    pub(crate) fn write(&mut self, checkpoint: Checkpoint) {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(checkpoint).is_ok());
        debug_assert!(sent && !self.busy, "one checkpoint at a time, and a thread to write it");
        self.busy = true;
    }

    /// The outcome of the checkpoint under way, if it has one.
    pub(crate) fn poll(&mut self) -> Option<Result<()>> {
        match self.outcomes.try_recv() {
            Err(TryRecvError::Empty) => None,
            Ok(outcome) => {
                self.busy = false;
                Some(outcome)
            }
            Err(TryRecvError::Disconnected) => Some(Err(ended())),
        }
    }

    /// The outcome of the checkpoint under way, once it has one.
    pub(crate) fn wait(&mut self) -> Option<Result<()>> {
        if !self.busy {
            return None;
        }
        self.busy = false;
        Some(self.outcomes.recv().unwrap_or_else(|_| Err(ended())))
    }
}

fn ended() -> Error {
    Error::Poisoned("the thread that writes checkpoints ended".into())
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
