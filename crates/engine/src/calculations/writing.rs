//! Keeping values: what is stored, what that changes in the totals, and nothing else.
//!
//! What is read and written depends on the values that come, never on those that are there: the stored value of each instant
//! (only of those that may be stored already, up to the key's newest), and the totals of the intervals they fall into.

use std::collections::HashMap;

use tickmark_stats::{Interval, Timestamp, WallClock};
use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Key, Op, Placement, Query, Reply};

use super::catalog::{Calculations, Dimension, Found, Part, Writing, foreign, found};
use super::keys::{Keys, PROJECTS};
use super::outcome::number;
use super::project::{Use, next_generation};
use super::state::{self, State};
use super::total::Total;
use super::values::{Slot, Values};
use super::{Change, DimensionPath, PartName, Project};
use crate::Result;

/// A key's part of a request, as far as it is worked out.
struct Draft<'a> {
    slot: &'a Slot,
    keys: Keys,
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

/// Totals as they will be, and of which intervals.
type Changed = (Vec<(Atom, Atom)>, Vec<i64>);

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

impl Calculations {
    /// What keeps these values. Projects, dimensions and keys that are not there yet come to be.
    pub async fn keep(&self, account: Account, values: &Values, now_ms: u64) -> Result<Writing> {
        self.again(|| self.kept(account, values, now_ms)).await
    }

    async fn kept(&self, account: Account, values: &Values, now_ms: u64) -> Result<Writing> {
        let mut writing = Writing::default();
        if values.slots.is_empty() {
            return Ok(writing);
        }
        let known = self.known(account, values).await?;
        let grounds = self.grounds(account, values, &known, now_ms, &mut writing).await?;
        let mut clock = values.settings.calendar.wall_clock();
        let drafts: Vec<_> = values
            .slots
            .iter()
            .zip(known.keys)
            .map(|(slot, old)| {
                let dimension = grounds.dimensions[&slot.path.dimension];
                Draft::new(self.keys(&slot.path), slot, old, (grounds.generation, dimension), &mut clock)
            })
            .collect();
        let queries = drafts.iter().flat_map(Draft::queries).collect();
        let mut replies = self.ask(account, queries).await?.into_iter();
        let mut marks = Vec::new();
        for draft in drafts {
            let tag = match self.placement() {
                Placement::Together => String::new(),
                Placement::ByTag => draft.keys.tag().to_owned(),
            };
            let mark = Atom::from(draft.keys.tag());
            let (batch, change) = draft.batch(&mut replies)?;
            if let Some(change) = change {
                marks.push((mark, now_ms as f64));
                writing.changes.push(change);
            }
            writing.parts.push(Part { tag, batch });
        }
        let pending = self.pending(marks);
        self.precede(account, vec![pending], &mut writing).await?;
        Ok(writing)
    }

    /// Says that the results of keys are older than their values.
    pub(super) fn pending(&self, members: Vec<(Atom, f64)>) -> Batch {
        if members.is_empty() {
            return Batch::new();
        }
        Batch::new().op(Op::SortedAdd { key: self.account_keys().pending(), when: AddWhen::IfNew, members })
    }

