//! Deleting a series: its counts, its declaration, its name.
//!
//! Which groups there are is not kept anywhere, because every write would have to keep it; they are found by scanning the
//! keys. (On Redis that walks all keys of the account, on the embedded store only these.) An event that comes between
//! the scan and the deletion may leave a group behind, so what is left afterwards is swept, under a guard that nobody has
//! declared the series anew.

use tickmark_store::{Account, AddWhen, Atom, Batch, Error as StoreError, Guard, Key, Op, Placement};

use super::SeriesName;
use super::catalog::Catalog;
use super::keys;
use super::writing::Writing;
use crate::Result;

/// Keys in one batch of a sweep.
const SWEEP_KEYS_MAX: usize = 100_000;
/// Keys deleted together with the declaration; a series with more has the rest swept afterwards.
const TOGETHER_KEYS_MAX: usize = 1_000_000;
const SCAN_LIMIT: u32 = 10_000;

impl Catalog {
    /// What deletes a series. To be followed by [`Catalog::sweep`].
    pub async fn removal(&self, account: Account, name: &SeriesName) -> Result<Writing> {
        let declared = self.get(account, name).await?;
        let keys = self.keys(name);
        let mut batch = Batch::new()
            .guard(Guard::Value { key: keys.declaration(), is: declared.record })
            .op(Op::Delete { key: keys.declaration() });
        let mut groups = self.groups(account, name).await?;
        groups.truncate(TOGETHER_KEYS_MAX);
        batch.ops.extend(groups.into_iter().map(|key| Op::Delete { key }));
        if self.placement() == Placement::Together {
            batch.ops.push(unlist(Placement::Together, name));
        }
        batch.ops.push(Op::Publish { channel: keys.channel(), message: Box::default() });
        let mut writing = Writing::default();
        writing.put(name, batch);
        Ok(writing)
    }

    /// Deletes what a deleted series left behind.
    pub async fn sweep(&self, account: Account, name: &SeriesName) -> Result<()> {
        if self.placement() == Placement::ByTag {
            self.store.commit(account, Batch::new().op(unlist(Placement::ByTag, name))).await?;
            // Declared anew meanwhile, it must be listed.
            if self.get(account, name).await.is_ok() {
                let members = vec![(Atom::from(name.as_str()), 0.0)];
                let op = Op::SortedAdd { key: keys::index(Placement::ByTag), when: AddWhen::IfNew, members };
                self.store.commit(account, Batch::new().op(op)).await?;
            }
        }
        let declaration = self.keys(name).declaration();
        for groups in self.groups(account, name).await?.chunks(SWEEP_KEYS_MAX) {
            let mut batch = Batch::new().guard(Guard::Value { key: declaration.clone(), is: None });
            batch.ops.extend(groups.iter().map(|key| Op::Delete { key: key.clone() }));
            match self.store.commit(account, batch).await {
                Ok(_) => {}
                Err(StoreError::GuardFailed { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn groups(&self, account: Account, name: &SeriesName) -> Result<Vec<Key>> {
        let keys = self.keys(name);
        let mut groups = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.store.scan(account, keys.prefix(), cursor, SCAN_LIMIT).await?;
            groups.extend(page.keys.into_iter().filter(|key| keys.owns(key)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        // A scan may show a key twice.
        groups.sort_unstable();
        groups.dedup();
        Ok(groups)
    }
}

fn unlist(placement: Placement, name: &SeriesName) -> Op {
    Op::SortedRemove { key: keys::index(placement), members: vec![Atom::from(name.as_str())] }
}
