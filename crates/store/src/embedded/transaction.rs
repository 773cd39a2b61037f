//! Applies a batch to the state, and can take it back.
//!
//! Every change notes what was there before. A batch that turns out to be impossible halfway (a counter overflows, a
//! key has another type) is undone in reverse, and so is a group of batches that the log could not take: what readers
//! see is what was acknowledged.

use std::sync::Arc;

use super::collection::Storage;
use super::entry::{Entry, Object};
use super::keys::write_full_key;
use super::records::Records;
use super::state::State;
use crate::{Account, Atom, End, Error, Key, Kind, Op, Presence, Result};

/// How to take one change back. `op` is the operation of the batch that made it, which names the key.
#[derive(Debug)]
pub(crate) enum Undo {
    Entry { op: u32, previous: Option<Arc<Entry>> },
    Field { op: u32, field: Element, previous: Option<Atom> },
    Member { op: u32, member: Element, was: Presence },
    Score { op: u32, member: Element, previous: Option<f64> },
    Pushed { op: u32, end: End },
    Popped { op: u32, end: End, values: Vec<Atom> },
    Expiry { op: u32, previous: Option<u64> },
}

/// Which element an operation changed.
#[derive(Debug)]
pub(crate) enum Element {
    /// One of those that the operation names.
    Nth(u32),
    /// One that it came upon.
    Found(Atom),
}

