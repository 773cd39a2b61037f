//! Each operation of the vocabulary, on the state.

use tickmark_stats::hll::Hll;

use super::collection::{List, Storage};
use super::entry::{Entry, Object};
use super::transaction::{Element, Transaction, Undo, wrong_type};
use crate::number::add;
use crate::{AddWhen, Atom, Error, Key, Kind, Number, Op, Order, Presence, Reply, Result};

/// The collection of this kind behind the key entered, new where there is none. Changes to it are noted in `$undo`
/// while `$storage` leads to its elements.
macro_rules! collection {
    ($self:ident, $key:ident, $variant:ident, $kind:expr, |$collection:ident, $storage:ident, $undo:ident| $body:expr) => {{
        $self.enter($key)?;
        match $self.live()? {
            Some(Entry { object: Object::$variant(_), .. }) => {}
            Some(entry) => return Err(wrong_type($key, $kind, &entry.object)),
            None => $self.replace(Some(Entry::new(Object::$variant(Default::default()))))?,
        }
        let (slot, ids) = $self.state.load_with_ids(&$self.full_key, $self.records)?;
        let $storage = Storage { records: $self.records, ids };
        let $undo = &mut $self.undo;
        match slot.live_mut($self.now_ms).map(|entry| &mut entry.object) {
            Some(Object::$variant($collection)) => {
                let reply = $body?;
                $self.leave()?;
                Ok(reply)
            }
            _ => Err(Error::Corrupt("an entry changed its type on its own".into())),
        }
    }};
}

