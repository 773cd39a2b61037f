//! Saying what a project is, and what is to be calculated.

use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Op, Placement, Query};

use super::catalog::{Calculations, Dimension, Part, Writing};
use super::project::{Use, next_generation};
use super::state::{self, State};
use super::{CalculationError, Change, Declaration, DimensionPath, KeyPath, PartName, Project};
use crate::Result;

/// How far a declaration is worked in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

/// A dimension and what is declared for it.
#[derive(Clone, Debug)]
pub struct DimensionView {
    pub declaration: Declaration,
    pub keys: u64,
    /// Of keys, while a change of the declaration reaches them.
    pub building: Option<Progress>,
}

/// A key and what is calculated for it.
#[derive(Clone, Debug)]
pub struct KeyView {
    /// What is declared for the key itself.
    pub own: Declaration,
    /// What is calculated, its dimension's declaration included.
    pub effective: Declaration,
    pub values: u64,
    /// Of values, while a declaration is worked in.
    pub building: Option<Progress>,
}

/// What a write does, and whether what it is about is new.
#[derive(Debug)]
pub struct Declared {
    pub writing: Writing,
    pub is_new: bool,
}

impl Calculations {
    /// What makes a project so.
    pub async fn declare_project(
        &self,
        account: Account,
        name: &PartName,
        settings: &Project,
        now_ms: u64,
    ) -> Result<Declared> {
        self.again(|| async {
            let found = self.find_project(account, name).await?;
            let is_new = found.record.is_none();
            let mut writing = Writing::default();
            let old = found.says.clone().unwrap_or_else(Project::standard);
            if old.used == Use::Used && old.calendar.zone() != settings.calendar.zone() {
                let zone = old.calendar.zone().to_owned();
                return Err(CalculationError::HasValues { project: name.to_string(), zone }.into());
            }
            let is_same = old.gaps == settings.gaps && old.calendar.zone() == settings.calendar.zone();
            let generation = if is_same && !is_new { old.generation } else { next_generation(old.generation, now_ms) };
            let project = Project { used: old.used, generation, ..settings.clone() };
            let key = self.project_keys(name).record();
            let batch = Batch::new()
                .guard(Guard::Value { key: key.clone(), is: found.record })
                .op(Op::Set { key, value: project.write() });
            let mut before = if is_new { self.new_project(name) } else { Vec::new() };
            if !is_same && !is_new {
                // What a gap counts as changes every result of every key.
                let dimensions = self.all_dimensions(account, name).await?;
                before.push(self.work_for(dimensions.iter().map(ToString::to_string), now_ms));
            }
            self.precede(account, before, &mut writing).await?;
            writing.parts.push(Part { tag: name.to_string(), batch });
            Ok(Declared { writing, is_new })
        })
        .await
    }

    /// What declares calculations for every key of a dimension.
    pub async fn declare_dimension(
        &self,
        account: Account,
        path: &DimensionPath,
        change: impl Fn(Declaration) -> Result<Declaration, CalculationError>,
        now_ms: u64,
    ) -> Result<(Declared, Declaration)> {
        self.again(|| async {
            let (project, found) =
                (self.find_project(account, &path.project).await?, self.find_dimension(account, path).await?);
            let (mut writing, mut before) = (Writing::default(), Vec::new());
            self.ensure_project(&path.project, project.record.as_ref(), now_ms, &mut before);
            let old = found.says.unwrap_or_default();
            let declaration = change(old.declaration)?;
            let is_new = found.record.is_none();
            let dimension = Dimension { generation: next_generation(old.generation, now_ms), declaration };
            if is_new {
                before.extend(self.new_dimension(path, &Dimension { generation: dimension.generation - 1, ..old }));
            }
            let key = self.dimension_keys(path).record();
            // Just listed where that had to come first.
            let is = match (is_new, self.placement()) {
                (true, Placement::ByTag) => Some(Dimension { generation: dimension.generation - 1, ..old }.write()),
                _ => found.record,
            };
            let mut batch = Batch::new().op(Op::Set { key: key.clone(), value: dimension.write() });
            if !(is_new && self.placement() == Placement::Together) {
                batch.guards.push(Guard::Value { key, is });
                before.push(self.work_for(std::iter::once(path.to_string()), now_ms));
            }
            self.precede(account, before, &mut writing).await?;
            writing.parts.push(Part { tag: path.to_string(), batch });
            Ok((Declared { writing, is_new }, declaration))
        })
        .await
    }

