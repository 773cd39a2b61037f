//! Which page covers which keys.
//!
//! A page covers the keys from its fence up to the next fence; the first fence is empty, so that every key is covered. A page
//! never holds a key below its fence, else the pages that it is split into would be out of order. Fences stand in chunks, each a record of its own, so that a change to one page of a huge collection does not rewrite
//! the whole directory.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::page::{Page, common};
use super::tree::{Family, Frozen, Place};
use crate::embedded::codec::{Malformed, Reader, put_bytes, put_varint};
use crate::embedded::records::{Records, Space};
use crate::{Error, Order, Result};

/// A chunk with more fences than this is split in two.
const CHUNK_LEAVES_MAX: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) chunks: Vec<Chunk>,
    /// Keys of records that the next checkpoint removes, unless they are in use again by then.
    gone: Vec<(u8, Box<[u8]>)>,
    pub(super) bytes: usize,
    pub(super) dirty_bytes: usize,
    /// The chunk where letting go of pages goes on.
    hand: usize,
    /// The chunk and leaf found last, and the place within the page: what is written together is mostly close together.
    last: (usize, usize),
    pub(super) last_at: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Chunk {
    fence: Box<[u8]>,
    pub(super) leaves: Vec<Leaf>,
    /// Entries in all of its pages.
    pub(super) count: u64,
    /// Whether it, or a page of it, differs from its record.
    dirty: bool,
}

#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) fence: Box<[u8]>,
    pub(super) count: usize,
    /// Its page, while that is in memory.
    pub(super) page: Option<Arc<Page>>,
    dirty: bool,
    /// Read or written since pages were last let go.
    pub(super) used: AtomicBool,
}

impl Leaf {
    fn new(fence: Box<[u8]>, page: Page) -> Self {
        Self { fence, count: page.len(), page: Some(Arc::new(page)), dirty: true, used: AtomicBool::new(true) }
    }

    fn page_bytes(&self) -> usize {
        self.page.as_ref().map_or(0, |page| page.memory_bytes())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.fence.len() + self.page_bytes()
    }

    fn dirty_bytes(&self) -> usize {
        if self.dirty { self.page_bytes() } else { 0 }
    }
}

impl Clone for Leaf {
    fn clone(&self) -> Self {
        let used = AtomicBool::new(self.used.load(Ordering::Relaxed));
        Self { fence: self.fence.clone(), count: self.count, page: self.page.clone(), dirty: self.dirty, used }
    }
}

impl Directory {
    pub(super) fn read(id: u64, family: Family, records: &Records) -> Result<Self> {
        let mut directory = Self::default();
        let (from, to) = (record_key(id, family.chunks, &[]), record_key(id, family.chunks + 1, &[]));
        let range = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
        for found in records.range(Space::Elements, range, Order::Ascending) {
            let (key, value) = found?;
            let chunk = Chunk::unpack(&key[from.len()..], &value).map_err(|_| damaged(id))?;
            directory.bytes += chunk.leaves.iter().map(Leaf::bytes).sum::<usize>();
            directory.chunks.push(chunk);
        }
        Ok(directory)
    }

    /// The chunk and leaf whose page covers a key; `None` while there is no page at all.
    pub(super) fn position(&self, key: &[u8]) -> Option<(usize, usize)> {
        let chunk = self.chunks.partition_point(|chunk| *chunk.fence <= *key).saturating_sub(1);
        let leaves = &self.chunks.get(chunk)?.leaves;
        Some((chunk, leaves.partition_point(|leaf| *leaf.fence <= *key).saturating_sub(1)))
    }

    /// The same for who is about to write there, where the next key is likely to be in the page of the last. There is a page
    /// from then on.
    pub(super) fn turn_to(&mut self, key: &[u8]) -> (usize, usize) {
        let (chunk, leaf) = self.last;
        if let Some(found) = self.chunks.get(chunk).and_then(|chunk| chunk.leaves.get(leaf))
            && *found.fence <= *key
            && self.fence_after(chunk, leaf).is_none_or(|fence| *key < *fence)
        {
            return self.last;
        }
        self.last_at = 0;
        self.last = self.position(key).unwrap_or_else(|| {
            self.plant();
            (0, 0)
        });
        self.last
    }

    pub(super) fn fence_after(&self, chunk: usize, leaf: usize) -> Option<&[u8]> {
        match self.chunks[chunk].leaves.get(leaf + 1) {
            Some(next) => Some(&next.fence),
            None => self.chunks.get(chunk + 1).map(|next| &*next.fence),
        }
    }

