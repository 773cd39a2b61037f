//! Keeping values: what is stored, what that changes in the totals, and nothing else.
//!
//! What is read and written depends on the values that come, never on those that are there: the stored value of each instant
//! (only of those that may be stored already, up to the key's newest), and the totals of the intervals they fall into.

use std::collections::HashMap;
use std::sync::Arc;

use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Key, Op, Placement, Query, Reply};

use super::catalog::{Calculations, Dimension, Found, Part, Writing, found};
use super::draft::Draft;
use super::keys::PROJECTS;
use super::memory::{Recalled, Remembered};
use super::project::{Use, next_generation};
use super::state::{Basis, State};
use super::values::Values;
use super::{DimensionPath, PartName, Project};
use crate::Result;

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
            let path = draft.path();
            let drafted = draft.batch(&mut replies)?;
            self.memory.put(account, path, drafted.remembered);
            if let Some(change) = drafted.change {
                marks.push((mark, now_ms as f64));
                writing.changes.push(change);
            }
            writing.parts.push(Part { tag, batch: drafted.batch });
        }
        let pending = self.pending(marks);
        self.precede(account, vec![pending], &mut writing).await?;
        Ok(writing)
    }

    /// The same from memory, nothing of the keys being read: for values that are newer than all there are. What is remembered
    /// may not be written yet, as long as it was handed to the store before. `None` where it does not say enough.
    pub async fn keep_recalled(
        &self,
        account: Account,
        values: &Values,
        recalled: Recalled,
        now_ms: u64,
    ) -> Result<Option<Writing>> {
        let known = self.known_of(account, values, &[]).await?;
        let (Some(project), mut writing) = (known.project.says, Writing::default()) else { return Ok(None) };
        let dimensions: HashMap<_, _> =
            known.dimensions.into_iter().filter_map(|(name, found)| Some((name, found.says?))).collect();
        let mut clock = values.settings.calendar.wall_clock();
        let mut marks = Vec::with_capacity(values.slots.len());
        for (slot, Remembered { record, state, last }) in values.slots.iter().zip(recalled.keys) {
            let Some(dimension) = dimensions.get(&slot.path.dimension) else { return Ok(None) };
            let basis = Basis { project: project.generation, dimension: dimension.generation };
            if state.basis != basis || project.calendar.zone() != values.settings.calendar.zone() {
                return Ok(None);
            }
            let old = Found { record: Some(record), says: Some(state) };
            let draft = Draft::new(self.keys(&slot.path), slot, old, (project.generation, *dimension), &mut clock);
            let mark = Atom::from(draft.keys.tag());
            let Some(drafted) = draft.appended(last) else { return Ok(None) };
            self.memory.put(account, Arc::clone(&slot.path), drafted.remembered);
            marks.push((mark, now_ms as f64));
            writing.changes.extend(drafted.change);
            writing.parts.push(Part { tag: String::new(), batch: drafted.batch });
        }
        writing.parts.push(Part { tag: String::new(), batch: self.pending(marks) });
        Ok(Some(writing))
    }

    /// What is remembered of the keys of these values, if it is enough to keep them.
    pub fn recall(&self, account: Account, values: &Values) -> Option<Recalled> {
        match self.placement() {
            Placement::Together => self.memory.take(account, values),
            // Parts are written one after the other there, so what was planned is not what comes next.
            Placement::ByTag => None,
        }
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
        let keys: Vec<_> = values.slots.iter().map(|slot| self.keys(&slot.path).record()).collect();
        self.known_of(account, values, &keys).await
    }

    async fn known_of<'a>(&self, account: Account, values: &'a Values, key_keys: &[Key]) -> Result<Known<'a>> {
        let mut names: Vec<&PartName> = values.slots.iter().map(|slot| &slot.path.dimension).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        let path = |name: &PartName| DimensionPath { project: values.project.clone(), dimension: name.clone() };
        let project_key = self.project_keys(&values.project).record();
        let dimension_keys: Vec<_> = names.iter().map(|name| self.dimension_keys(&path(name)).record()).collect();
        let all = std::iter::once(&project_key).chain(&dimension_keys).chain(key_keys);
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

/// Adds to what is listed in order.
pub(super) fn listed(key: Key, names: Vec<Atom>) -> Op {
    let members = names.into_iter().map(|name| (name, 0.0)).collect();
    Op::SortedAdd { key, when: AddWhen::IfNew, members }
}
