//! A large collection's entries, in order of their keys.
//!
//! The directory is read when it is first needed and then stays in memory; pages come and go. A page that differs from
//! its record is dirty, and stays until a checkpoint has it.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::directory::{Chunk, Directory, Leaf, damaged, record_key};
use super::finger::Finger;
use super::page::Page;
use super::walk::Walk;
use crate::embedded::records::{Records, Space};
use crate::{Order, Result};

/// The first bytes of the records of a tree, by which a collection's trees are told apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) pages: u8,
    pub(super) chunks: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    id: u64,
    family: Family,
    directory: OnceLock<Directory>,
}

/// Where a key is, or would go. Good until the tree is changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) chunk: usize,
    pub(super) leaf: usize,
    /// Within the page: where the key is, or where it would go.
    pub(super) at: Result<usize, usize>,
}

/// What a checkpoint writes under the key of a record.
#[derive(Debug)]
pub(crate) enum Frozen {
    Page(Arc<Page>),
    Chunk(Vec<u8>),
    Gone,
}

/// A page that was in memory, or that was read just now.
pub(super) enum Held<'a> {
    Resident(&'a Page),
    Read(Page),
}

impl std::ops::Deref for Held<'_> {
    type Target = Page;

    fn deref(&self) -> &Page {
        match self {
            Self::Resident(page) => page,
            Self::Read(page) => page,
        }
    }
}

impl Tree {
    pub(super) fn new(id: u64, family: Family) -> Self {
        Self { id, family, directory: OnceLock::from(Directory::default()) }
    }