impl Element {
    fn of<'a>(&'a self, op: &'a Op) -> Option<&'a Atom> {
        match self {
            Self::Nth(index) => op.element(*index as usize),
            Self::Found(element) => Some(element),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    pub(super) state: &'a mut State,
    pub(super) records: &'a Records,
    pub(super) account: Account,
    pub(super) now_ms: u64,
    pub(super) undo: Vec<Undo>,
    /// Large collections that this batch removed, to be retired once it is certain.
    pub(super) removed: Vec<u64>,
    /// The operation under way.
    pub(super) op: u32,
    pub(super) full_key: Vec<u8>,
}

/// What a finished transaction leaves behind until its group is in the log.
#[derive(Debug)]
pub(crate) struct Applied {
    account: Account,
    undo: Vec<Undo>,
    removed: Vec<u64>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(state: &'a mut State, records: &'a Records, account: Account, now_ms: u64) -> Self {
        let (undo, removed, full_key) = (Vec::new(), Vec::new(), Vec::new());
        Self { state, records, account, now_ms, undo, removed, op: 0, full_key }
    }

    pub(crate) fn finish(self) -> Applied {
        Applied { account: self.account, undo: self.undo, removed: self.removed }
    }

    /// Brings the key into memory; `full_key` names it from here on.
    pub(super) fn enter(&mut self, key: &Key) -> Result<()> {
        write_full_key(&mut self.full_key, self.account, key.as_bytes());
        self.state.load(&self.full_key, self.records).map(|_| ())
    }

    /// The entry of the key entered, if it is live.
    pub(super) fn live(&mut self) -> Result<Option<&mut Entry>> {
        Ok(self.state.load(&self.full_key, self.records)?.live_mut(self.now_ms))
    }

    /// Puts another entry, or none, behind the key entered.
    pub(super) fn replace(&mut self, entry: Option<Entry>) -> Result<()> {
        let slot = self.state.load(&self.full_key, self.records)?;
        let previous = slot.replace(entry.map(Arc::new));
        if let Some(large) = previous.as_ref().and_then(|entry| entry.object.large()) {
            self.removed.push(large.id());
        }
        self.undo.push(Undo::Entry { op: self.op, previous });
        Ok(())
    }

    /// Keeps a copy of the entry, for changes that are not worth undoing piece by piece.
    pub(super) fn remember(&mut self) -> Result<()> {
        let previous = self.state.load(&self.full_key, self.records)?.entry().cloned();
        self.undo.push(Undo::Entry { op: self.op, previous });
        Ok(())
    }

    /// After an operation on the key entered: drops a collection that became empty, notes the change.
    pub(super) fn leave(&mut self) -> Result<()> {
        if self.live()?.is_some_and(|entry| entry.object.is_empty()) {
            self.replace(None)?;
        }
        self.state.changed(&self.full_key);
        Ok(())
    }

    /// Takes the whole batch back.
    pub(crate) fn roll_back(mut self, ops: &[Op]) -> Result<()> {
        let undo = std::mem::take(&mut self.undo);
        self.take_back(undo, ops)
    }

    fn take_back(&mut self, undo: Vec<Undo>, ops: &[Op]) -> Result<()> {
        for undo in undo.into_iter().rev() {
            let op = match &undo {
                Undo::Entry { op, .. }
                | Undo::Field { op, .. }
                | Undo::Member { op, .. }
                | Undo::Score { op, .. }
                | Undo::Pushed { op, .. }
                | Undo::Popped { op, .. }
                | Undo::Expiry { op, .. } => *op,
            };
            let Some(op) = ops.get(op as usize) else { continue };
            let Some(key) = op.key() else { continue };
            write_full_key(&mut self.full_key, self.account, key.as_bytes());
            self.take_back_one(undo, op)?;
            self.state.changed(&self.full_key);
        }
        self.settle(ops)
    }

    /// Brings the order of scores up to date, of every sorted set that these operations changed.
    fn settle(&mut self, ops: &[Op]) -> Result<()> {
        for op in ops {
            let (Op::SortedAdd { key, .. } | Op::SortedRemove { key, .. } | Op::SortedRemoveByScore { key, .. }) = op
            else {
                continue;
            };
            self.enter(key)?;
            let slot = self.state.load(&self.full_key, self.records)?;
            if let Some(Object::Sorted(members)) = slot.entry_mut().map(|entry| &mut entry.object) {
                members.settle(self.records)?;
            }
        }
        Ok(())
    }

    fn take_back_one(&mut self, undo: Undo, op: &Op) -> Result<()> {
        let records = self.records;
        let (slot, ids) = self.state.load_with_ids(&self.full_key, records)?;
        let storage = Storage { records, ids };
        let undo = match undo {
            Undo::Entry { previous, .. } => {
                slot.replace(previous);
                return Ok(());
            }
            other => other,
        };
        let Some(entry) = slot.entry_mut() else { return Ok(()) };
        match (undo, &mut entry.object) {
            (Undo::Field { field, previous, .. }, Object::Hash(fields)) => match (field.of(op), previous) {
                (Some(field), Some(value)) => fields.put(field, value, storage).map(|_| ()),
                (Some(field), None) => fields.remove(field, records).map(|_| ()),
                (None, _) => Ok(()),
            },
            (Undo::Member { member, was, .. }, Object::Set(members)) => match (member.of(op), was) {
                (Some(member), Presence::Present) => members.put(member, (), storage).map(|_| ()),
                (Some(member), Presence::Absent) => members.remove(member, records).map(|_| ()),
                (None, _) => Ok(()),
            },
            (Undo::Score { member, previous, .. }, Object::Sorted(members)) => match (member.of(op), previous) {
                (Some(member), Some(score)) => members.put(member, score, storage).map(|_| ()),
                (Some(member), None) => members.remove(member, records).map(|_| ()),
                (None, _) => Ok(()),
            },
            (Undo::Pushed { end, .. }, Object::List(list)) => list.pop(end, records).map(|_| ()),
            (Undo::Popped { end, values, .. }, Object::List(list)) => {
                values.iter().rev().try_for_each(|value| list.push(end, value, storage))
            }
            (Undo::Expiry { previous, .. }, _) => {
                entry.expires_at_ms = previous;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Applied {
    pub(crate) fn removed_something(&self) -> bool {
        !self.removed.is_empty()
    }

    /// The batch is in the log: what it removed stays removed.
    pub(crate) fn keep(self, state: &mut State) {
        state.retire(self.removed);
    }

    /// The log did not take the batch.
    pub(crate) fn take_back(self, state: &mut State, records: &Records, ops: &[Op]) -> Result<()> {
        Transaction::new(state, records, self.account, 0).take_back(self.undo, ops)
    }
}

pub(crate) fn wrong_type(key: &Key, wanted: Kind, object: &Object) -> Error {
    Error::WrongType { key: key.clone(), wanted, found: object.kind() }
}
