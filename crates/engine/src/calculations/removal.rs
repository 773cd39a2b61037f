//! Taking away a key, a dimension or a project, with everything that is kept for it.
//!
//! Which keys of the store belong to a key is known from its name alone, so nothing is searched. A dimension's keys go one by
//! one before the dimension itself does: cut off half-way, what is left is still listed, and removing again takes the rest.

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Key, Op, Placement};

use super::catalog::{Calculations, Part, Writing};
use super::keys::PROJECTS;
use super::{CalculationError, DimensionPath, KeyPath, PartName};
use crate::{Error, Result};

const KEYS_PAGE: u32 = 500;

impl Calculations {
    /// What takes a key away. To be followed by [`Calculations::unlist_key`].
    pub async fn removal_of_key(&self, account: Account, path: &KeyPath) -> Result<Writing> {
        let standing = self.standing(account, path).await?;
        standing.there(path)?;
        let keys = self.keys(path);
        let mut batch = Batch::new().guard(Guard::Value { key: keys.record(), is: standing.key.record.clone() });
        batch.ops.extend(keys.all().into_iter().map(|key| Op::Delete { key }));
        if self.placement() == Placement::Together {
            batch.ops.extend(self.unlisting(path).into_iter().flat_map(|batch| batch.ops));
        }
        let mut writing = Writing::default();
        writing.parts.push(Part { tag: Self::tag(path), batch });
        Ok(writing)
    }

    /// Takes a removed key off the lists, where that could not be done together with it.
    pub async fn unlist_key(&self, account: Account, path: &KeyPath) -> Result<()> {
        if self.placement() == Placement::Together {
            return Ok(());
        }
        for batch in self.unlisting(path) {
            self.store.commit(account, batch).await?;
        }
        // Created anew meanwhile, it must be listed.
        if self.standing(account, path).await?.key.says.is_some() {
            let name = vec![Atom::from(path.key.as_str())];
            self.store.commit(account, self.new_keys(&path.dimension(), name)).await?;
        }
        Ok(())
    }

    fn unlisting(&self, path: &KeyPath) -> Vec<Batch> {
        let (keys, own) = (self.dimension_keys(&path.dimension()), self.account_keys());
        let (name, mark) = (vec![Atom::from(path.key.as_str())], vec![Atom::from(path.to_string())]);
        vec![
            Batch::new()
                .op(Op::SetRemove { key: keys.keys(), members: name.clone() })
                .op(Op::SortedRemove { key: keys.key_index(), members: name }),
            Batch::new().op(Op::SortedRemove { key: own.pending(), members: mark.clone() }),
            Batch::new().op(Op::SortedRemove { key: own.work(), members: mark }),
        ]
    }

    /// Takes away all keys of a dimension. To be followed by [`Calculations::removal_of_dimension`].
    pub async fn empty_dimension(&self, account: Account, path: &DimensionPath) -> Result<()> {
        self.dimension_view(account, path).await?;
        loop {
            let page = self.keys_of(account, path, "", None, KEYS_PAGE).await?;
            if page.names.is_empty() {
                return Ok(());
            }
            for key in page.names {
                self.remove_key(account, &path.key(key)).await?;
            }
        }
    }

    async fn remove_key(&self, account: Account, path: &KeyPath) -> Result<()> {
        loop {
            let batch = match self.removal_of_key(account, path).await {
                Ok(writing) => writing.parts.into_iter().map(|part| part.batch).next().unwrap_or_default(),
                // Listed, but never written.
                Err(Error::Calculation(CalculationError::UnknownKey(_))) => {
                    for batch in self.unlisting(path) {
                        self.store.commit(account, batch).await?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            match self.store.commit(account, batch).await {
                Ok(_) => return self.unlist_key(account, path).await,
                Err(StoreError::GuardFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What takes an empty dimension away.
    pub async fn removal_of_dimension(&self, account: Account, path: &DimensionPath) -> Result<Writing> {
        self.dimension_view(account, path).await?;
        let (keys, of_project) = (self.dimension_keys(path), self.project_keys(&path.project));
        let name = vec![Atom::from(path.dimension.as_str())];
        let mut writing = Writing::default();
        let unlist = Batch::new()
            .op(Op::SetRemove { key: of_project.dimensions(), members: name.clone() })
            .op(Op::SortedRemove { key: of_project.dimension_index(), members: name });
        let mark = vec![Atom::from(path.to_string())];
        let work = Batch::new().op(Op::SortedRemove { key: self.account_keys().work(), members: mark });
        self.precede(account, vec![unlist, work], &mut writing).await?;
        let gone = [keys.record(), keys.keys(), keys.key_index(), keys.building()];
        let batch = Batch::from(gone.map(|key| Op::Delete { key }).to_vec());
        writing.parts.push(Part { tag: path.to_string(), batch });
        Ok(writing)
    }

    /// Takes away all dimensions of a project. To be followed by [`Calculations::removal_of_project`].
    pub async fn empty_project(&self, account: Account, name: &PartName) -> Result<()> {
        self.project(account, name).await?;
        for path in self.all_dimensions(account, name).await? {
            match self.empty_dimension(account, &path).await {
                Ok(()) => {}
                // Listed, but never written.
                Err(Error::Calculation(CalculationError::UnknownDimension(_))) => {
                    let key = self.project_keys(name).dimension_index();
                    let members = vec![Atom::from(path.dimension.as_str())];
                    self.store.commit(account, Batch::new().op(Op::SortedRemove { key, members })).await?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            let writing = self.removal_of_dimension(account, &path).await?;
            for part in writing.parts {
                self.store.commit(account, part.batch).await?;
            }
        }
        Ok(())
    }

    /// What takes an empty project away.
    pub async fn removal_of_project(&self, account: Account, name: &PartName) -> Result<Writing> {
        self.project(account, name).await?;
        let (keys, all) = (self.project_keys(name), self.account_keys());
        let members = vec![Atom::from(name.as_str())];
        let mut writing = Writing::default();
        let unlist = vec![
            Batch::new().op(Op::SetRemove { key: Key::from(PROJECTS), members: members.clone() }),
            Batch::new().op(Op::SortedRemove { key: all.project_index(), members }),
        ];
        self.precede(account, unlist, &mut writing).await?;
        let gone = [
            keys.record(),
            keys.dimensions(),
            keys.dimension_index(),
            keys.rules(),
            keys.alert_index(),
            keys.alerts(),
            keys.deliveries(),
        ];
        let batch = Batch::from(gone.map(|key| Op::Delete { key }).to_vec());
        writing.parts.push(Part { tag: name.to_string(), batch });
        Ok(writing)
    }
}