impl Transaction<'_> {
    pub(crate) fn apply(&mut self, index: usize, op: &Op) -> Result<Reply> {
        self.op = u32::try_from(index).unwrap_or(u32::MAX);
        match op {
            Op::Set { key, value } => self.set(key, value),
            Op::Increment { key, by } => self.increment(key, *by),
            Op::HashSet { key, fields } => self.hash_set(key, fields),
            Op::HashIncrement { key, fields } => self.hash_increment(key, fields),
            Op::HashRemove { key, fields } => self.hash_remove(key, fields),
            Op::SetAdd { key, members } => self.set_add(key, members),
            Op::SetRemove { key, members } => self.set_remove(key, members),
            Op::SortedAdd { key, when, members } => self.sorted_add(key, *when, members),
            Op::SortedRemove { key, members } => self.sorted_remove(key, members, |index, _| Element::Nth(index)),
            Op::SortedRemoveByScore { key, range } => {
                self.enter(key)?;
                let records = self.records;
                let members = match self.live()?.map(|entry| &entry.object) {
                    None => Vec::new(),
                    Some(Object::Sorted(members)) => members.range(range, Order::Ascending, 0, u64::MAX, records)?,
                    Some(other) => return Err(wrong_type(key, Kind::SortedSet, other)),
                };
                let members: Vec<_> = members.into_iter().map(|(member, _)| member).collect();
                self.sorted_remove(key, &members, |_, member| Element::Found(member.clone()))
            }
            Op::ListPush { key, end, values } => {
                let op = self.op;
                collection!(self, key, List, Kind::List, |list, storage, undo| {
                    for value in values {
                        list.push(*end, value, storage)?;
                        undo.push(Undo::Pushed { op, end: *end });
                    }
                    Ok::<_, Error>(Reply::Count(list.len()))
                })
            }
            Op::ListPop { key, end, count } => {
                let (op, records) = (self.op, self.records);
                collection!(self, key, List, Kind::List, |list, _storage, undo| {
                    let taken = take(list, *count, |list| list.pop(*end, records))?;
                    undo.push(Undo::Popped { op, end: *end, values: taken.clone() });
                    Ok::<_, Error>(Reply::Members(taken))
                })
            }
            Op::HllAdd { key, members } if members.is_empty() => {
                self.enter(key)?;
                match self.live()?.map(|entry| &entry.object) {
                    None | Some(Object::Hll(_)) => Ok(Reply::Count(0)),
                    Some(other) => Err(wrong_type(key, Kind::HyperLogLog, other)),
                }
            }
            Op::HllAdd { key, members } => {
                let fresh = self.enter_hll(key)?;
                self.with_hll(|hll| {
                    let changed = members.iter().fold(fresh, |changed, member| hll.add(&member.as_bytes()) || changed);
                    Reply::Count(u64::from(changed))
                })
            }
            Op::HllMerge { key, hll } => {
                let other =
                    Hll::from_redis(hll).map_err(|error| Error::BadHll { key: key.clone(), why: error.to_string() })?;
                self.enter_hll(key)?;
                self.with_hll(|hll| {
                    hll.merge(&other);
                    Reply::Done
                })
            }
            Op::ExpireAt { key, at_ms } => self.expire(key, Some(*at_ms)),
            Op::ExpireIn { key, ms } => self.expire(key, Some(self.now_ms.saturating_add(*ms))),
            Op::Persist { key } => self.expire(key, None),
            Op::Delete { key } => {
                self.enter(key)?;
                if self.live()?.is_none() {
                    return Ok(Reply::Count(0));
                }
                self.replace(None)?;
                self.leave()?;
                Ok(Reply::Count(1))
            }
            Op::Publish { .. } => Ok(Reply::Done),
        }
    }

    fn set(&mut self, key: &Key, value: &Atom) -> Result<Reply> {
        self.enter(key)?;
        match self.live()?.map(|entry| &entry.object) {
            None | Some(Object::String(_)) => {}
            Some(other) => return Err(wrong_type(key, Kind::String, other)),
        }
        self.replace(Some(Entry::new(Object::String(value.clone()))))?;
        self.leave()?;
        Ok(Reply::Done)
    }

    fn increment(&mut self, key: &Key, by: Number) -> Result<Reply> {
        self.enter(key)?;
        let (held, expires_at_ms) = match self.live()? {
            None => (None, None),
            Some(Entry { object: Object::String(value), expires_at_ms, .. }) => (Some(value.clone()), *expires_at_ms),
            Some(entry) => return Err(wrong_type(key, Kind::String, &entry.object)),
        };
        let sum = add(key, None, held.as_ref(), by)?;
        self.replace(Some(Entry { expires_at_ms, ..Entry::new(Object::String(sum)) }))?;
        self.leave()?;
        Ok(Reply::Done)
    }

    fn hash_set(&mut self, key: &Key, fields: &[(Atom, Atom)]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Hash, Kind::Hash, |hash, storage, undo| {
            let mut added = 0;
            undo.reserve(fields.len());
            for (index, (field, value)) in (0..).zip(fields) {
                let previous = hash.put(field, value.clone(), storage)?;
                added += u64::from(previous.is_none());
                undo.push(Undo::Field { op, field: Element::Nth(index), previous });
            }
            Ok::<_, Error>(Reply::Count(added))
        })
    }

    fn hash_increment(&mut self, key: &Key, fields: &[(Atom, Number)]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Hash, Kind::Hash, |hash, storage, undo| {
            undo.reserve(fields.len());
            for (index, (field, by)) in (0..).zip(fields) {
                let previous = hash.update(field, storage, |held| add(key, Some(field), held, *by).map(Some))?;
                undo.push(Undo::Field { op, field: Element::Nth(index), previous });
            }
            Ok::<_, Error>(Reply::Done)
        })
    }

    fn hash_remove(&mut self, key: &Key, fields: &[Atom]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Hash, Kind::Hash, |hash, storage, undo| {
            let mut removed = 0;
            for (index, field) in (0..).zip(fields) {
                let Some(previous) = hash.remove(field, storage.records)? else { continue };
                removed += 1;
                undo.push(Undo::Field { op, field: Element::Nth(index), previous: Some(previous) });
            }
            Ok::<_, Error>(Reply::Count(removed))
        })
    }

    fn set_add(&mut self, key: &Key, members: &[Atom]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Set, Kind::Set, |set, storage, undo| {
            let mut added = 0;
            for (index, member) in (0..).zip(members) {
                if set.put(member, (), storage)?.is_none() {
                    added += 1;
                    undo.push(Undo::Member { op, member: Element::Nth(index), was: Presence::Absent });
                }
            }
            Ok::<_, Error>(Reply::Count(added))
        })
    }

    fn set_remove(&mut self, key: &Key, members: &[Atom]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Set, Kind::Set, |set, storage, undo| {
            let mut removed = 0;
            for (index, member) in (0..).zip(members) {
                if set.remove(member, storage.records)?.is_some() {
                    removed += 1;
                    undo.push(Undo::Member { op, member: Element::Nth(index), was: Presence::Present });
                }
            }
            Ok::<_, Error>(Reply::Count(removed))
        })
    }

    fn sorted_add(&mut self, key: &Key, when: AddWhen, members: &[(Atom, f64)]) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Sorted, Kind::SortedSet, |sorted, storage, undo| {
            let mut added = 0;
            undo.reserve(members.len());
            for (index, (member, score)) in (0..).zip(members) {
                // Negative zero equals zero, and would only print differently.
                let score = *score + 0.0;
                let previous = sorted.update(member, storage, |held| {
                    let wanted = match (when, held) {
                        (_, None) => true,
                        (AddWhen::Always, Some(held)) => score.total_cmp(held).is_ne(),
                        (AddWhen::IfNew, Some(_)) => false,
                        (AddWhen::IfGreater, Some(held)) => score > *held,
                        (AddWhen::IfLess, Some(held)) => score < *held,
                    };
                    Ok(wanted.then_some(score))
                })?;
                added += u64::from(previous.is_none());
                undo.push(Undo::Score { op, member: Element::Nth(index), previous });
            }
            sorted.settle(storage.records)?;
            Ok::<_, Error>(Reply::Count(added))
        })
    }

    fn sorted_remove(&mut self, key: &Key, members: &[Atom], element: impl Fn(u32, &Atom) -> Element) -> Result<Reply> {
        let op = self.op;
        collection!(self, key, Sorted, Kind::SortedSet, |sorted, storage, undo| {
            let mut removed = 0;
            for (index, member) in (0..).zip(members) {
                let Some(previous) = sorted.remove(member, storage.records)? else { continue };
                removed += 1;
                undo.push(Undo::Score { op, member: element(index, member), previous: Some(previous) });
            }
            sorted.settle(storage.records)?;
            Ok::<_, Error>(Reply::Count(removed))
        })
    }

    /// Makes sure that the key entered is a HyperLogLog; true if it is a new one.
    fn enter_hll(&mut self, key: &Key) -> Result<bool> {
        self.enter(key)?;
        match self.live()?.map(|entry| &entry.object) {
            Some(Object::Hll(_)) => {
                self.remember()?;
                Ok(false)
            }
            Some(other) => Err(wrong_type(key, Kind::HyperLogLog, other)),
            None => {
                self.replace(Some(Entry::new(Object::Hll(Box::default()))))?;
                Ok(true)
            }
        }
    }

    fn with_hll(&mut self, change: impl FnOnce(&mut Hll) -> Reply) -> Result<Reply> {
        let reply = match self.live()?.map(|entry| &mut entry.object) {
            Some(Object::Hll(hll)) => change(hll),
            _ => return Err(Error::Corrupt("an entry changed its type on its own".into())),
        };
        self.leave()?;
        Ok(reply)
    }

    fn expire(&mut self, key: &Key, at_ms: Option<u64>) -> Result<Reply> {
        self.enter(key)?;
        let (op, now_ms) = (self.op, self.now_ms);
        let Some(entry) = self.live()? else { return Ok(Reply::Count(0)) };
        let previous = entry.expires_at_ms;
        if at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            self.replace(None)?;
        } else if at_ms.is_none() && previous.is_none() {
            return Ok(Reply::Count(0));
        } else {
            entry.expires_at_ms = at_ms;
            self.undo.push(Undo::Expiry { op, previous });
        }
        self.leave()?;
        Ok(Reply::Count(1))
    }
}

/// Up to `count` values, as long as there are any.
fn take(list: &mut List, count: u64, mut pop: impl FnMut(&mut List) -> Result<Option<Atom>>) -> Result<Vec<Atom>> {
    let mut taken = Vec::new();
    while (taken.len() as u64) < count {
        match pop(list)? {
            Some(value) => taken.push(value),
            None => break,
        }
    }
    Ok(taken)
}
