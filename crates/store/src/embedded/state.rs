//! The objects in memory, within a budget of bytes.
//!
//! A slot is *dirty* when it differs from the records, and *flushing* while a checkpoint writes it; only slots that are
//! neither may leave memory. Of a large collection that stays, pages may leave on their own. A slot without an entry is a
//! key known to be absent. What is not in memory is in the records as it is now, because everything that differs is dirty
//! or flushing.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::collection::{Ids, Large};
use super::entry::Entry;
use super::keys::FullKey;
use super::records::{Records, Space};
use crate::{Error, Result};

/// What a slot takes besides its entry: the key, its places in the map, the ring and the set, and allocations' edges.
const SLOT_BYTES: usize = 144;

/// Slots and pages looked at in one go. What is dirty cannot leave, and looking at all of it again and again helps nobody.
const EVICT_VISITS_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Slot {
    entry: Option<Arc<Entry>>,
    dirty: bool,
    flushing: bool,
    /// Read or written since the ring last passed by.
    used: AtomicBool,
    /// As counted in [`State::bytes`], and in [`State::dirty_bytes`].
    bytes: usize,
    dirty_bytes: usize,
}

impl Slot {
    /// The entry, unless it has expired.
    pub(crate) fn live(&self, now_ms: u64) -> Option<&Entry> {
        self.entry.as_deref().filter(|entry| entry.is_live(now_ms))
    }

    pub(crate) fn live_mut(&mut self, now_ms: u64) -> Option<&mut Entry> {
        // A checkpoint may still hold the entry as it was; then this is where the two part.
        self.entry.as_mut().map(Arc::make_mut).filter(|entry| entry.is_live(now_ms))
    }

    pub(crate) fn entry(&self) -> Option<&Arc<Entry>> {
        self.entry.as_ref()
    }

    pub(crate) fn entry_mut(&mut self) -> Option<&mut Entry> {
        self.entry.as_mut().map(Arc::make_mut)
    }

    fn large_mut(&mut self) -> Option<&mut Large> {
        // Looked at first, because taking a small entry for writing would copy it while a checkpoint holds it.
        self.entry.as_ref()?.object.large()?;
        self.entry_mut()?.object.large_mut()
    }

    pub(crate) fn replace(&mut self, entry: Option<Arc<Entry>>) -> Option<Arc<Entry>> {
        std::mem::replace(&mut self.entry, entry)
    }
}

#[derive(Debug)]
pub(crate) struct State {
    slots: HashMap<FullKey, Slot, foldhash::fast::RandomState>,
    /// Every key of `slots` once, in the order they may leave.
    ring: VecDeque<FullKey>,
    dirty: BTreeSet<FullKey>,
    flushing: BTreeSet<FullKey>,
    /// Large collections that are gone, whose elements the next checkpoint is to remove.
    retired: Vec<u64>,
    ids: Ids,
    bytes: usize,
    dirty_bytes: usize,
    budget_bytes: usize,
}

impl State {
    pub(crate) fn new(next_id: u64, budget_bytes: usize) -> Self {
        Self {
            slots: HashMap::default(),
            ring: VecDeque::new(),
            dirty: BTreeSet::new(),
            flushing: BTreeSet::new(),
            retired: Vec::new(),
            ids: Ids::starting_at(next_id),
            bytes: 0,
            dirty_bytes: 0,
            budget_bytes,
        }
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.peek()
    }

    /// The slot, if the key is in memory.
    pub(crate) fn resident(&self, key: &[u8]) -> Option<&Slot> {
        let slot = self.slots.get(key)?;
        slot.used.store(true, Ordering::Relaxed);
        Some(slot)
    }

    /// Brings a key into memory.
    pub(crate) fn load(&mut self, key: &[u8], records: &Records) -> Result<&mut Slot> {
        self.load_with_ids(key, records).map(|(slot, _)| slot)
    }

    /// The slot, and the ids that a collection in it takes from when it grows.
    pub(crate) fn load_with_ids(&mut self, key: &[u8], records: &Records) -> Result<(&mut Slot, &Ids)> {
        if !self.slots.contains_key(key) {
            let entry = match records.get(Space::Objects, key)? {
                Some(record) => Some(Arc::new(Entry::unpack(&record).map_err(|_| damaged(key))?)),
                None => None,
            };
            let key: FullKey = key.into();
            let bytes = SLOT_BYTES + key.len() + entry.as_ref().map_or(0, |entry| entry.bytes());
            self.bytes += bytes;
            self.ring.push_back(Arc::clone(&key));
            self.slots.insert(key, Slot { entry, bytes, ..Slot::default() });
        }
        let slot = self.slots.get_mut(key).ok_or_else(|| damaged(key))?;
        *slot.used.get_mut() = true;
        Ok((slot, &self.ids))
    }