    /// The page before a place that has anything, if there is one.
    pub(super) fn leaf_before(&self, place: Place) -> Option<&Leaf> {
        let (chunks, chunk) = (&self.chunks[..place.chunk], &self.chunks[place.chunk]);
        let in_chunks = chunks.iter().rev().flat_map(|chunk| chunk.leaves.iter().rev());
        chunk.leaves[..place.leaf].iter().rev().chain(in_chunks).find(|leaf| leaf.count > 0)
    }

    /// The page after a place that has anything, if there is one.
    pub(super) fn leaf_after(&self, place: Place) -> Option<&Leaf> {
        let (chunk, chunks) = (&self.chunks[place.chunk], &self.chunks[place.chunk + 1..]);
        let in_chunks = chunks.iter().flat_map(|chunk| &chunk.leaves);
        chunk.leaves[place.leaf + 1..].iter().chain(in_chunks).find(|leaf| leaf.count > 0)
    }

    /// The first page.
    fn plant(&mut self) {
        let leaf = Leaf::new(Box::default(), Page::default());
        self.bytes += leaf.bytes();
        self.dirty_bytes += leaf.dirty_bytes();
        self.chunks.push(Chunk { fence: Box::default(), leaves: vec![leaf], count: 0, dirty: true });
    }

    pub(super) fn change(&mut self, place: Place, change: impl FnOnce(&mut Page)) {
        let chunk = &mut self.chunks[place.chunk];
        let leaf = &mut chunk.leaves[place.leaf];
        let (bytes, dirty_bytes) = (leaf.page_bytes(), leaf.dirty_bytes());
        // A checkpoint may still hold the page as it was; then this is where the two part.
        let page = Arc::make_mut(leaf.page.get_or_insert_default());
        change(page);
        chunk.count = chunk.count + page.len() as u64 - leaf.count as u64;
        leaf.count = page.len();
        leaf.dirty = true;
        chunk.dirty = true;
        self.bytes = self.bytes + leaf.page_bytes() - bytes;
        self.dirty_bytes = self.dirty_bytes + leaf.page_bytes() - dirty_bytes;
    }

    pub(super) fn split_if_full(&mut self, place: Place) {
        let is_last = place.chunk + 1 == self.chunks.len();
        let chunk = &mut self.chunks[place.chunk];
        let is_last = is_last && place.leaf + 1 == chunk.leaves.len();
        let leaf = &mut chunk.leaves[place.leaf];
        let Some(page) = leaf.page.as_mut().filter(|page| page.is_full()) else { return };
        let before = page.memory_bytes();
        let page = Arc::make_mut(page);
        // What only grows at its end, as time does, leaves full pages behind.
        let last = page.len() - 1;
        let at = if is_last && place.at == Err(last) { last } else { page.middle() };
        let after = page.split_off(at);
        let (last_before, first_after) = (page.key(page.len() - 1), after.key(0));
        let fence = first_after[..=common(&last_before, &first_after)].into();
        leaf.count = page.len();
        let added = Leaf::new(fence, after);
        self.bytes = self.bytes + leaf.page_bytes() + added.bytes() - before;
        self.dirty_bytes = self.dirty_bytes + leaf.page_bytes() + added.page_bytes() - before;
        chunk.leaves.insert(place.leaf + 1, added);
        if chunk.leaves.len() > CHUNK_LEAVES_MAX {
            let added = chunk.split_off(CHUNK_LEAVES_MAX / 2);
            self.chunks.insert(place.chunk + 1, added);
        }
    }

    /// Joins a nearly empty page with the next; drops an empty one, if one before it then covers its keys.
    pub(super) fn join_if_sparse(&mut self, family: Family, place: Place) {
        let chunk = &self.chunks[place.chunk];
        let leaf = &chunk.leaves[place.leaf];
        if leaf.count == 0 && place.leaf > 0 {
            self.drop_leaf(family, place.chunk, place.leaf);
        } else if leaf.count == 0 && chunk.leaves.len() == 1 && place.chunk > 0 {
            self.drop_chunk(family, place.chunk);
        } else if let (Some(page), Some(Leaf { page: Some(after), .. })) =
            (&leaf.page, chunk.leaves.get(place.leaf + 1))
            && page.fits_with(after)
        {
            let after = Arc::clone(after);
            self.drop_leaf(family, place.chunk, place.leaf + 1);
            self.change(place, |page| page.append(&after));
        }
        if let [Chunk { leaves, count: 0, .. }] = &self.chunks[..]
            && leaves.len() == 1
        {
            self.drop_chunk(family, 0);
        }
    }

