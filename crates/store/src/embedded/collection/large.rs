//! A collection too large to be held whole: pages of entries, of which memory holds some.
//!
//! One tree has the entries by element (of a list: by position), another has a sorted set's members by score. Their
//! records stand under the collection's id. An id is never used twice, so a deleted collection's records can be removed
//! at leisure.
//!
//! Where a sorted set's members are in the order of their scores anyway, because all scores are equal or because members
//! begin with what their score says, the second tree would repeat the first, and stays empty until a score says otherwise.

mod positions;
mod scores;

use std::ops::Bound;

use super::directory::damaged;
use super::moves::Moves;
use super::payload::Payload;
use super::small::Small;
use super::tree::{Family, Frozen, Place, Tree};
use crate::embedded::codec::Reader;
use crate::embedded::records::Records;
use crate::{Atom, Error, Order, Result};

const ENTRIES: Family = Family { pages: b'e', chunks: b'E' };
const BY_SCORE: Family = Family { pages: b's', chunks: b'S' };

#[derive(Clone, Debug)]
pub(crate) struct Large {
    id: u64,
    len: u64,
    entries: Tree,
    by_score: Tree,
    /// What is yet to be moved in `by_score`; nothing between operations.
    moves: Moves,
    /// A checkpoint is writing pages; until it is done the records do not have them.
    flushing: bool,
    /// Where keys and values are put together.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Large {
    /// A new one.
    pub(super) fn new(id: u64) -> Self {
        Self::with_trees(id, 0, Tree::new)
    }

    /// One whose entries are in the records.
    pub(crate) fn stored(id: u64, len: u64) -> Self {
        Self::with_trees(id, len, Tree::stored)
    }

    fn with_trees(id: u64, len: u64, tree: fn(u64, Family) -> Tree) -> Self {
        let (entries, by_score) = (tree(id, ENTRIES), tree(id, BY_SCORE));
        let (key, value) = (Vec::new(), Vec::new());
        Self { id, len, entries, by_score, moves: Moves::default(), flushing: false, key, value }
    }

    pub(super) fn from_small<V: Payload>(id: u64, small: &Small<V>, records: &Records) -> Result<Self> {
        let mut large = Self::new(id);
        for (element, payload) in small.iter() {
            large.update(element, records, |_| Ok(Some(payload.clone())))?;
        }
        large.settle(records)?;
        Ok(large)
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.bytes() + self.by_score.bytes()
    }

