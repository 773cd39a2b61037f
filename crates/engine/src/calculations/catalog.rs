//! The projects of a store: reading their records, and the shape that every write to them has.

use std::sync::Arc;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Key, Placement, Query, Reply, Store};

use super::keys::{AccountKeys, DimensionKeys, Keys, ProjectKeys};
use super::memory::Memory;
use super::state::State;
use super::{CalculationError, Change, Declaration, DimensionPath, KeyPath, PartName, Project};
use crate::{Error, Result};

/// The projects in a store.
#[derive(Debug)]
pub struct Calculations {
    pub(super) store: Arc<dyn Store>,
    pub(super) memory: Memory,
}

/// What keeps a request: a part a key. A store that is in one place is best given all of them in one batch.
#[derive(Debug, Default)]
pub struct Writing {
    pub parts: Vec<Part>,
    /// What the results do not show yet, once this is written.
    pub changes: Vec<Change>,
}

/// Operations under one tag.
#[derive(Debug)]
pub struct Part {
    pub tag: String,
    pub batch: Batch,
}

/// A record and what it says; neither where there is none.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub(super) record: Option<Atom>,
    pub(super) says: Option<T>,
}

/// What is declared for a dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) generation: u64,
    pub(super) declaration: Declaration,
}

/// A project, a dimension and a key, read at one moment.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) project: Found<Project>,
    pub(super) dimension: Found<Dimension>,
    pub(super) key: Found<State>,
}

impl Calculations {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, memory: Memory::default() }
    }

    /// The settings of a project; those of one that nobody declared, where there is none.
    pub async fn project_or_standard(&self, account: Account, name: &PartName) -> Result<Project> {
        Ok(self.find_project(account, name).await?.says.unwrap_or_else(Project::standard))
    }

    pub async fn project(&self, account: Account, name: &PartName) -> Result<Project> {
        let found = self.find_project(account, name).await?.says;
        Ok(found.ok_or_else(|| CalculationError::UnknownProject(name.to_string()))?)
    }

    /// The tags of the parts that [`Calculations::keep`] will make of these values, where that matters.
    pub fn tags(&self, values: &super::Values) -> Vec<String> {
        match self.placement() {
            Placement::Together => Vec::new(),
            Placement::ByTag => values.paths().map(KeyPath::joined).collect(),
        }
    }

    /// The tag of what belongs to a key.
    pub(super) fn tag(path: &KeyPath) -> String {
        path.joined()
    }

    pub(super) fn placement(&self) -> Placement {
        self.store.placement()
    }

    pub(super) fn account_keys(&self) -> AccountKeys {
        AccountKeys(self.placement())
    }

    pub(super) fn project_keys<'a>(&self, project: &'a PartName) -> ProjectKeys<'a> {
        ProjectKeys(self.placement(), project)
    }

    pub(super) fn dimension_keys(&self, path: &DimensionPath) -> DimensionKeys {
        DimensionKeys::of(self.placement(), path)
    }

    pub(super) fn keys(&self, path: &KeyPath) -> Keys {
        Keys::of(self.placement(), path)
    }

    pub(super) async fn ask(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        Ok(self.store.read(account, queries).await?)
    }

    pub(super) async fn ask_one(&self, account: Account, query: Query) -> Result<Reply> {
        let reply = self.ask(account, vec![query]).await?.pop();
        Ok(reply.ok_or_else(|| StoreError::Shape { wanted: "one reply", got: "none".into() })?)
    }

    pub(super) async fn find_project(&self, account: Account, name: &PartName) -> Result<Found<Project>> {
        let key = self.project_keys(name).record();
        let reply = self.ask_one(account, Query::Get { key: key.clone() }).await?;
        found(&key, reply, Project::read)
    }

    pub(super) async fn find_dimension(&self, account: Account, path: &DimensionPath) -> Result<Found<Dimension>> {
        let key = self.dimension_keys(path).record();
        let reply = self.ask_one(account, Query::Get { key: key.clone() }).await?;
        found(&key, reply, Dimension::read)
    }

    /// How a key stands.
    pub(super) async fn standing(&self, account: Account, path: &KeyPath) -> Result<Standing> {
        Ok(self.standing_and(account, path, Vec::new()).await?.0)
    }

    /// How a key stands, and what else is asked for.
    pub(super) async fn standing_and(
        &self,
        account: Account,
        path: &KeyPath,
        more: Vec<Query>,
    ) -> Result<(Standing, std::vec::IntoIter<Reply>)> {
        let keys = [
            self.project_keys(&path.project).record(),
            self.dimension_keys(&path.dimension()).record(),
            self.keys(path).record(),
        ];
        let queries = keys.iter().map(|key| Query::Get { key: key.clone() }).chain(more).collect();
        let mut replies = self.ask(account, queries).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Reply::Value(None));
        let standing = Standing {
            project: found(&keys[0], next(), Project::read)?,
            dimension: found(&keys[1], next(), Dimension::read)?,
            key: found(&keys[2], next(), State::read)?,
        };
        Ok((standing, replies))
    }

    /// Puts what lives elsewhere than a key with the rest, or, where it cannot be, writes it first: all of it is harmless
    /// without the rest, and the rest must not be without it.
    pub(super) async fn precede(&self, account: Account, before: Vec<Batch>, writing: &mut Writing) -> Result<()> {
        for batch in before.into_iter().filter(|batch| !batch.is_empty()) {
            match self.placement() {
                Placement::Together => writing.parts.push(Part { tag: String::new(), batch }),
                Placement::ByTag => {
                    self.store.commit(account, batch).await?;
                }
            }
        }
        Ok(())
    }

    /// Plans again as long as another writer was faster with what is written before the rest.
    pub(super) async fn again<T, F: Future<Output = Result<T>>>(&self, plan: impl Fn() -> F) -> Result<T> {
        const ATTEMPTS_MAX: usize = 20;
        for _ in 1..ATTEMPTS_MAX {
            match plan().await {
                Err(Error::Store(StoreError::GuardFailed { .. })) => {}
                planned => return planned,
            }
        }
        plan().await
    }
}

impl Standing {
    /// Whether a key is in line with the settings of its project and its dimension.
    pub(super) fn is_in_line(&self, state: &State) -> bool {
        state.basis == self.basis()
    }

    pub(super) fn basis(&self) -> super::state::Basis {
        super::state::Basis {
            project: self.project.says.as_ref().map_or(0, |project| project.generation),
            dimension: self.dimension.says.map_or(0, |dimension| dimension.generation),
        }
    }

    /// What the dimension declares.
    pub(super) fn inherited(&self) -> Declaration {
        self.dimension.says.unwrap_or_default().declaration
    }
}

impl Dimension {
    pub(super) fn write(&self) -> Atom {
        Atom::from(format!("{} {}", self.generation, self.declaration))
    }

    pub(super) fn read(atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        let (generation, declaration) = text.split_once(' ')?;
        Some(Self { generation: generation.parse().ok()?, declaration: Declaration::read(declaration)? })
    }
}

pub(super) fn found<T>(key: &Key, reply: Reply, read: impl Fn(&Atom) -> Option<T>) -> Result<Found<T>> {
    let record = reply.value()?;
    let says = match &record {
        None => None,
        Some(atom) => Some(read(atom).ok_or_else(|| foreign(key, atom))?),
    };
    Ok(Found { record, says })
}

/// What is not ours under a key that should be.
pub(super) fn foreign(key: &Key, atom: &Atom) -> Error {
    let excerpt: String = atom.to_string().chars().take(64).collect();
    Error::Record { key: key.to_string(), why: format!("{excerpt:?} is not what calculations keep there") }
}
