//! What only sorted sets are asked: by score, and by bytes of the member.

use std::ops::Bound;

use super::Collection;
use super::ranks::ordered_score;
use crate::embedded::records::Records;
use crate::{Atom, Order, Result, ScoreRange};

impl Collection<f64> {
    /// Brings the order of scores up to date, once an operation has changed all that it changes.
    pub(crate) fn settle(&mut self, records: &Records) -> Result<()> {
        match self {
            Self::Small(_) => Ok(()),
            Self::Large(large) => large.settle(records),
        }
    }

    pub(crate) fn count_within(&self, range: &ScoreRange, records: &Records) -> Result<u64> {
        match self {
            Self::Small(small) => Ok(small.iter().filter(|(_, score)| range.contains(*score)).count() as u64),
            Self::Large(large) => {
                let places = places(range);
                if places.is_empty() {
                    return Ok(0);
                }
                Ok(large.count_below(places.end, records)? - large.count_below(places.start, records)?)
            }
        }
    }

    pub(crate) fn range(
        &self,
        range: &ScoreRange,
        order: Order,
        offset: u64,
        limit: u64,
        records: &Records,
    ) -> Result<Vec<(Atom, f64)>> {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        match self {
            Self::Small(small) => {
                let mut found: Vec<_> = small.iter().filter(|(_, score)| range.contains(*score)).cloned().collect();
                found.sort_by(|(a, a_score), (b, b_score)| {
                    a_score.total_cmp(b_score).then_with(|| a.as_bytes().cmp(&b.as_bytes()))
                });
                if order == Order::Descending {
                    found.reverse();
                }
                Ok(found.into_iter().skip(skip).take(take).collect())
            }
            Self::Large(large) => large.by_score(places(range), order, skip..skip.saturating_add(take), records),
        }
    }

    pub(crate) fn by_member(&self, after: Option<&Atom>, limit: u64, records: &Records) -> Result<Vec<Atom>> {
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        match self {
            Self::Small(small) => {
                let mut members: Vec<_> = small.iter().map(|(member, _)| member.clone()).collect();
                members.sort_by(|a, b| a.as_bytes().cmp(&b.as_bytes()));
                let after = after.map(Atom::as_bytes);
                members.retain(|member| after.as_ref().is_none_or(|after| member.as_bytes() > *after));
                members.truncate(take);
                Ok(members)
            }
            Self::Large(large) => large.elements::<f64>(after, records).map(|found| Ok(found?.0)).take(take).collect(),
        }
    }
}

/// The places that a range of scores covers; empty where it ends before it starts.
fn places(range: &ScoreRange) -> std::ops::Range<u64> {
    let start = match range.from {
        Bound::Included(from) => ordered_score(from),
        Bound::Excluded(from) => ordered_score(from) + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.to {
        Bound::Included(to) => ordered_score(to) + 1,
        Bound::Excluded(to) => ordered_score(to),
        Bound::Unbounded => u64::MAX,
    };
    start..end
}
