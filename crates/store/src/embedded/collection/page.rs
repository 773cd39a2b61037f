//! A page of a large collection: some of its entries, sorted by key, in one piece of memory.
//!
//! Keys that stand next to each other begin alike (a bucket's members with the bucket, a moment's with the moment), so
//! what all keys of a page begin with is held once. An entry is the length of the rest of its key, that rest, and the
//! value up to where the next entry starts.

use std::cmp::Ordering;
use std::ops::Range;

use crate::embedded::codec::{Malformed, Reader, put_bytes, put_varint, varint_len, write_varint};

/// A page with more bytes than this is split in two. Larger pages are fewer; smaller ones move less for an insertion.
const PAGE_BYTES_MAX: usize = 4_096;
/// A page with fewer is joined with its neighbour, where the two fit.
const PAGE_BYTES_MIN: usize = PAGE_BYTES_MAX / 4;
/// How much a page grows at a time: twice the size, as vectors do, would leave a third of memory unused.
const GROWTH_BYTES: usize = 512;
const GROWTH_ENTRIES: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    prefix: Box<[u8]>,
    /// Where each entry ends.
    ends: Vec<u32>,
    entries: Vec<u8>,
}

impl Page {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        const ARC_BYTES: usize = 16;
        let heap = self.prefix.len() + self.ends.capacity() * size_of::<u32>() + self.entries.capacity();
        size_of::<Self>() + ARC_BYTES + heap
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() > PAGE_BYTES_MAX && self.len() > 1
    }

    pub(super) fn fits_with(&self, other: &Self) -> bool {
        self.entries.len() < PAGE_BYTES_MIN && self.entries.len() + other.entries.len() < PAGE_BYTES_MAX / 2
    }

    /// Where the key is, or would go.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        self.search(self.rest_of(key)?, 0..self.len())
    }

    /// The same, at once where it is at another place or at the next.
    pub(super) fn find_near(&self, key: &[u8], near: usize) -> Result<usize, usize> {
        let rest = self.rest_of(key)?;
        let mut within = 0..self.len();
        for at in [near, near + 1].into_iter().filter(|at| *at < self.len()) {
            match self.entry(at).0.cmp(rest) {
                Ordering::Less => within.start = at + 1,
                Ordering::Equal => return Ok(at),
                Ordering::Greater => {
                    within.end = at;
                    break;
                }
            }
        }
        self.search(rest, within)
    }

    /// What a key has after the prefix, or where it would go because it does not begin with it.
    fn rest_of<'a>(&self, key: &'a [u8]) -> Result<&'a [u8], usize> {
        key.strip_prefix(&*self.prefix).ok_or_else(|| if *key < *self.prefix { 0 } else { self.len() })
    }

    fn search(&self, rest: &[u8], within: Range<usize>) -> Result<usize, usize> {
        let (mut from, mut to) = (within.start, within.end);
        while from < to {
            let middle = usize::midpoint(from, to);
            match self.entry(middle).0.cmp(rest) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(from)
    }

    pub(super) fn key(&self, at: usize) -> Vec<u8> {
        [&self.prefix, self.entry(at).0].concat()
    }

    pub(super) fn value(&self, at: usize) -> &[u8] {
        self.entry(at).1
    }

    pub(super) fn insert(&mut self, at: usize, key: &[u8], value: &[u8]) {
        if self.ends.is_empty() {
            self.prefix = key.into();
        } else if !key.starts_with(&self.prefix) {
            self.shorten_prefix(common(&self.prefix, key));
        }
        let rest = &key[self.prefix.len()..];
        let start = self.start(at);
        let rest_at = start + varint_len(rest.len() as u64);
        let value_at = rest_at + rest.len();
        let end = value_at + value.len();
        self.make_room(start..start, end - start);
        write_varint(&mut self.entries[start..rest_at], rest.len() as u64);
        self.entries[rest_at..value_at].copy_from_slice(rest);
        self.entries[value_at..end].copy_from_slice(value);
        if self.ends.len() == self.ends.capacity() {
            self.ends.reserve_exact(GROWTH_ENTRIES);
        }
        self.ends.insert(at, as_end(end));
        self.move_ends(at + 1, start, end);
    }

    pub(super) fn replace(&mut self, at: usize, value: &[u8]) {
        let end = self.end(at);
        let start = end - self.value(at).len();
        self.make_room(start..end, value.len());
        self.entries[start..start + value.len()].copy_from_slice(value);
        self.move_ends(at, end, start + value.len());
    }

    pub(super) fn remove(&mut self, at: usize) {
        let (start, end) = (self.start(at), self.end(at));
        self.make_room(start..end, 0);
        self.ends.remove(at);
        self.move_ends(at, end, start);
    }

    /// Takes the entries from a place on into a page of their own.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let after = self.part(at..self.len());
        *self = self.part(0..at);
        after
    }

    /// The place that halves the bytes.
    pub(super) fn middle(&self) -> usize {
        let half = as_end(self.entries.len() / 2);
        self.ends.partition_point(|end| *end <= half).clamp(1, self.len() - 1)
    }

    /// Adds all entries of a page that comes after this one.
    pub(super) fn append(&mut self, after: &Self) {
        for at in 0..after.len() {
            self.insert(self.len(), &after.key(at), after.value(at));
        }
    }

    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.entries.len() + self.len() + self.prefix.len() + 8);
        put_varint(&mut out, self.len() as u64);
        put_bytes(&mut out, &self.prefix);
        for at in 0..self.len() {
            put_bytes(&mut out, &self.entries[self.start(at)..self.end(at)]);
        }
        out
    }

    pub(super) fn unpack(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let count = reader.count()?;
        let prefix = reader.bytes()?.into();
        let mut page = Self { prefix, ends: Vec::new(), entries: Vec::with_capacity(bytes.len()) };
        let mut last: Option<&[u8]> = None;
        for _ in 0..count {
            let entry = reader.bytes()?;
            let rest = Reader::new(entry).bytes()?;
            if last.is_some_and(|last| last >= rest) {
                return Err(Malformed);
            }
            last = Some(rest);
            page.entries.extend_from_slice(entry);
            page.ends.push(u32::try_from(page.entries.len()).map_err(|_| Malformed)?);
        }
        page.ends.shrink_to_fit();
        page.entries.shrink_to_fit();
        if reader.is_empty() { Ok(page) } else { Err(Malformed) }
    }

    /// The rest of an entry's key, and its value.
    fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        let entry = &self.entries[self.start(at)..self.end(at)];
        // One byte of length, nearly always.
        if let [length @ 0..0x80, rest @ ..] = entry {
            return rest.split_at(usize::from(*length));
        }
        let mut reader = Reader::new(entry);
        let rest = reader.bytes().unwrap_or_default();
        (rest, reader.rest())
    }

    fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.end(at - 1) }
    }

    fn end(&self, at: usize) -> usize {
        self.ends[at] as usize
    }

    /// Makes a range of the entries' bytes as long as wanted, moving what comes after it.
    fn make_room(&mut self, range: Range<usize>, wanted: usize) {
        let length = self.entries.len();
        if wanted > range.len() {
            let more = wanted - range.len();
            if length + more > self.entries.capacity() {
                self.entries.reserve_exact(more.max(GROWTH_BYTES));
            }
            self.entries.resize(length + more, 0);
            self.entries.copy_within(range.end..length, range.end + more);
        } else if wanted < range.len() {
            let less = range.len() - wanted;
            self.entries.copy_within(range.end..length, range.end - less);
            self.entries.truncate(length - less);
        }
    }

    /// What ended at `old` now ends at `new`, and all entries from one on with it.
    fn move_ends(&mut self, from: usize, old: usize, new: usize) {
        let by = as_end(new).wrapping_sub(as_end(old));
        for end in &mut self.ends[from..] {
            *end = end.wrapping_add(by);
        }
    }

    /// Some of the entries, with as long a prefix as they allow.
    fn part(&self, range: Range<usize>) -> Self {
        let more = match (range.clone().next(), range.clone().next_back()) {
            (Some(first), Some(last)) => common(self.entry(first).0, self.entry(last).0),
            _ => return Self::default(),
        };
        let prefix = [&self.prefix, &self.entry(range.start).0[..more]].concat();
        self.with_prefix(range, prefix.into(), &[], more)
    }

    fn shorten_prefix(&mut self, length: usize) {
        let (prefix, given_back) = self.prefix.split_at(length);
        *self = self.with_prefix(0..self.len(), prefix.into(), given_back, 0);
    }

    /// Some of the entries under another prefix: `before` goes in front of what is left of each key, without its first
    /// bytes as many as `skip`.
    fn with_prefix(&self, range: Range<usize>, prefix: Box<[u8]>, before: &[u8], skip: usize) -> Self {
        let bytes = self.start(range.end) - self.start(range.start) + range.len() * before.len();
        let mut page = Self {
            prefix,
            ends: Vec::with_capacity(range.len() + GROWTH_ENTRIES),
            entries: Vec::with_capacity(bytes + GROWTH_BYTES),
        };
        for at in range {
            let (rest, value) = self.entry(at);
            let rest = &rest[skip..];
            put_varint(&mut page.entries, (before.len() + rest.len()) as u64);
            page.entries.extend_from_slice(before);
            page.entries.extend_from_slice(rest);
            page.entries.extend_from_slice(value);
            page.ends.push(as_end(page.entries.len()));
        }
        page
    }
}