    /// Everything that is known of what the values are for, of one moment.
    async fn known<'a>(&self, account: Account, values: &'a Values) -> Result<Known<'a>> {
        let mut names: Vec<&PartName> = values.slots.iter().map(|slot| &slot.path.dimension).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        let path = |name: &PartName| DimensionPath { project: values.project.clone(), dimension: name.clone() };
        let project_key = self.project_keys(&values.project).record();
        let dimension_keys: Vec<_> = names.iter().map(|name| self.dimension_keys(&path(name)).record()).collect();
        let key_keys: Vec<_> = values.slots.iter().map(|slot| self.keys(&slot.path).record()).collect();
        let all = std::iter::once(&project_key).chain(&dimension_keys).chain(&key_keys);
        let mut replies =
            self.ask(account, all.map(|key| Query::Get { key: key.clone() }).collect()).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Reply::Value(None));
        let project = found(&project_key, next(), Project::read)?;
        let of_name = |(name, key)| Ok((name, found(key, next(), Dimension::read)?));
        let dimensions = names.into_iter().zip(&dimension_keys).map(of_name).collect::<Result<_>>()?;
        let keys = key_keys.iter().map(|key| found(key, next(), State::read)).collect::<Result<_>>()?;
        Ok(Known { project, dimensions, keys })
    }

    /// Sees to it that the project and the dimensions are there and everything new is listed.
    async fn grounds<'a>(
        &self,
        account: Account,
        values: &'a Values,
        known: &Known<'a>,
        now_ms: u64,
        writing: &mut Writing,
    ) -> Result<Grounds<'a>> {
        let mut before = Vec::new();
        let mut new_keys: HashMap<&PartName, Vec<Atom>> = HashMap::new();
        for (slot, key) in values.slots.iter().zip(&known.keys) {
            if key.says.is_none() {
                new_keys.entry(&slot.path.dimension).or_default().push(Atom::from(slot.path.key.as_str()));
            }
        }
        let generation = self.use_project(&known.project, values, now_ms, &mut before, !new_keys.is_empty())?;
        let dimensions = known.dimensions.iter().map(|(name, found)| {
            let path = DimensionPath { project: values.project.clone(), dimension: (*name).clone() };
            let dimension = found.says.unwrap_or_else(|| {
                let dimension = Dimension { generation: now_ms, ..Dimension::default() };
                before.extend(self.new_dimension(&path, &dimension));
                dimension
            });
            if let Some(keys) = new_keys.remove(name) {
                before.push(self.new_keys(&path, keys));
            }
            (*name, dimension)
        });
        let dimensions = dimensions.collect();
        self.precede(account, before, writing).await?;
        Ok(Grounds { generation, dimensions })
    }

    /// Marks a project as used, so that its zone stays. Answers its generation.
    fn use_project(
        &self,
        project: &Found<Project>,
        values: &Values,
        now_ms: u64,
        before: &mut Vec<Batch>,
        has_new_keys: bool,
    ) -> Result<u64> {
        let says = project.says.clone().unwrap_or_else(Project::standard);
        if says.calendar.zone() != values.settings.calendar.zone() {
            // Changed since the body was read by the clocks of the other zone, while the project was empty.
            return Err(tickmark_store::Error::GuardFailed { index: 0 }.into());
        }
        let key = self.project_keys(&values.project).record();
        let guard = Guard::Value { key: key.clone(), is: project.record.clone() };
        if project.record.is_some() && says.used == Use::Used {
            if has_new_keys && self.placement() == Placement::Together {
                before.push(Batch::new().guard(guard));
            }
            return Ok(says.generation);
        }
        let generation = if project.record.is_some() { says.generation } else { next_generation(0, now_ms) };
        let used = Project { used: Use::Used, generation, ..says };
        before.push(Batch::new().guard(guard).op(Op::Set { key, value: used.write() }));
        if project.record.is_none() {
            before.extend(self.new_project(&values.project));
        }
        Ok(generation)
    }

    /// Lists a project.
    pub(super) fn new_project(&self, project: &PartName) -> Vec<Batch> {
        let (keys, name) = (self.account_keys(), Atom::from(project.as_str()));
        vec![
            Batch::new().op(Op::SetAdd { key: Key::from(PROJECTS), members: vec![name.clone()] }),
            Batch::new().op(listed(keys.project_index(), vec![name])),
        ]
    }

    /// Keeps and lists a dimension.
    pub(super) fn new_dimension(&self, path: &DimensionPath, dimension: &Dimension) -> Vec<Batch> {
        let keys = self.project_keys(&path.project);
        let (name, record) = (Atom::from(path.dimension.as_str()), self.dimension_keys(path).record());
        vec![
            Batch::new()
                .op(Op::SetAdd { key: keys.dimensions(), members: vec![name.clone()] })
                .op(listed(keys.dimension_index(), vec![name])),
            Batch::new()
                .guard(Guard::Value { key: record.clone(), is: None })
                .op(Op::Set { key: record, value: dimension.write() }),
        ]
    }

    /// Lists keys.
    pub(super) fn new_keys(&self, path: &DimensionPath, names: Vec<Atom>) -> Batch {
        let keys = self.dimension_keys(path);
        Batch::new().op(Op::SetAdd { key: keys.keys(), members: names.clone() }).op(listed(keys.key_index(), names))
    }
}

