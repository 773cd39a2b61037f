//! What is left to do after a request was answered: large keys to build, declarations to carry to the keys of a dimension.
//!
//! Kept in the store, so that it is taken up again after a crash, by any server. Whoever takes something up leases it and renews the
//! lease as it goes; a lease that ran out is anyone's.

use std::ops::Bound;

use tickmark_store::{Account, AddWhen, Atom, Batch, Error as StoreError, Guard, Key, Op, Order, Query, ScoreRange};

use super::building::progress;
use super::catalog::Calculations;
use super::{CalculationError, DimensionPath, KeyPath, PartName};
use crate::{Error, Result};

/// How long something taken up is left alone without a sign of life.
pub const LEASE_MS: u64 = 15_000;
/// Where it is kept which accounts have projects.
const HOME: Account = Account(0);
/// Keys between two signs of life.
const KEYS_PAGE: u32 = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Key(KeyPath),
    Dimension(DimensionPath),
}

impl Calculations {
    /// Takes up something that is due, if anything is.
    pub async fn take_work(&self, account: Account, now_ms: u64) -> Result<Option<Work>> {
        let key = self.account_keys().work();
        let Some(member) = self.lease(account, &key, now_ms, LEASE_MS).await? else { return Ok(None) };
        let work = member.as_str().and_then(|text| Work::parse(&text));
        if work.is_none() {
            self.store.commit(account, Batch::new().op(Op::SortedRemove { key, members: vec![member] })).await?;
        }
        Ok(work)
    }

    /// Takes the first that is due of what is scored by when it may be taken up, and puts it off for everyone else.
    pub(super) async fn lease(&self, account: Account, key: &Key, now_ms: u64, lease_ms: u64) -> Result<Option<Atom>> {
        let Some((member, score)) = self.due(account, key, now_ms, 1).await?.pop() else { return Ok(None) };
        let leased = vec![(member.clone(), (now_ms + lease_ms) as f64)];
        let batch = Batch::new()
            .guard(Guard::Score { key: key.clone(), member: member.clone(), is: Some(score) })
            .op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members: leased });
        match self.store.commit(account, batch).await {
            Ok(_) => Ok(Some(member)),
            Err(StoreError::GuardFailed { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What has a score up to a time, the earliest first.
    async fn due(&self, account: Account, key: &Key, until_ms: u64, limit: u64) -> Result<Vec<(Atom, f64)>> {
        let range = ScoreRange { from: Bound::Unbounded, to: Bound::Included(until_ms as f64) };
        let query = Query::SortedRange { key: key.clone(), range, order: Order::Ascending, offset: 0, limit };
        Ok(self.ask_one(account, query).await?.scored()?)
    }

    /// Does what was taken up. `worker` is a name that nobody else has.
    pub async fn do_work(
        &self,
        account: Account,
        work: &Work,
        worker: &str,
        now_ms: &(dyn Fn() -> u64 + Send + Sync),
    ) -> Result<()> {
        let done = match work {
            Work::Key(path) => self.build(account, path, worker, now_ms).await,
            Work::Dimension(path) => self.spread(account, path, now_ms).await,
        };
        match done {
            // Done, or deleted meanwhile: there is nothing left to do.
            Ok(())
            | Err(Error::Calculation(
                CalculationError::UnknownProject(_)
                | CalculationError::UnknownDimension(_)
                | CalculationError::UnknownKey(_),
            )) => {}
            // Someone else does it now, or the declaration changed: it is tried again when the lease ends.
            Err(Error::Store(StoreError::GuardFailed { .. })) => {
                let again = self.work_for(std::iter::once(work.to_string()), now_ms());
                self.store.commit(account, again).await?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let op = Op::SortedRemove { key: self.account_keys().work(), members: vec![Atom::from(work.to_string())] };
        self.store.commit(account, Batch::new().op(op)).await?;
        if let Work::Key(path) = work
            && self.standing(account, path).await?.key.says.is_some_and(|state| !state.unready().is_empty())
        {
            // Declared while the last of it was written.
            let again = self.work_for(std::iter::once(work.to_string()), now_ms());
            self.store.commit(account, again).await?;
        }
        Ok(())
    }

    /// Keys whose results were marked as old before a time, the oldest first.
    pub async fn left_pending(&self, account: Account, before_ms: u64, limit: u64) -> Result<Vec<KeyPath>> {
        let members = self.due(account, &self.account_keys().pending(), before_ms, limit).await?;
        let work = members.iter().filter_map(|(member, _)| Work::parse(&member.as_str()?));
        Ok(work
            .filter_map(|work| match work {
                Work::Key(path) => Some(path),
                Work::Dimension(_) => None,
            })
            .collect())
    }

    /// Remembers that an account has projects, so that whoever starts later looks for what is left to do.
    pub async fn note_account(&self, account: Account) -> Result<()> {
        let members = vec![Atom::from(i64::from(account.0))];
        self.store.commit(HOME, Batch::new().op(Op::SetAdd { key: self.account_keys().accounts(), members })).await?;
        Ok(())
    }

    pub async fn noted_accounts(&self) -> Result<Vec<Account>> {
        let members = self.ask_one(HOME, Query::SetAll { key: self.account_keys().accounts() }).await?.members()?;
        let number = |member: &Atom| member.as_int().and_then(|int| u32::try_from(int).ok());
        Ok(members.iter().filter_map(number).map(Account).collect())
    }

    pub(super) async fn renew(&self, account: Account, member: &str, now_ms: u64) -> Result<()> {
        let batch = self.work_for(std::iter::once(member.to_owned()), now_ms + LEASE_MS);
        self.store.commit(account, batch).await?;
        Ok(())
    }

    /// Brings every key of a dimension in line with its declaration.
    async fn spread(
        &self,
        account: Account,
        path: &DimensionPath,
        now_ms: &(dyn Fn() -> u64 + Send + Sync),
    ) -> Result<()> {
        let keys = self.dimension_keys(path);
        let total = self.ask_one(account, Query::SortedLen { key: keys.key_index() }).await?.count()?;
        let (mut after, mut done) = (None, 0);
        loop {
            let page = self.keys_of(account, path, "", after.as_deref(), KEYS_PAGE).await?;
            for key in &page.names {
                match self.settle(account, &path.key(key.clone()), now_ms()).await {
                    // Listed, but its first value was never written.
                    Ok(_) | Err(Error::Calculation(CalculationError::UnknownKey(_))) => {}
                    Err(error) => return Err(error),
                }
            }
            done += page.names.len() as u64;
            let Some(next) = page.next else { break };
            let fields = progress(done.min(total), total);
            self.store.commit(account, Batch::new().op(Op::HashSet { key: keys.building(), fields })).await?;
            self.renew(account, &path.to_string(), now_ms()).await?;
            after = Some(next.as_str().to_owned());
        }
        self.store.commit(account, Batch::new().op(Op::Delete { key: keys.building() })).await?;
        Ok(())
    }
}

impl Work {
    fn parse(text: &str) -> Option<Self> {
        let names: Vec<_> = text.split(':').map(PartName::parse).collect::<Result<_, _>>().ok()?;
        match &names[..] {
            [project, dimension] => {
                Some(Self::Dimension(DimensionPath { project: project.clone(), dimension: dimension.clone() }))
            }
            [project, dimension, key] => {
                Some(Self::Key(KeyPath { project: project.clone(), dimension: dimension.clone(), key: key.clone() }))
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(path) => path.fmt(f),
            Self::Dimension(path) => path.fmt(f),
        }
    }
}