    /// One whose directory is in the records.
    pub(super) fn stored(id: u64, family: Family) -> Self {
        Self { id, family, directory: OnceLock::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.directory.get().map_or(0, |directory| directory.bytes)
    }

    pub(super) fn dirty_bytes(&self) -> usize {
        self.directory.get().map_or(0, |directory| directory.dirty_bytes)
    }

    /// To look keys up.
    pub(super) fn finger<'a>(&'a self, records: &'a Records) -> Finger<'a> {
        Finger::new(self, records)
    }

    /// Brings the page of a key into memory; locating it then does not fail.
    pub(super) fn fetch(&mut self, key: &[u8], records: &Records) -> Result<()> {
        self.turn_to(key, records).map(|_| ())
    }

    /// Finds the place of a key, and brings its page into memory.
    pub(super) fn locate(&mut self, key: &[u8], records: &Records) -> Result<Place> {
        let (directory, chunk, leaf) = self.turn_to(key, records)?;
        let at = match &directory.chunks[chunk].leaves[leaf].page {
            Some(page) => page.find_near(key, directory.last_at),
            None => Err(0),
        };
        let (Ok(last_at) | Err(last_at)) = at;
        directory.last_at = last_at;
        Ok(Place { chunk, leaf, at })
    }

    /// The chunk and leaf that cover a key, with the page in memory.
    fn turn_to(&mut self, key: &[u8], records: &Records) -> Result<(&mut Directory, usize, usize)> {
        self.directory(records)?;
        let directory = self.directory.get_mut().ok_or_else(|| damaged(self.id))?;
        let (chunk, leaf) = directory.turn_to(key);
        let found = &mut directory.chunks[chunk].leaves[leaf];
        *found.used.get_mut() = true;
        if found.page.is_none() {
            let page = read_page(self.id, self.family, &found.fence, records)?;
            directory.bytes += page.memory_bytes();
            found.page = Some(Arc::new(page));
        }
        Ok((directory, chunk, leaf))
    }

    /// What is at a place just located.
    pub(super) fn value(&self, place: Place) -> Option<&[u8]> {
        let leaf = &self.directory.get()?.chunks[place.chunk].leaves[place.leaf];
        Some(leaf.page.as_ref()?.value(place.at.ok()?))
    }

    pub(super) fn put(&mut self, place: Place, key: &[u8], value: &[u8]) {
        let Some(directory) = self.directory.get_mut() else { return };
        directory.change(place, |page| match place.at {
            Ok(at) => page.replace(at, value),
            Err(at) => page.insert(at, key, value),
        });
        directory.split_if_full(place);
    }

    pub(super) fn remove(&mut self, place: Place) {
        if let (Some(directory), Ok(at)) = (self.directory.get_mut(), place.at) {
            directory.change(place, |page| page.remove(at));
            directory.join_if_sparse(self.family, place);
        }
    }

    pub(super) fn is_empty(&self, records: &Records) -> Result<bool> {
        Ok(self.directory(records)?.chunks.is_empty())
    }

    /// The first key whose value is right, where all values after a right one are right.
    pub(super) fn first(&self, records: &Records, is_right: impl Fn(&[u8]) -> Result<bool>) -> Result<Option<Vec<u8>>> {
        let chunks = &self.directory(records)?.chunks;
        // Only the first page of all, or of a chunk, can be empty.
        let is_early = |leaf: &Leaf| Ok(leaf.count == 0 || !is_right(self.page(leaf, records)?.value(0))?);
        let first_of = |chunk: &Chunk| chunk.leaves.iter().position(|leaf| leaf.count > 0);
        let chunk_at = partition(chunks.len(), |at| match first_of(&chunks[at]) {
            Some(leaf) => is_early(&chunks[at].leaves[leaf]),
            None => Ok(true),
        })?;
        // It is in the last page that begins too early, or the first key after that.
        if let Some(chunk) = chunk_at.checked_sub(1).map(|at| &chunks[at]) {
            let leaf_at = partition(chunk.leaves.len(), |at| is_early(&chunk.leaves[at]))?;
            let page = self.page(&chunk.leaves[leaf_at.saturating_sub(1)], records)?;
            let at = partition(page.len(), |at| Ok(!is_right(page.value(at))?))?;
            if at < page.len() {
                return Ok(Some(page.key(at)));
            }
            if let Some(leaf) = chunk.leaves.get(leaf_at) {
                return Ok(Some(self.page(leaf, records)?.key(0)));
            }
        }
        let after = chunks.get(chunk_at).and_then(|chunk| chunk.leaves.get(first_of(chunk)?));
        after.map(|leaf| Ok(self.page(leaf, records)?.key(0))).transpose()
    }

    /// What is read from the values before and after a place just located.
    pub(super) fn around<R>(
        &self,
        place: Place,
        records: &Records,
        read: impl Fn(&[u8]) -> R,
    ) -> Result<(Option<R>, Option<R>)> {
        let directory = self.directory(records)?;
        let page = self.page(&directory.chunks[place.chunk].leaves[place.leaf], records)?;
        let (before, after) = match place.at {
            Ok(at) => (at.checked_sub(1), at + 1),
            Err(at) => (at.checked_sub(1), at),
        };
        let last = |leaf| self.page(leaf, records).map(|page| read(page.value(page.len() - 1)));
        let before = match before {
            Some(at) => Some(read(page.value(at))),
            None => directory.leaf_before(place).map(last).transpose()?,
        };
        let first = |leaf| self.page(leaf, records).map(|page| read(page.value(0)));
        let after = if after < page.len() {
            Some(read(page.value(after)))
        } else {
            directory.leaf_after(place).map(first).transpose()?
        };
        Ok((before, after))
    }

    /// How many keys are below this one.
    pub(super) fn count_below(&self, key: &[u8], records: &Records) -> Result<u64> {
        let directory = self.directory(records)?;
        let Some((chunk, leaf)) = directory.position(key) else { return Ok(0) };
        let chunks: u64 = directory.chunks[..chunk].iter().map(|chunk| chunk.count).sum();
        let leaves = &directory.chunks[chunk].leaves;
        let pages: usize = leaves[..leaf].iter().map(|leaf| leaf.count).sum();
        let (Ok(at) | Err(at)) = self.page(&leaves[leaf], records)?.find(key);
        Ok(chunks + (pages + at) as u64)
    }

    /// Keys and values of a range, in order, read as they are asked for.
    pub(super) fn range<'a>(
        &'a self,
        range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
        order: Order,
        records: &'a Records,
    ) -> impl Iterator<Item = Result<(Vec<u8>, Vec<u8>)>> + use<'a> {
        let mut walk = Walk::new(self, range, order, records);
        std::iter::from_fn(move || walk.next().transpose())
    }

    pub(super) fn freeze(&mut self, frozen: &mut Vec<(Vec<u8>, Frozen)>) {
        if let Some(directory) = self.directory.get_mut() {
            directory.freeze(self.id, self.family, frozen);
        }
    }

    pub(super) fn evict(&mut self, wanted_bytes: usize, visits: &mut usize) {
        if let Some(directory) = self.directory.get_mut() {
            directory.evict(wanted_bytes, visits);
        }
    }

    pub(super) fn directory(&self, records: &Records) -> Result<&Directory> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let read = Directory::read(self.id, self.family, records)?;
        Ok(self.directory.get_or_init(|| read))
    }

    pub(super) fn page<'a>(&self, leaf: &'a Leaf, records: &Records) -> Result<Held<'a>> {
        leaf.used.store(true, Ordering::Relaxed);
        match &leaf.page {
            Some(page) => Ok(Held::Resident(page)),
            None => read_page(self.id, self.family, &leaf.fence, records).map(Held::Read),
        }
    }
}

fn read_page(id: u64, family: Family, fence: &[u8], records: &Records) -> Result<Page> {
    let record = records.get(Space::Elements, &record_key(id, family.pages, fence))?;
    record.and_then(|record| Page::unpack(&record).ok()).ok_or_else(|| damaged(id))
}

/// How many of so many things come first, where those that do are before those that do not.
fn partition(count: usize, is_early: impl Fn(usize) -> Result<bool>) -> Result<usize> {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = usize::midpoint(from, to);
        if is_early(middle)? {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from)
}