/// What was read before anything is planned.
struct Known<'a> {
    project: Found<Project>,
    dimensions: Vec<(&'a PartName, Found<Dimension>)>,
    /// In the order of the values.
    keys: Vec<Found<State>>,
}

struct Grounds<'a> {
    /// Of the project.
    generation: u64,
    dimensions: HashMap<&'a PartName, Dimension>,
}

impl<'a> Draft<'a> {
    fn new(
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

    fn queries(&self) -> Vec<Query> {
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
    fn batch(self, replies: &mut impl Iterator<Item = Reply>) -> Result<(Batch, Option<Change>)> {
        let mut next = || replies.next().unwrap_or(Reply::Values(Vec::new())).values();
        let stored = if self.known > 0 { self.stored(next()?)? } else { Vec::new() };
        let mut batch = Batch::new();
        let is_changed = |index: usize| stored.get(index).copied().flatten() != Some(self.slot.values[index].1);
        let changed: Vec<usize> = (0..self.slot.values.len()).filter(|index| is_changed(*index)).collect();
        let mut numbers = Vec::with_capacity(self.touched.len());
        for touched in &self.touched {
            let totals = next()?;
            if !changed.is_empty() {
                let (fields, changed) = self.totals(touched, totals, &stored, is_changed)?;
                batch.push(Op::HashSet { key: self.keys.totals(touched.interval), fields });
                numbers.push((touched.interval, changed));
            }
        }
        if changed.is_empty() && self.old.says.as_ref() == Some(&self.state) {
            return Ok((batch, None));
        }
        let Self { slot, keys, old, mut state, mut fields, .. } = self;
        let from = state.version;
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
        batch.push(Op::Set { key: record.clone(), value: state.write() });
        let is_same = old.says.as_ref().is_some_and(|old| old.effective == state.effective && old.basis == state.basis);
        batch.guards.push(Guard::Value { key: record, is: old.record });
        let change = Change { path: slot.path.clone(), from, to: state.version, numbers: is_same.then_some(numbers) };
        Ok((batch, Some(change)))
    }

    fn stored(&self, values: Vec<Option<Atom>>) -> Result<Vec<Option<f64>>> {
        let read = |value: Option<Atom>| match value {
            None => Ok(None),
            Some(atom) => match super::reading::value_of(&atom) {
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
        totals: Vec<Option<Atom>>,
        stored: &[Option<f64>],
        is_changed: impl Fn(usize) -> bool,
    ) -> Result<Changed> {
        let key = self.keys.totals(touched.interval);
        let read = |atom: &Atom| Total::read(atom).ok_or_else(|| foreign(&key, atom));
        let mut order: Vec<usize> = (0..touched.of_value.len()).collect();
        if !touched.is_sorted {
            order.sort_by_key(|index| touched.of_value[*index]);
        }
        let (mut fields, mut numbers) = (Vec::with_capacity(touched.numbers.len()), Vec::new());
        let mut deltas = Vec::new();
        for (run, total) in
            order.chunk_by(|left, right| touched.of_value[*left] == touched.of_value[*right]).zip(totals)
        {
            deltas.clear();
            let mut total = total.as_ref().map_or(Ok(Total::default()), read)?;
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
        }
        Ok((fields, numbers))
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

/// Adds to what is listed in order.
pub(super) fn listed(key: Key, names: Vec<Atom>) -> Op {
    let members = names.into_iter().map(|name| (name, 0.0)).collect();
    Op::SortedAdd { key, when: AddWhen::IfNew, members }
}
