//! The members of a sorted set in the order of their scores.

use std::ops::{Bound, Range};

use super::{BY_SCORE, Large};
use crate::embedded::collection::payload::Payload;
use crate::embedded::collection::ranks::score_at;
use crate::embedded::collection::tree::{Place, Tree};
use crate::embedded::records::Records;
use crate::{Atom, Order, Result};

impl Large {
    /// Members of a sorted set whose place is within the range, by place and then by bytes.
    pub(in crate::embedded::collection) fn by_score(
        &self,
        places: Range<u64>,
        order: Order,
        limit: Range<usize>,
        records: &Records,
    ) -> Result<Vec<(Atom, f64)>> {
        if self.by_score.is_empty(records)? {
            let Some(from) = self.first_from(places.start, records)? else { return Ok(Vec::new()) };
            let to = self.first_from(places.end, records)?.map_or(Bound::Unbounded, Bound::Excluded);
            let found = self.entries.range((Bound::Included(from), to), order, records);
            let found = found.skip(limit.start).take(limit.len());
            return found
                .map(|found| found.and_then(|(member, score)| Ok((member.into(), self.decode(&score)?))))
                .collect();
        }
        let bound = |place: u64| place.to_be_bytes().to_vec();
        let range = (Bound::Included(bound(places.start)), Bound::Excluded(bound(places.end)));
        let found = self.by_score.range(range, order, records).skip(limit.start).take(limit.len());
        let read = |(key, _): (Vec<u8>, Vec<u8>)| {
            let (place, member) = key.split_first_chunk().ok_or_else(|| self.damaged())?;
            Ok((Atom::from_bytes(member), score_at(u64::from_be_bytes(*place))))
        };
        found.map(|found| found.and_then(read)).collect()
    }

    /// How many members have a place below this one.
    pub(in crate::embedded::collection) fn count_below(&self, place: u64, records: &Records) -> Result<u64> {
        if !self.by_score.is_empty(records)? {
            return self.by_score.count_below(&place.to_be_bytes(), records);
        }
        match self.first_from(place, records)? {
            Some(member) => self.entries.count_below(&member, records),
            None => Ok(self.len),
        }
    }

    /// The first member with this place or a higher one, of a set whose members are in the order of their scores.
    fn first_from(&self, place: u64, records: &Records) -> Result<Option<Vec<u8>>> {
        self.entries.first(records, |score| Ok(self.rank_of::<f64>(score)? >= Some(place)))
    }

    /// Notes that the member spelled last is to be moved. While members are in the order of their scores there is nothing to
    /// move; if they no longer are, all of them get their places.
    pub(super) fn rank<V: Payload>(
        &mut self,
        at: Place,
        old: Option<u64>,
        new: Option<u64>,
        records: &Records,
    ) -> Result<()> {
        if self.by_score.is_empty(records)? {
            let (before, after) = self.entries.around(at, records, |value| self.rank_of::<V>(value))?;
            let (before, after) = (before.transpose()?, after.transpose()?);
            if before.is_none_or(|before| before <= new) && after.is_none_or(|after| new <= after) {
                return Ok(());
            }
            self.by_score = self.ranked::<V>(records)?;
        }
        self.moves.note(&self.key, old, new);
        Ok(())
    }

    /// The order of scores of a set whose members are in it.
    fn ranked<V: Payload>(&self, records: &Records) -> Result<Tree> {
        let (mut by_score, mut key) = (Tree::new(self.id, BY_SCORE), Vec::new());
        for found in self.entries.range((Bound::Unbounded, Bound::Unbounded), Order::Ascending, records) {
            let (member, value) = found?;
            key.clear();
            key.extend_from_slice(&self.rank_of::<V>(&value)?.unwrap_or_default().to_be_bytes());
            key.extend_from_slice(&member);
            let place = by_score.locate(&key, records)?;
            by_score.put(place, &key, &[]);
        }
        Ok(by_score)
    }

    /// The place of what was packed.
    fn rank_of<V: Payload>(&self, value: &[u8]) -> Result<Option<u64>> {
        self.decode::<V>(value).map(|payload| payload.rank())
    }
}