/// How many bytes the two begin with in common.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A page is far smaller than this: it is split at four kilobytes, and no value is longer than a record may be.
fn as_end(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Keys with much and with little in common, values short and long.
    fn random_key(rng: &mut fastrand::Rng) -> Vec<u8> {
        let head = ["", "1700000000:", "1700000060:", "17"][rng.usize(..4)];
        let tail = if rng.u8(..10) == 0 { "x".repeat(200) } else { rng.u32(..40).to_string() };
        [head, &tail].concat().into_bytes()
    }

    #[test]
    fn a_page_is_an_ordered_map() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (mut page, mut model) = (Page::default(), BTreeMap::new());
            for _ in 0..rng.usize(..150) {
                let (key, value) = (random_key(&mut rng), vec![7u8; rng.usize(..20)]);
                let found = page.find(&key);
                assert_eq!(found.is_ok(), model.contains_key(&key));
                match found {
                    Ok(at) if rng.bool() => {
                        page.remove(at);
                        model.remove(&key);
                    }
                    Ok(at) => {
                        page.replace(at, &value);
                        model.insert(key, value);
                    }
                    Err(at) => {
                        page.insert(at, &key, &value);
                        model.insert(key, value);
                    }
                }
            }
            let mut page = Page::unpack(&page.pack()).unwrap();
            if page.len() > 1 {
                let after = page.split_off(page.middle());
                assert!(after.len() > 0);
                page.append(&after);
            }
            let held: Vec<_> = (0..page.len()).map(|at| (page.key(at), page.value(at).to_vec())).collect();
            assert_eq!(held, model.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn damaged_bytes_are_no_page() {
        let mut page = Page::default();
        for key in ["a1", "a2", "a3"] {
            page.insert(page.len(), key.as_bytes(), b"v");
        }
        let packed = page.pack();
        for cut in 0..packed.len() {
            assert!(Page::unpack(&packed[..cut]).is_err(), "{cut}");
        }
        let unsorted = packed.iter().rev().copied().collect::<Vec<_>>();
        let _ = Page::unpack(&unsorted);
    }
}
