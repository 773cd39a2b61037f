//! A collection kept element by element.
//!
//! Memory holds what changed since the last checkpoint (`fresh`), what the checkpoint under way is writing (`frozen`),
//! and the number of elements; the rest is in the records, under the collection's id. Whoever reads looks at the three
//! in that order. An id is never used twice, so a deleted collection's records can be removed at leisure.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::merged::merged;
use super::payload::Payload;
use super::ranks::{PREFIX_LENGTHS, score_at};
use super::small::Small;
use crate::embedded::codec::{Reader, put_varint};
use crate::embedded::records::{Records, Slice, Space};
use crate::{Atom, Error, Order, Result};

/// What an entry of a layer takes in memory besides its bytes: the map's node and two handles.
const LAYER_ENTRY_BYTES: usize = 80;

/// The key of a record within its collection. The first byte says what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubKey(Vec<u8>);

const ELEMENT: u8 = b'e';
const BY_SCORE: u8 = b's';
const COUNT: u8 = b'c';
const POSITION: u8 = b'p';

impl SubKey {
    pub(super) fn element(element: &Atom) -> Self {
        let mut bytes = vec![ELEMENT];
        element.write_to(&mut bytes);
        Self(bytes)
    }

    /// A place in a list.
    pub(super) fn position(position: i64) -> Self {
        // Flipping the sign bit makes the bytes sort as the positions do.
        let place = position.cast_unsigned() ^ (1 << 63);
        Self([&[POSITION][..], &place.to_be_bytes()].concat())
    }

    fn by_score(place: u64, member: &Atom) -> Self {
        let mut bytes = vec![BY_SCORE];
        bytes.extend_from_slice(&place.to_be_bytes());
        member.write_to(&mut bytes);
        Self(bytes)
    }

