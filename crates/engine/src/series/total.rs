//! One number for a stretch of time: a sum, or for uniques the size of the union.
//!
//! The union of exact uniques is taken over the members themselves, page by page, in memory that is bounded by
//! [`UNION_MEMBERS_MAX`]. One bucket is its own union and is only counted.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use tickmark_store::{Account, Atom, Key, Order, Query, Reply, ScoreRange};

use super::catalog::{Catalog, Declared};
use super::cover::{Stretch, cover};
use super::keys::Keys;
use super::points::buckets;
use super::{Kind, Range, SeriesError, SeriesName, Value};
use crate::Result;

/// Distinct members that a union may have: some hundreds of megabytes of memory.
pub const UNION_MEMBERS_MAX: usize = 5_000_000;
const PAGE: u64 = 20_000;

type Union = HashSet<Box<[u8]>, RandomState>;

impl Catalog {
    /// The total of a series, over whole buckets of one granularity, or over the coarsest that fit.
    pub async fn total(
        &self,
        account: Account,
        name: &SeriesName,
        granularity: Option<&str>,
        range: Range,
        max: u64,
    ) -> Result<Value> {
        let declared = self.get(account, name).await?;
        let stretches = stretches(&declared, name, granularity, range, max)?;
        let keys = self.keys(name);
        match declared.declaration.kind() {
            kind @ Kind::Count(_) => self.sum(account, &keys, kind, &stretches, name).await,
            Kind::Unique => self.union(account, &keys, &stretches).await,
            Kind::UniqueApprox => {
                let keys = each_bucket(&stretches)
                    .map(|(stretch, bucket)| keys.group(stretch.granularity.name(), stretch.granularity.group(bucket)));
                let reply = self.ask(account, vec![Query::HllCount { keys: keys.collect() }]).await?.pop();
                let count = reply.map_or(Ok(0), Reply::count)?;
                Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
            }
        }
    }

    async fn sum(
        &self,
        account: Account,
        keys: &Keys,
        kind: Kind,
        stretches: &[Stretch<'_>],
        name: &SeriesName,
    ) -> Result<Value> {
        let (mut whole, mut decimals, mut is_decimal) = (0_i128, 0.0, false);
        for stretch in stretches {
            for value in self.values(account, keys, kind, stretch.granularity, &stretch.buckets).await? {
                match value {
                    Value::Int(int) => whole += i128::from(int),
                    Value::Decimal(decimal) => (decimals, is_decimal) = (decimals + decimal, true),
                }
            }
        }
        if is_decimal {
            return Ok(Value::Decimal(whole as f64 + decimals));
        }
        let overflow = |_| SeriesError::Overflow { series: name.to_string() };
        Ok(Value::Int(i64::try_from(whole).map_err(overflow)?))
    }

    async fn union(&self, account: Account, keys: &Keys, stretches: &[Stretch<'_>]) -> Result<Value> {
        let mut buckets = each_bucket(stretches);
        if let (Some((stretch, bucket)), None) = (buckets.next(), buckets.next()) {
            let counted = self.values(account, keys, Kind::Unique, stretch.granularity, &[bucket]).await?;
            return Ok(counted.first().copied().unwrap_or(Value::Int(0)));
        }
        let mut union = Union::default();
        for stretch in stretches {
            let granularity = stretch.granularity;
            for group in stretch.buckets.chunk_by(|a, b| granularity.group(*a) == granularity.group(*b)) {
                let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
                let range = ScoreRange::inclusive(*first as f64, *last as f64);
                let key = keys.group(granularity.name(), granularity.group(*first));
                self.join(account, &key, range, &mut union).await?;
            }
        }
        Ok(Value::Int(i64::try_from(union.len()).unwrap_or(i64::MAX)))
    }

    /// Adds the members of a range of scores. Pages go by offset: what is added meanwhile may be missed or seen twice, and
    /// twice does no harm to a union.
    async fn join(&self, account: Account, key: &Key, range: ScoreRange, union: &mut Union) -> Result<()> {
        for page in 0.. {
            let query = Query::SortedRange {
                key: key.clone(),
                range,
                order: Order::Ascending,
                offset: page * PAGE,
                limit: PAGE,
            };
            let members = self.ask(account, vec![query]).await?.pop().map_or(Ok(Vec::new()), Reply::scored)?;
            let is_last = (members.len() as u64) < PAGE;
            for (member, _) in members {
                if let Some(name) = member_of(&member)
                    && !union.contains(name)
                {
                    union.insert(name.into());
                }
            }
            if union.len() > UNION_MEMBERS_MAX {
                return Err(SeriesError::TooManyMembers { max: UNION_MEMBERS_MAX }.into());
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

fn stretches<'a>(
    declared: &'a Declared,
    name: &SeriesName,
    granularity: Option<&str>,
    range: Range,
    max: u64,
) -> Result<Vec<Stretch<'a>>, SeriesError> {
    let Some(granularity) = granularity else { return cover(&declared.declaration, range, max) };
    let granularity = declared.find(name, granularity)?;
    Ok(vec![Stretch { granularity, buckets: buckets(granularity, range, max)? }])
}

fn each_bucket<'a>(stretches: &'a [Stretch<'a>]) -> impl Iterator<Item = (&'a Stretch<'a>, i64)> {
    stretches.iter().flat_map(|stretch| stretch.buckets.iter().map(move |bucket| (stretch, *bucket)))
}

/// What comes after the first colon of `BUCKET:MEMBER`.
fn member_of(atom: &Atom) -> Option<&[u8]> {
    let Atom::Bytes(bytes) = atom else { return None };
    let colon = bytes.iter().position(|byte| *byte == b':')?;
    Some(&bytes[colon + 1..])
}
