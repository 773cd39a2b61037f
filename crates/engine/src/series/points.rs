//! Reading buckets: every one of a stretch of time, empty ones as 0.

use tickmark_store::{Account, Atom, Query, Reply, ScoreRange};

use super::catalog::{Catalog, Declared};
use super::keys::Keys;
use super::{Granularity, Kind, Layout, SeriesError, SeriesName, Span};
use crate::Result;

/// A hash is asked for single fields where fewer than one in this many of its buckets are wanted.
const SPARSE: u64 = 4;

/// A stretch of time, in seconds since 1970; each end stands for its bucket, and both are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub from: i64,
    pub to: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Decimal(f64),
}

/// The buckets of a series in order.
#[derive(Clone, Debug)]
pub struct Points {
    pub kind: Kind,
    pub granularity: String,
    /// Each bucket's start and what was counted in it.
    pub points: Vec<(i64, Value)>,
}

impl Catalog {
    /// At most `max` points of a series.
    pub async fn points(
        &self,
        account: Account,
        name: &SeriesName,
        granularity: &str,
        range: Range,
        max: u64,
    ) -> Result<Points> {
        let declared = self.get(account, name).await?;
        let granularity = declared.find(name, granularity)?;
        let buckets = buckets(granularity, range, max)?;
        let kind = declared.declaration.kind();
        let values = self.values(account, &self.keys(name), kind, granularity, &buckets).await?;
        let points = buckets.into_iter().zip(values).collect();
        Ok(Points { kind, granularity: granularity.name().to_owned(), points })
    }

    /// The last buckets of a series, up to the one of `to`.
    pub async fn latest(
        &self,
        account: Account,
        name: &SeriesName,
        granularity: &str,
        to: i64,
        count: u64,
    ) -> Result<Points> {
        let declared = self.get(account, name).await?;
        let granularity = declared.find(name, granularity)?;
        let mut buckets = vec![granularity.floor(to)];
        while let Some(first) = buckets.last().filter(|_| (buckets.len() as u64) < count) {
            buckets.push(granularity.floor(first - 1));
        }
        buckets.reverse();
        let kind = declared.declaration.kind();
        let values = self.values(account, &self.keys(name), kind, granularity, &buckets).await?;
        let points = buckets.into_iter().zip(values).filter(|(bucket, _)| *bucket >= granularity.floor(0)).collect();
        Ok(Points { kind, granularity: granularity.name().to_owned(), points })
    }

    /// The values of buckets, which are in order.
    pub(super) async fn values(
        &self,
        account: Account,
        keys: &Keys,
        kind: Kind,
        granularity: &Granularity,
        buckets: &[i64],
    ) -> Result<Vec<Value>> {
        let key = |bucket: &i64| keys.group(granularity.name(), granularity.group(*bucket));
        let queries = match kind {
            Kind::Count(Layout::Hash) => return self.hash_values(account, keys, granularity, buckets).await,
            Kind::Count(Layout::String) => buckets.iter().map(|bucket| Query::Get { key: key(bucket) }).collect(),
            Kind::Unique => buckets
                .iter()
                .map(|bucket| {
                    let range = ScoreRange::inclusive(*bucket as f64, *bucket as f64);
                    Query::SortedCount { key: key(bucket), range }
                })
                .collect(),
            Kind::UniqueApprox => buckets.iter().map(|bucket| Query::HllCount { keys: vec![key(bucket)] }).collect(),
        };
        self.ask(account, queries).await?.into_iter().map(value).collect()
    }

    async fn hash_values(
        &self,
        account: Account,
        keys: &Keys,
        granularity: &Granularity,
        buckets: &[i64],
    ) -> Result<Vec<Value>> {
        let groups: Vec<&[i64]> = buckets.chunk_by(|a, b| granularity.group(*a) == granularity.group(*b)).collect();
        let queries = groups.iter().map(|group| {
            let key = keys.group(granularity.name(), granularity.group(group[0]));
            if is_sparse(granularity, group.len()) {
                Query::HashGetMany { key, fields: group.iter().map(|bucket| Atom::Int(*bucket)).collect() }
            } else {
                Query::HashAll { key }
            }
        });
        let replies = self.ask(account, queries.collect()).await?;
        let mut values = Vec::with_capacity(buckets.len());
        for (group, reply) in groups.into_iter().zip(replies) {
            let start = values.len();
            values.resize(start + group.len(), Value::Int(0));
            let found = &mut values[start..];
            match reply {
                Reply::Values(atoms) => {
                    atoms.iter().zip(found).for_each(|(atom, found)| *found = number(atom.as_ref()));
                }
                reply => {
                    for (field, atom) in reply.fields()? {
                        if let Some(index) = field.as_int().and_then(|bucket| position(granularity, group, bucket)) {
                            found[index] = number(Some(&atom));
                        }
                    }
                }
            }
        }
        Ok(values)
    }
}

impl Declared {
    pub(super) fn find(&self, series: &SeriesName, granularity: &str) -> Result<&Granularity, SeriesError> {
        self.declaration.granularity(granularity).ok_or_else(|| {
            let known: Vec<_> = self.declaration.granularities().iter().map(Granularity::name).collect();
            SeriesError::UnknownGranularity {
                series: series.to_string(),
                granularity: granularity.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// Every bucket of a range, if there are not too many.
pub(super) fn buckets(granularity: &Granularity, range: Range, max: u64) -> Result<Vec<i64>, SeriesError> {
    let Range { from, to } = range;
    if from > to {
        return Err(SeriesError::FromAfterTo { from, to });
    }
    let (first, last) = (granularity.floor(from), granularity.floor(to));
    let points = granularity.count(first, last);
    if points > max {
        return Err(SeriesError::TooManyPoints { points, max });
    }
    let mut buckets = Vec::with_capacity(usize::try_from(points).unwrap_or(0));
    let mut bucket = first;
    while bucket <= last {
        buckets.push(bucket);
        bucket = granularity.next(bucket);
    }
    Ok(buckets)
}

fn is_sparse(granularity: &Granularity, wanted: usize) -> bool {
    let in_group = match (granularity.group_seconds(), granularity.span()) {
        (Some(group), Span::Seconds(seconds)) => u64::try_from(group / seconds).unwrap_or(1),
        _ => 1,
    };
    (wanted as u64) < in_group / SPARSE
}

fn position(granularity: &Granularity, group: &[i64], bucket: i64) -> Option<usize> {
    let index = match granularity.span() {
        Span::Seconds(seconds) => usize::try_from(bucket.checked_sub(group[0])? / seconds).ok()?,
        Span::Calendar { .. } => group.binary_search(&bucket).ok()?,
    };
    group.get(index).filter(|found| **found == bucket).map(|_| index)
}

fn value(reply: Reply) -> Result<Value> {
    Ok(match reply {
        Reply::Count(count) => Value::Int(i64::try_from(count).unwrap_or(i64::MAX)),
        reply => number(reply.value()?.as_ref()),
    })
}

/// What is not a number counts as nothing, as it does for the readers this layout comes from.
fn number(atom: Option<&Atom>) -> Value {
    match atom {
        Some(Atom::Int(int)) => Value::Int(*int),
        Some(atom) => atom.as_decimal().map_or(Value::Int(0), Value::Decimal),
        None => Value::Int(0),
    }
}