    fn count(place: u64, prefix_length: u8) -> Self {
        let mut bytes = vec![COUNT, prefix_length];
        bytes.extend_from_slice(&place.to_be_bytes()[..usize::from(prefix_length)]);
        Self(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Records that differ from the checkpoint: written, or `None` where removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    records: BTreeMap<Slice, Option<Slice>>,
    bytes: usize,
}

impl Layer {
    fn put(&mut self, sub_key: &SubKey, value: Option<Slice>) {
        let added = value.as_ref().map_or(0, |value| value.len());
        match self.records.entry(Slice::from(sub_key.as_bytes())) {
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let previous = occupied.insert(value);
                self.bytes -= previous.map_or(0, |value| value.len());
            }
            std::collections::btree_map::Entry::Vacant(vacant) => {
                self.bytes += LAYER_ENTRY_BYTES + vacant.key().len();
                vacant.insert(value);
            }
        }
        self.bytes += added;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Slice, Option<&Slice>)> {
        self.records.iter().map(|(sub_key, value)| (sub_key, value.as_ref()))
    }

    pub(super) fn range(
        &self,
        range: (Bound<Slice>, Bound<Slice>),
    ) -> std::collections::btree_map::Range<'_, Slice, Option<Slice>> {
        self.records.range(range)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Large {
    id: u64,
    len: u64,
    fresh: Layer,
    frozen: Option<Arc<Layer>>,
}

impl Large {
    pub(crate) fn stored(id: u64, len: u64) -> Self {
        Self { id, len, fresh: Layer::default(), frozen: None }
    }

    pub(super) fn from_small<V: Payload>(id: u64, small: &Small<V>, records: &Records) -> Result<Self> {
        let mut large = Self::stored(id, 0);
        for (element, payload) in small.iter() {
            large.update(element, records, |_| Ok(Some(payload.clone())))?;
        }
        Ok(large)
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.len = len;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.fresh.bytes + self.frozen.as_ref().map_or(0, |frozen| frozen.bytes)
    }

    /// Hands what changed to a checkpoint, and keeps it readable until that is done.
    pub(crate) fn freeze(&mut self) -> Arc<Layer> {
        let layer = Arc::new(std::mem::take(&mut self.fresh));
        self.frozen = Some(Arc::clone(&layer));
        layer
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen = None;
    }

    pub(super) fn get<V: Payload>(&self, element: &Atom, records: &Records) -> Result<Option<V>> {
        self.raw(&SubKey::element(element), records)?.map(|value| self.decode(&value)).transpose()
    }

    pub(super) fn update<V: Payload>(
        &mut self,
        element: &Atom,
        records: &Records,
        change: impl FnOnce(Option<&V>) -> Result<Option<V>>,
    ) -> Result<Option<V>> {
        let sub_key = SubKey::element(element);
        let previous: Option<V> = self.raw(&sub_key, records)?.map(|value| self.decode(&value)).transpose()?;
        let Some(payload) = change(previous.as_ref())? else { return Ok(previous) };
        let (old, new) = (previous.as_ref().and_then(V::rank), payload.rank());
        if old != new {
            self.move_rank(element, old, new, records)?;
        }
        let mut value = Vec::new();
        payload.put(&mut value);
        self.set(&sub_key, Some(value.into()));
        self.len += u64::from(previous.is_none());
        Ok(previous)
    }

    pub(super) fn remove<V: Payload>(&mut self, element: &Atom, records: &Records) -> Result<Option<V>> {
        let sub_key = SubKey::element(element);
        let Some(value) = self.raw(&sub_key, records)? else { return Ok(None) };
        let previous: V = self.decode(&value)?;
        self.move_rank(element, previous.rank(), None, records)?;
        self.set(&sub_key, None);
        self.len -= 1;
        Ok(Some(previous))
    }

    /// Every element after one, in order of its bytes.
    pub(super) fn elements<'a, V: Payload + 'a>(
        &'a self,
        after: Option<&Atom>,
        records: &'a Records,
    ) -> impl Iterator<Item = Result<(Atom, V)>> + use<'a, V> {
        let after = after.map(SubKey::element);
        let from = match &after {
            Some(after) => Bound::Excluded(after.as_bytes()),
            None => Bound::Included(&[ELEMENT][..]),
        };
        let range = (from, Bound::Excluded(&[ELEMENT + 1][..]));
        merged(self, range, Order::Ascending, records).map(|found| {
            let (sub_key, value) = found?;
            Ok((Atom::from_bytes(&sub_key[1..]), self.decode(&value)?))
        })
    }

    /// Members of a sorted set whose place is within the range, by place and then by bytes.
    pub(super) fn by_score<'a>(
        &'a self,
        places: std::ops::Range<u64>,
        order: Order,
        records: &'a Records,
    ) -> impl Iterator<Item = Result<(Atom, f64)>> + use<'a> {
        let bound = |place: u64| [&[BY_SCORE][..], &place.to_be_bytes()].concat();
        let (from, to) = (bound(places.start), bound(places.end.max(places.start)));
        merged(self, (Bound::Included(&from), Bound::Excluded(&to)), order, records).map(|found| {
            let (sub_key, _) = found?;
            let (place, member) = sub_key[1..].split_first_chunk().ok_or_else(|| self.damaged())?;
            Ok((Atom::from_bytes(member), score_at(u64::from_be_bytes(*place))))
        })
    }

    /// How many members have a place below this one. See `ranks.rs`.
    pub(super) fn count_below(&self, place: u64, records: &Records) -> Result<u64> {
        let mut below = 0;
        let mut shorter = 0;
        for length in PREFIX_LENGTHS {
            let mut from = vec![COUNT, length];
            let mut to = from.clone();
            from.extend_from_slice(&place.to_be_bytes()[..usize::from(shorter)]);
            to.extend_from_slice(&place.to_be_bytes()[..usize::from(length)]);
            for found in merged(self, (Bound::Included(&from), Bound::Excluded(&to)), Order::Ascending, records) {
                below += self.decode_count(&found?.1)?;
            }
            shorter = length;
        }
        Ok(below)
    }

    pub(super) fn raw(&self, sub_key: &SubKey, records: &Records) -> Result<Option<Slice>> {
        let key = sub_key.as_bytes();
        if let Some(changed) = self.fresh.records.get(key) {
            return Ok(changed.clone());
        }
        if let Some(changed) = self.frozen.as_ref().and_then(|frozen| frozen.records.get(key)) {
            return Ok(changed.clone());
        }
        records.get(Space::Elements, &record_key(self.id, key))
    }

    pub(super) fn set(&mut self, sub_key: &SubKey, value: Option<Slice>) {
        self.fresh.put(sub_key, value);
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::once(&self.fresh).chain(self.frozen.as_deref())
    }

    pub(super) fn damaged(&self) -> Error {
        Error::Corrupt(format!("a record of large collection {} does not read back", self.id))
    }

    fn move_rank(&mut self, member: &Atom, old: Option<u64>, new: Option<u64>, records: &Records) -> Result<()> {
        if let Some(place) = old {
            self.set(&SubKey::by_score(place, member), None);
            self.count(place, -1, records)?;
        }
        if let Some(place) = new {
            self.set(&SubKey::by_score(place, member), Some(Slice::from([])));
            self.count(place, 1, records)?;
        }
        Ok(())
    }

    fn count(&mut self, place: u64, by: i64, records: &Records) -> Result<()> {
        for length in PREFIX_LENGTHS {
            let sub_key = SubKey::count(place, length);
            let count = match self.raw(&sub_key, records)? {
                Some(value) => self.decode_count(&value)?,
                None => 0,
            };
            let count = count.checked_add_signed(by).ok_or_else(|| self.damaged())?;
            let mut value = Vec::new();
            put_varint(&mut value, count);
            self.set(&sub_key, (count > 0).then(|| value.into()));
        }
        Ok(())
    }

    fn decode_count(&self, value: &[u8]) -> Result<u64> {
        Reader::new(value).varint().map_err(|_| self.damaged())
    }

    fn decode<V: Payload>(&self, value: &[u8]) -> Result<V> {
        V::read(&mut Reader::new(value)).map_err(|_| self.damaged())
    }
}

/// The key of a collection's record among all records.
pub(crate) fn record_key(id: u64, sub_key: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], sub_key].concat()
}
