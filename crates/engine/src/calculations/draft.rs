//! A key's part of a request: from what is known of the key to what is written.

use std::sync::Arc;

use tickmark_stats::{Interval, Timestamp, WallClock};
use tickmark_store::{Atom, Batch, Guard, Op, Query, Reply};

use super::catalog::{Dimension, Found, foreign};
use super::keys::Keys;
use super::memory::Remembered;
use super::outcome::number;
use super::reading::value_of;
use super::state::{self, State};
use super::total::Total;
use super::values::Slot;
use super::{Change, KeyPath};
use crate::Result;

/// A key's part of a request, as far as it is worked out.
pub(super) struct Draft<'a> {
    slot: &'a Slot,
    pub(super) keys: Keys,
    /// As it was read.
    old: Found<State>,
    /// As it will be.
    state: State,
    /// The values under the names they are kept by.
    fields: Vec<Atom>,
    /// How many of the values, the earliest, may be stored already.
    known: usize,
    touched: Vec<Touched>,
}

/// What a key's values do.
pub(super) struct Drafted {
    pub(super) batch: Batch,
    /// None where nothing changes.
    pub(super) change: Option<Change>,
    /// What is known of the key once this is written; none where that is not enough to go on without reading.
    pub(super) remembered: Option<Remembered>,
}

/// Totals as they will be, of which intervals, and the last of them.
type Changed = (Vec<(Atom, Atom)>, Vec<i64>, Option<(i64, Total)>);