    fn drop_leaf(&mut self, family: Family, chunk_at: usize, leaf_at: usize) {
        let chunk = &mut self.chunks[chunk_at];
        let leaf = chunk.leaves.remove(leaf_at);
        chunk.count -= leaf.count as u64;
        chunk.dirty = true;
        self.bytes -= leaf.bytes();
        self.dirty_bytes -= leaf.dirty_bytes();
        self.gone.push((family.pages, leaf.fence));
    }

    /// Drops a chunk with its one page.
    fn drop_chunk(&mut self, family: Family, chunk_at: usize) {
        self.drop_leaf(family, chunk_at, 0);
        let chunk = self.chunks.remove(chunk_at);
        self.gone.push((family.chunks, chunk.fence));
    }

    /// Everything that differs from the records. Pages stay shared with the checkpoint until they change again.
    pub(super) fn freeze(&mut self, id: u64, family: Family, frozen: &mut Vec<(Vec<u8>, Frozen)>) {
        self.dirty_bytes = 0;
        for (tag, fence) in std::mem::take(&mut self.gone) {
            if !self.is_in_use(family, tag, &fence) {
                frozen.push((record_key(id, tag, &fence), Frozen::Gone));
            }
        }
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.dirty) {
            chunk.dirty = false;
            for leaf in chunk.leaves.iter_mut().filter(|leaf| leaf.dirty) {
                leaf.dirty = false;
                let page = leaf.page.iter().map(|page| Frozen::Page(Arc::clone(page)));
                frozen.extend(page.map(|page| (record_key(id, family.pages, &leaf.fence), page)));
            }
            frozen.push((record_key(id, family.chunks, &chunk.fence), Frozen::Chunk(chunk.pack())));
        }
    }

    fn is_in_use(&self, family: Family, tag: u8, fence: &[u8]) -> bool {
        if tag == family.chunks {
            return self.chunks.binary_search_by(|chunk| (*chunk.fence).cmp(fence)).is_ok();
        }
        self.position(fence).is_some_and(|(chunk, leaf)| *self.chunks[chunk].leaves[leaf].fence == *fence)
    }

    /// Lets go of pages that the records have too and that were not used since last time, until as much is free as is
    /// wanted or enough of them were looked at.
    pub(super) fn evict(&mut self, wanted_bytes: usize, visits: &mut usize) {
        let enough = self.bytes.saturating_sub(wanted_bytes);
        for _ in 0..self.chunks.len() {
            if self.bytes <= enough || *visits == 0 {
                return;
            }
            self.hand = (self.hand + 1) % self.chunks.len();
            for leaf in &mut self.chunks[self.hand].leaves {
                *visits = visits.saturating_sub(1);
                if !leaf.dirty && !std::mem::take(leaf.used.get_mut()) {
                    self.bytes -= leaf.page.take().map_or(0, |page| page.memory_bytes());
                }
            }
        }
    }
}

impl Chunk {
    fn split_off(&mut self, at: usize) -> Self {
        let leaves = self.leaves.split_off(at);
        let count = leaves.iter().map(|leaf| leaf.count as u64).sum();
        self.count -= count;
        let fence = leaves.first().map(|leaf| leaf.fence.clone()).unwrap_or_default();
        Self { fence, leaves, count, dirty: true }
    }

    fn pack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.leaves.len() as u64);
        for leaf in &self.leaves {
            put_bytes(&mut out, &leaf.fence);
            put_varint(&mut out, leaf.count as u64);
        }
        out
    }

    fn unpack(fence: &[u8], bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let mut leaves = Vec::new();
        for _ in 0..reader.count()? {
            let (fence, count) = (reader.bytes()?.into(), reader.count()?);
            leaves.push(Leaf { fence, count, page: None, dirty: false, used: AtomicBool::new(false) });
        }
        let sorted = leaves.is_sorted_by(|a: &Leaf, b| a.fence < b.fence);
        if leaves.is_empty() || !sorted || !reader.is_empty() {
            return Err(Malformed);
        }
        let count = leaves.iter().map(|leaf| leaf.count as u64).sum();
        Ok(Self { fence: fence.into(), leaves, count, dirty: false })
    }
}

/// The key of a collection's record among all records.
pub(super) fn record_key(id: u64, tag: u8, fence: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[tag], fence].concat()
}

pub(super) fn damaged(id: u64) -> Error {
    Error::Corrupt(format!("a record of large collection {id} does not read back"))
}