    /// What declares calculations for one key. To be followed by [`Calculations::settle`].
    pub async fn declare_key(
        &self,
        account: Account,
        path: &KeyPath,
        change: impl Fn(Declaration) -> Result<Declaration, CalculationError>,
        now_ms: u64,
    ) -> Result<(Declared, Declaration, Declaration)> {
        self.again(|| async {
            let standing = self.standing(account, path).await?;
            let (mut writing, mut before) = (Writing::default(), Vec::new());
            let project = self.ensure_project(&path.project, standing.project.record.as_ref(), now_ms, &mut before);
            let dimension = standing.dimension.says.unwrap_or_else(|| {
                let dimension = Dimension { generation: now_ms, ..Dimension::default() };
                before.extend(self.new_dimension(&path.dimension(), &dimension));
                dimension
            });
            let is_new = standing.key.says.is_none();
            if is_new {
                before.push(self.new_keys(&path.dimension(), vec![Atom::from(path.key.as_str())]));
            }
            let old = standing.key.says.clone().unwrap_or_else(State::empty);
            let project = standing.project.says.as_ref().map_or(project, |project| project.generation);
            let basis = state::Basis { project, dimension: dimension.generation };
            let own = change(old.own)?;
            let mut state = old.declared(basis, dimension.declaration, own);
            state.version += 1;
            let keys = self.keys(path);
            let mut batch = Batch::new()
                .guard(Guard::Value { key: keys.record(), is: standing.key.record })
                .op(Op::Set { key: keys.record(), value: state.write() })
                .op(Op::Delete { key: keys.building() });
            batch.ops.extend(state::shown(&keys, standing.key.says.as_ref(), &state));
            before.push(self.pending(vec![(Atom::from(path.to_string()), now_ms as f64)]));
            self.precede(account, before, &mut writing).await?;
            let change =
                Change { path: std::sync::Arc::new(path.clone()), from: old.version, to: state.version, numbers: None };
            writing.changes.push(change);
            writing.parts.push(Part { tag: Self::tag(path), batch });
            Ok((Declared { writing, is_new }, own, state.effective))
        })
        .await
    }

    pub async fn dimension_view(&self, account: Account, path: &DimensionPath) -> Result<DimensionView> {
        self.project(account, &path.project).await?;
        let found = self.find_dimension(account, path).await?.says;
        let dimension = found.ok_or_else(|| CalculationError::UnknownDimension(path.clone()))?;
        let keys = self.dimension_keys(path);
        let len = self.ask_one(account, Query::SortedLen { key: keys.key_index() }).await?.count()?;
        let building = self.progress(account, keys.building()).await?;
        Ok(DimensionView { declaration: dimension.declaration, keys: len, building })
    }

    pub async fn key_view(&self, account: Account, path: &KeyPath) -> Result<KeyView> {
        let standing = self.standing(account, path).await?;
        let state = standing.there(path)?;
        let keys = self.keys(path);
        let values = self.ask_one(account, Query::HashLen { key: keys.values() }).await?.count()?;
        let building = self.key_progress(account, path).await?;
        let is_behind = !state.unready().is_empty();
        let building = building.or(is_behind.then_some(Progress { done: 0, total: values }));
        Ok(KeyView { own: state.own, effective: state.own.with(&standing.inherited()), values, building })
    }

    /// How far the key's values are worked into what was declared later.
    pub(super) async fn key_progress(&self, account: Account, path: &KeyPath) -> Result<Option<Progress>> {
        self.progress(account, self.keys(path).building()).await
    }

    pub(super) async fn progress(&self, account: Account, key: tickmark_store::Key) -> Result<Option<Progress>> {
        let fields = vec![Atom::from("done"), Atom::from("total")];
        let values = self.ask_one(account, Query::HashGetMany { key, fields }).await?.values()?;
        let number =
            |index: usize| values.get(index).cloned().flatten()?.as_int().and_then(|int| u64::try_from(int).ok());
        Ok(number(0).zip(number(1)).map(|(done, total)| Progress { done, total }))
    }

    /// Says that something is to be brought up to date.
    pub(super) fn work_for(&self, members: impl Iterator<Item = String>, due_ms: u64) -> Batch {
        let members: Vec<_> = members.map(|member| (Atom::from(member), due_ms as f64)).collect();
        if members.is_empty() {
            return Batch::new();
        }
        Batch::new().op(Op::SortedAdd { key: self.account_keys().work(), when: AddWhen::Always, members })
    }

    /// Creates a project where there is none. Answers its generation.
    fn ensure_project(&self, name: &PartName, record: Option<&Atom>, now_ms: u64, before: &mut Vec<Batch>) -> u64 {
        let generation = next_generation(0, now_ms);
        if record.is_none() {
            let key = self.project_keys(name).record();
            let project = Project { generation, ..Project::standard() };
            before.push(
                Batch::new()
                    .guard(Guard::Value { key: key.clone(), is: None })
                    .op(Op::Set { key, value: project.write() }),
            );
            before.extend(self.new_project(name));
        }
        generation
    }
}