    /// Bytes of what differs from the records.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.entries.dirty_bytes() + self.by_score.dirty_bytes()
    }

    /// Hands what changed to a checkpoint: records' keys, and what goes there.
    pub(crate) fn freeze(&mut self) -> Vec<(Vec<u8>, Frozen)> {
        debug_assert!(self.moves.is_empty(), "settled after every operation");
        let mut frozen = Vec::new();
        self.entries.freeze(&mut frozen);
        self.by_score.freeze(&mut frozen);
        self.flushing = true;
        frozen
    }

    /// The checkpoint is in the records.
    pub(crate) fn thaw(&mut self) {
        self.flushing = false;
    }

    /// Lets go of pages until enough bytes are free, or enough pages were looked at.
    pub(crate) fn evict(&mut self, wanted_bytes: usize, visits: &mut usize) {
        if !self.flushing {
            let before = self.bytes();
            self.entries.evict(wanted_bytes, visits);
            self.by_score.evict(wanted_bytes.saturating_sub(before - self.bytes()), visits);
        }
    }

    /// What each element carries. Quickest where they are in the order of their bytes.
    pub(super) fn get_many<'a, V: Payload>(
        &self,
        elements: impl Iterator<Item = &'a Atom>,
        records: &Records,
    ) -> Result<Vec<Option<V>>> {
        let (mut finger, mut key) = (self.entries.finger(records), Vec::new());
        let get = |element: &Atom| {
            key.clear();
            element.write_to(&mut key);
            finger.get(&key)?.map(|value| self.decode(value)).transpose()
        };
        elements.map(get).collect()
    }

    /// Whether each element carries what is said: the same bytes.
    pub(super) fn all_are<V: Payload>(&self, elements: &[(Atom, Option<V>)], records: &Records) -> Result<bool> {
        let (mut finger, mut key, mut value) = (self.entries.finger(records), Vec::new(), Vec::new());
        for (element, is) in elements {
            key.clear();
            element.write_to(&mut key);
            value.clear();
            if let Some(is) = is {
                is.put(&mut value);
            }
            if finger.get(&key)? != is.as_ref().map(|_| &value[..]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// To be followed by [`Large::settle`], after which the order of scores is right again.
    pub(super) fn update<V: Payload>(
        &mut self,
        element: &Atom,
        records: &Records,
        change: impl FnOnce(Option<&V>) -> Result<Option<V>>,
    ) -> Result<Option<V>> {
        let place = self.locate(element, records)?;
        let previous: Option<V> = self.entries.value(place).map(|value| self.decode(value)).transpose()?;
        let Some(payload) = change(previous.as_ref())? else { return Ok(previous) };
        let (old, new) = (previous.as_ref().and_then(V::rank), payload.rank());
        if old != new {
            self.rank::<V>(place, old, new, records)?;
        }
        self.value.clear();
        payload.put(&mut self.value);
        self.entries.put(place, &self.key, &self.value);
        self.len += u64::from(previous.is_none());
        Ok(previous)
    }

    /// To be followed by [`Large::settle`] too.
    pub(super) fn remove<V: Payload>(&mut self, element: &Atom, records: &Records) -> Result<Option<V>> {
        let place = self.locate(element, records)?;
        let Some(value) = self.entries.value(place) else { return Ok(None) };
        let previous: V = self.decode(value)?;
        if !self.by_score.is_empty(records)? {
            self.moves.note(&self.key, previous.rank(), None);
        }
        self.entries.remove(place);
        self.len -= 1;
        Ok(Some(previous))
    }

    pub(super) fn settle(&mut self, records: &Records) -> Result<()> {
        self.moves.settle(&mut self.by_score, records)
    }

    /// Every element after one, in order of its bytes.
    pub(super) fn elements<'a, V: Payload + 'a>(
        &'a self,
        after: Option<&Atom>,
        records: &'a Records,
    ) -> impl Iterator<Item = Result<(Atom, V)>> + use<'a, V> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.as_bytes().into_owned()));
        self.entries.range((from, Bound::Unbounded), Order::Ascending, records).map(|found| {
            let (element, value) = found?;
            Ok((Atom::from(element), self.decode(&value)?))
        })
    }

    fn damaged(&self) -> Error {
        damaged(self.id)
    }

    /// Where an element is, or would go. Its bytes are then in `key`.
    fn locate(&mut self, element: &Atom, records: &Records) -> Result<Place> {
        self.key.clear();
        element.write_to(&mut self.key);
        self.entries.locate(&self.key, records)
    }

    fn decode<V: Payload>(&self, value: &[u8]) -> Result<V> {
        V::read(&mut Reader::new(value)).map_err(|_| self.damaged())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::ranks::ordered_score;
    use super::*;
    use crate::embedded::records::{Change, Space};

    /// A sorted set and the obviously right one, through checkpoints, lost pages and reopening.
    struct Pair {
        large: Large,
        model: BTreeMap<Vec<u8>, f64>,
        records: Records,
    }

    impl Pair {
        fn put(&mut self, member: &str, score: f64) {
            let previous = self.large.update(&member.into(), &self.records, |_| Ok(Some(score))).unwrap();
            assert_eq!(previous, self.model.insert(member.into(), score), "{member}");
        }

        fn remove(&mut self, member: &str) {
            let previous = self.large.remove::<f64>(&member.into(), &self.records).unwrap();
            assert_eq!(previous, self.model.remove(member.as_bytes()), "{member}");
        }

        /// As at the end of an operation.
        fn settle(&mut self) {
            self.large.settle(&self.records).unwrap();
        }

        fn checkpoint(&mut self) {
            self.settle();
            let changes = self.large.freeze().into_iter().map(|(key, frozen)| match frozen {
                Frozen::Page(page) => Change::put(Space::Elements, key, page.pack()),
                Frozen::Chunk(chunk) => Change::put(Space::Elements, key, chunk),
                Frozen::Gone => Change::remove(Space::Elements, key),
            });
            self.records.write(changes.collect()).unwrap();
            self.large.thaw();
            assert_eq!(self.large.dirty_bytes(), 0);
        }

        fn forget_pages(&mut self) {
            // Twice: the first time only takes note of what was used.
            for _ in 0..2 {
                self.large.evict(usize::MAX, &mut usize::MAX.clone());
            }
        }

        fn check(&mut self, rng: &mut fastrand::Rng) {
            self.settle();
            let (large, records) = (&self.large, &self.records);
            assert_eq!(large.len(), self.model.len() as u64);
            let elements: Vec<(Atom, f64)> = large.elements(None, records).collect::<Result<_>>().unwrap();
            let model = self.model.iter().map(|(member, score)| (Atom::from_bytes(member), *score));
            assert!(elements.iter().cloned().eq(model));

            let mut sorted: Vec<_> = self.model.iter().map(|(member, score)| (*score, member)).collect();
            sorted.sort_by(|(a, a_member), (b, b_member)| a.total_cmp(b).then_with(|| a_member.cmp(b_member)));
            for _ in 0..20 {
                let (from, to) = (f64::from(rng.u32(..1_000)), f64::from(rng.u32(..1_000)));
                let places = ordered_score(from)..ordered_score(to);
                let within = sorted.iter().filter(|(score, _)| (from..to).contains(score));
                let within: Vec<_> = within.map(|(score, member)| (Atom::from_bytes(member), *score)).collect();
                let found = |order| large.by_score(places.clone(), order, 0..usize::MAX, records).unwrap();
                assert_eq!(found(Order::Ascending), within);
                assert!(found(Order::Descending).into_iter().rev().eq(within));
                let below = sorted.iter().filter(|(score, _)| *score < from).count() as u64;
                assert_eq!(large.count_below(places.start, records).unwrap(), below);
            }
        }
    }

    #[test]
    fn a_large_sorted_set_is_a_sorted_set() {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut pair = Pair { large: Large::new(5), model: BTreeMap::new(), records: Records::in_memory() };
        // Grows over many chunks, then shrinks to nothing.
        for (round, removals) in (0..24).map(|round| (round, if round < 12 { 1 } else { 9 })) {
            for _ in 0..4_000 {
                let member = format!("{}:{}", rng.u32(..4), rng.u32(..20_000));
                if rng.u32(..10) < removals {
                    pair.remove(&member);
                } else {
                    pair.put(&member, f64::from(rng.u32(..1_000)));
                }
                // Operations of all sizes, in which a member may come more than once.
                if rng.u32(..1_000) < 1 << (round % 11) {
                    pair.settle();
                }
            }
            match round % 4 {
                0 => pair.checkpoint(),
                1 => pair.forget_pages(),
                2 => {
                    pair.checkpoint();
                    pair.forget_pages();
                }
                _ => {
                    pair.checkpoint();
                    pair.large = Large::stored(5, pair.large.len());
                }
            }
            pair.check(&mut rng);
        }
        for member in pair.model.keys().cloned().collect::<Vec<_>>() {
            pair.remove(std::str::from_utf8(&member).unwrap());
        }
        pair.check(&mut rng);
        pair.checkpoint();
        let left = pair.records.range(Space::Elements, (Bound::Unbounded, Bound::Unbounded), Order::Ascending);
        assert_eq!(left.count(), 0, "records of pages that are gone");
        assert_eq!(pair.large.bytes(), 0);
    }

    /// What lies below the first page, or between two chunks, finds its place again after pages there were dropped.
    #[test]
    fn ranges_that_were_emptied_are_filled_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut pair = Pair { large: Large::new(5), model: BTreeMap::new(), records: Records::in_memory() };
        let member = |number: u32| format!("{number:0100}");
        for _ in 0..6 {
            (0..20_000).for_each(|number| pair.put(&member(number), f64::from(number % 1_000)));
            let (from, to) = (rng.u32(..10_000), rng.u32(10_000..20_000));
            let emptied = if rng.bool() { 0..to } else { from..to };
            emptied.clone().for_each(|number| pair.remove(&member(number)));
            for _ in 0..5_000 {
                pair.put(&member(rng.u32(emptied.clone())), f64::from(rng.u32(..1_000)));
            }
            pair.checkpoint();
            pair.large = Large::stored(5, pair.large.len());
            pair.check(&mut rng);
        }
    }

    /// Members that begin with their score are found by score without a second tree, until one does not.
    #[test]
    fn members_in_the_order_of_their_scores() {
        let mut rng = fastrand::Rng::with_seed(3);
        for equal in [true, false] {
            let mut pair = Pair { large: Large::new(5), model: BTreeMap::new(), records: Records::in_memory() };
            for round in 0..8 {
                for _ in 0..3_000 {
                    let score = rng.u32(100..900);
                    let member = format!("{score}:{}", rng.u32(..20));
                    if rng.u32(..4) == 0 {
                        pair.remove(&member);
                    } else {
                        pair.put(&member, if equal { 7.0 } else { f64::from(score) });
                    }
                }
                if round % 3 == 1 {
                    pair.checkpoint();
                    pair.forget_pages();
                }
                if round % 3 == 2 {
                    pair.checkpoint();
                    pair.large = Large::stored(5, pair.large.len());
                }
                pair.check(&mut rng);
                assert!(pair.large.by_score.is_empty(&pair.records).unwrap());
            }
            pair.put("500:5", 8.0);
            pair.check(&mut rng);
            assert!(!pair.large.by_score.is_empty(&pair.records).unwrap());
            pair.remove("500:5");
            pair.checkpoint();
            pair.large = Large::stored(5, pair.large.len());
            pair.check(&mut rng);
        }
    }

    #[test]
    fn pages_that_a_checkpoint_is_writing_stay() {
        let mut pair = Pair { large: Large::new(1), model: BTreeMap::new(), records: Records::in_memory() };
        (0..1_000).for_each(|n| pair.put(&n.to_string(), 1.0));
        pair.settle();
        let _frozen = pair.large.freeze();
        pair.forget_pages();
        pair.check(&mut fastrand::Rng::with_seed(1));
    }
}