/// The intervals of one kind that values fall into.
struct Touched {
    interval: Interval,
    /// Of each value.
    of_value: Vec<i64>,
    /// Whether those are in order; only where clocks went back they may not be.
    is_sorted: bool,
    /// Each once, in order.
    numbers: Vec<i64>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        keys: Keys,
        slot: &'a Slot,
        old: Found<State>,
        (project, dimension): (u64, Dimension),
        clock: &mut WallClock<'_>,
    ) -> Self {
        let read = old.says.clone().unwrap_or_else(State::empty);
        let basis = state::Basis { project, dimension: dimension.generation };
        let state = if old.says.is_some() && read.basis == basis {
            read
        } else {
            let own = read.own;
            read.declared(basis, dimension.declaration, own)
        };
        let known = slot.values.partition_point(|(at, _)| *at <= state.newest);
        let fields = slot.fields(clock);
        let touched = |interval| Touched::by(slot, interval, clock);
        let touched = state.ready.iter().map(touched).collect();
        Self { slot, keys, old, state, fields, known, touched }
    }

    pub(super) fn path(&self) -> Arc<KeyPath> {
        Arc::clone(&self.slot.path)
    }

    pub(super) fn queries(&self) -> Vec<Query> {
        let mut queries = Vec::with_capacity(1 + self.touched.len());
        if self.known > 0 {
            queries.push(Query::HashGetMany { key: self.keys.values(), fields: self.fields[..self.known].to_vec() });
        }
        queries.extend(self.touched.iter().map(|touched| Query::HashGetMany {
            key: self.keys.totals(touched.interval),
            fields: touched.numbers.iter().map(|number| Atom::Int(*number)).collect(),
        }));
        queries
    }

    /// What keeps the values, given what was asked for.
    pub(super) fn batch(self, replies: &mut impl Iterator<Item = Reply>) -> Result<Drafted> {
        let mut next = || replies.next().unwrap_or(Reply::Values(Vec::new())).values();
        let stored = if self.known > 0 { self.stored(next()?)? } else { Vec::new() };
        let mut totals = Vec::with_capacity(self.touched.len());
        for touched in &self.touched {
            let key = self.keys.totals(touched.interval);
            let read = |atom: Option<Atom>| match atom {
                None => Ok(None),
                Some(atom) => Total::read(&atom).map(Some).ok_or_else(|| foreign(&key, &atom)),
            };
            totals.push(next()?.into_iter().map(read).collect::<Result<Vec<_>>>()?);
        }
        Ok(self.drafted(&stored, totals))
    }

    /// The same for values that are all newer than what is stored, given the totals of the last intervals. `None` where those do
    /// not say enough.
    pub(super) fn appended(self, last: Vec<(Interval, i64, Total)>) -> Option<Drafted> {
        let mut totals = Vec::with_capacity(self.touched.len());
        for (touched, (interval, number, total)) in self.touched.iter().zip(last) {
            if touched.interval != interval || touched.numbers.first().is_none_or(|first| *first < number) {
                return None;
            }
            let is_last = touched.numbers.first() == Some(&number);
            let rest = touched.numbers.len() - usize::from(is_last);
            totals.push(is_last.then_some(Some(total)).into_iter().chain(std::iter::repeat_n(None, rest)).collect());
        }
        (totals.len() == self.touched.len() && self.known == 0).then(|| self.drafted(&[], totals))
    }

    fn drafted(self, stored: &[Option<f64>], totals: Vec<Vec<Option<Total>>>) -> Drafted {
        let mut batch = Batch::new();
        let is_changed = |index: usize| stored.get(index).copied().flatten() != Some(self.slot.values[index].1);
        let changed: Vec<usize> = (0..self.slot.values.len()).filter(|index| is_changed(*index)).collect();
        let (mut numbers, mut last) = (Vec::with_capacity(self.touched.len()), Vec::new());
        if !changed.is_empty() {
            for (touched, totals) in self.touched.iter().zip(totals) {
                let (fields, changed, newest) = self.totals(touched, totals, stored, is_changed);
                batch.push(Op::HashSet { key: self.keys.totals(touched.interval), fields });
                numbers.push((touched.interval, changed));
                last.extend(newest.map(|(number, total)| (touched.interval, number, total)));
            }
        }
        if changed.is_empty() && self.old.says.as_ref() == Some(&self.state) {
            return Drafted { batch, change: None, remembered: None };
        }
        let Self { slot, keys, old, mut state, mut fields, .. } = self;
        let from = state.version;
        // Only what ends with the newest value says what the last intervals hold.
        let is_newest = slot.values.last().is_some_and(|(at, _)| *at > state.newest);
        state.version += 1;
        state.newest = state.newest.max(slot.values.last().map_or(state.newest, |(at, _)| *at));
        batch.ops.extend(state::shown(&keys, old.says.as_ref(), &state));
        if !state.unready().is_empty() && !changed.is_empty() {
            let members = changed.iter().map(|index| Atom::Int(slot.values[*index].0)).collect();
            batch.push(Op::SetAdd { key: keys.touched(), members });
        }
        if !changed.is_empty() {
            let field = |index: &usize| {
                let field = std::mem::replace(&mut fields[*index], Atom::Int(0));
                (field, number(slot.values[*index].1))
            };
            batch.push(Op::HashSet { key: keys.values(), fields: changed.iter().map(field).collect() });
        }
        let record = keys.record();
        let written = state.write();
        batch.push(Op::Set { key: record.clone(), value: written.clone() });
        let is_same = old.says.as_ref().is_some_and(|old| old.effective == state.effective && old.basis == state.basis);
        batch.guards.push(Guard::Value { key: record, is: old.record });
        let change = Change { path: slot.path.clone(), from, to: state.version, numbers: is_same.then_some(numbers) };
        let is_whole = is_newest && state.unready().is_empty() && last.len() == state.ready.iter().count();
        let remembered = is_whole.then_some(Remembered { record: written, state, last });
        Drafted { batch, change: Some(change), remembered }
    }

    fn stored(&self, values: Vec<Option<Atom>>) -> Result<Vec<Option<f64>>> {
        let read = |value: Option<Atom>| match value {
            None => Ok(None),
            Some(atom) => match value_of(&atom) {
                Some(value) => Ok(Some(value)),
                None => Err(foreign(&self.keys.values(), &atom)),
            },
        };
        values.into_iter().map(read).collect()
    }

    /// The totals as they will be, those that change, and which those are.
    fn totals(
        &self,
        touched: &Touched,
        totals: Vec<Option<Total>>,
        stored: &[Option<f64>],
        is_changed: impl Fn(usize) -> bool,
    ) -> Changed {
        let mut order: Vec<usize> = (0..touched.of_value.len()).collect();
        if !touched.is_sorted {
            order.sort_by_key(|index| touched.of_value[*index]);
        }
        let (mut fields, mut numbers) = (Vec::with_capacity(touched.numbers.len()), Vec::new());
        let mut last = None;
        let mut deltas = Vec::new();
        for (run, total) in
            order.chunk_by(|left, right| touched.of_value[*left] == touched.of_value[*right]).zip(totals)
        {
            deltas.clear();
            let mut total = total.unwrap_or_default();
            for index in run.iter().copied().filter(|index| is_changed(*index)) {
                match stored.get(index).copied().flatten() {
                    Some(old) => deltas.push(-old),
                    None => total.count += 1,
                }
                deltas.push(self.slot.values[index].1);
            }
            if !deltas.is_empty() {
                total.add(deltas.iter().copied());
                fields.push((Atom::Int(touched.of_value[run[0]]), total.write()));
                numbers.push(touched.of_value[run[0]]);
            }
            last = Some((touched.of_value[run[0]], total));
        }
        (fields, numbers, last)
    }
}

impl Touched {
    fn by(slot: &Slot, interval: Interval, clock: &mut WallClock<'_>) -> Self {
        let of_value: Vec<i64> =
            slot.values.iter().map(|(at, _)| clock.number(interval, Timestamp::from_micros(*at))).collect();
        let is_sorted = of_value.is_sorted();
        let mut numbers = Vec::new();
        for number in &of_value {
            if numbers.last() != Some(number) {
                numbers.push(*number);
            }
        }
        if !is_sorted {
            numbers.sort_unstable();
            numbers.dedup();
        }
        Self { interval, of_value, is_sorted, numbers }
    }
}