    /// Notes that a resident key was changed: it differs from the records, and its size may have.
    pub(crate) fn changed(&mut self, key: &[u8]) {
        let Some((key, _)) = self.slots.get_key_value(key) else { return };
        let key = Arc::clone(key);
        let Some(slot) = self.slots.get_mut(&key) else { return };
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.insert(Arc::clone(&key));
        }
        self.weigh(&key);
    }

    /// Counts a slot anew.
    fn weigh(&mut self, key: &FullKey) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        let fixed = SLOT_BYTES + key.len();
        let (bytes, dirty_bytes) = slot.entry.as_ref().map_or((0, 0), |entry| (entry.bytes(), entry.dirty_bytes()));
        let dirty_bytes = if slot.dirty { fixed + dirty_bytes } else { 0 };
        self.bytes = self.bytes + fixed + bytes - slot.bytes;
        self.dirty_bytes = self.dirty_bytes + dirty_bytes - slot.dirty_bytes;
        slot.bytes = fixed + bytes;
        slot.dirty_bytes = dirty_bytes;
    }

    pub(crate) fn retire(&mut self, ids: impl IntoIterator<Item = u64>) {
        self.retired.extend(ids);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn dirty_bytes(&self) -> usize {
        self.dirty_bytes
    }

    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.retired.is_empty()
    }

    /// Keys in memory that may differ from the records, from one on.
    pub(crate) fn differing_from<'a>(&'a self, from: &'a FullKey) -> impl Iterator<Item = &'a FullKey> {
        let mut dirty = self.dirty.range(from.clone()..).peekable();
        let mut flushing = self.flushing.range(from.clone()..).peekable();
        std::iter::from_fn(move || {
            let next = match (dirty.peek().copied(), flushing.peek().copied()) {
                (Some(a), Some(b)) => a.min(b),
                (Some(next), None) | (None, Some(next)) => next,
                (None, None) => return None,
            };
            dirty.next_if_eq(&next);
            flushing.next_if_eq(&next);
            Some(next)
        })
    }

    /// Turns what is dirty into what is flushing, and hands each of its slots over.
    pub(crate) fn begin_flush(&mut self, mut visit: impl FnMut(&FullKey, &mut Slot)) -> Vec<u64> {
        debug_assert!(self.flushing.is_empty(), "one checkpoint at a time");
        self.flushing = std::mem::take(&mut self.dirty);
        self.dirty_bytes = 0;
        for key in &self.flushing {
            if let Some(slot) = self.slots.get_mut(key) {
                slot.dirty = false;
                slot.dirty_bytes = 0;
                slot.flushing = true;
                visit(key, slot);
            }
        }
        std::mem::take(&mut self.retired)
    }

    /// The checkpoint is in the records.
    pub(crate) fn end_flush(&mut self) {
        for key in std::mem::take(&mut self.flushing) {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.flushing = false;
            if let Some(large) = slot.large_mut() {
                large.thaw();
            }
        }
    }

    /// Lets go of slots and pages that were not used lately until what is in memory fits, or enough of them were looked at.
    pub(crate) fn evict(&mut self) {
        let mut visits = EVICT_VISITS_MAX;
        for _ in 0..self.ring.len() {
            if self.bytes <= self.budget_bytes || visits == 0 {
                return;
            }
            visits -= 1;
            let Some(key) = self.ring.pop_front() else { return };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            if !slot.dirty && !slot.flushing && !std::mem::take(slot.used.get_mut()) {
                self.bytes -= slot.bytes;
                self.slots.remove(&key);
                continue;
            }
            if let Some(large) = slot.large_mut() {
                large.evict(self.bytes - self.budget_bytes, &mut visits);
                self.weigh(&key);
            }
            self.ring.push_back(key);
        }
    }
}

fn damaged(key: &[u8]) -> Error {
    Error::Corrupt(format!("the record of key {} does not read back", super::keys::name_of(key)))
}
