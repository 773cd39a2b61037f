//! What there is: projects, dimensions, keys, and the values of a key.

use std::collections::BTreeMap;

use tickmark_stats::Timestamp;
use tickmark_store::{Account, Atom, Cursor, Error as StoreError, Key, Query, Reply};

use super::building::{BUILD_PAGE, read_values};
use super::catalog::Calculations;
use super::{CalculationError, DimensionPath, KeyPath, PartName};
use crate::Result;

/// A page of names, in order.
#[derive(Clone, Debug)]
pub struct Page {
    pub names: Vec<PartName>,
    /// The last of them, where there are more.
    pub next: Option<PartName>,
}

/// A page of values, in the order of time.
#[derive(Clone, Debug)]
pub struct ValuePage {
    pub values: Vec<(Timestamp, f64)>,
    /// Where the next page begins; none at the end.
    pub next: Option<Timestamp>,
}

impl Calculations {
    pub async fn projects(&self, account: Account, prefix: &str, after: Option<&str>, limit: u32) -> Result<Page> {
        self.names(account, self.account_keys().project_index(), prefix, after, limit).await
    }

    pub async fn dimensions(
        &self,
        account: Account,
        project: &PartName,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page> {
        self.project(account, project).await?;
        self.names(account, self.project_keys(project).dimension_index(), prefix, after, limit).await
    }

    pub async fn keys_listed(
        &self,
        account: Account,
        path: &DimensionPath,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page> {
        self.dimension_view(account, path).await?;
        self.keys_of(account, path, prefix, after, limit).await
    }

    pub(super) async fn keys_of(
        &self,
        account: Account,
        path: &DimensionPath,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page> {
        self.names(account, self.dimension_keys(path).key_index(), prefix, after, limit).await
    }

    pub(super) async fn all_dimensions(&self, account: Account, project: &PartName) -> Result<Vec<DimensionPath>> {
        const LIMIT: u32 = 1_000;
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let key = self.project_keys(project).dimension_index();
            let page = self.names(account, key, "", after.as_deref(), LIMIT).await?;
            let path = |dimension: PartName| DimensionPath { project: project.clone(), dimension };
            all.extend(page.names.into_iter().map(path));
            let Some(next) = page.next else { return Ok(all) };
            after = Some(next.as_str().to_owned());
        }
    }

    /// The values of a key from one instant to another, both included, in the order of time.
    ///
    /// The store keeps them in no order, so all are looked at; no more than a page is held.
    pub async fn values(
        &self,
        account: Account,
        path: &KeyPath,
        (from, to): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<ValuePage> {
        self.standing(account, path).await?.there(path)?;
        if from > to {
            return Err(CalculationError::FromAfterTo.into());
        }
        let (key, mut cursor) = (self.keys(path).values(), None);
        let limit = limit as usize;
        let mut earliest = BTreeMap::new();
        loop {
            let query = Query::HashScan { key: key.clone(), cursor, limit: BUILD_PAGE };
            let (fields, next): (_, Option<Cursor>) = match self.ask_one(account, query).await? {
                Reply::FieldPage { fields, next } => (fields, next),
                other => return Err(StoreError::Shape { wanted: "FieldPage", got: format!("{other:?}") }.into()),
            };
            for (at, value) in read_values(&key, fields)? {
                let at = Timestamp::from_micros(at);
                if (from..=to).contains(&at) {
                    earliest.insert(at, value);
                    if earliest.len() > limit + 1 {
                        earliest.pop_last();
                    }
                }
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let next = if earliest.len() > limit { earliest.pop_last().map(|(at, _)| at) } else { None };
        Ok(ValuePage { values: earliest.into_iter().collect(), next })
    }

    async fn names(&self, account: Account, key: Key, prefix: &str, after: Option<&str>, limit: u32) -> Result<Page> {
        let before = crate::name::before(prefix);
        let after = match (after, before) {
            (Some(after), Some(before)) => Some(before.max(after.as_bytes().to_vec())),
            (after, before) => after.map(|after| after.as_bytes().to_vec()).or(before),
        };
        let query = Query::SortedByMember { key, after: after.map(Atom::from), limit: u64::from(limit) + 1 };
        let members = self.ask_one(account, query).await?.members()?;
        let names = members.iter().map_while(|member| member.as_str().filter(|name| name.starts_with(prefix)));
        let mut names: Vec<_> = names.filter_map(|name| PartName::parse(&name).ok()).collect();
        let is_cut = names.len() > limit as usize;
        names.truncate(limit as usize);
        let next = names.last().filter(|_| is_cut).cloned();
        Ok(Page { names, next })
    }
}
