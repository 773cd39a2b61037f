//! Hashes, sets and sorted sets: elements with something to each.
//!
//! A hash's elements carry a value, a sorted set's a score, a set's nothing. Apart from that the three are one thing:
//! [`Small`] ones are held whole and kept as one packed record, [`Large`] ones are a record a page, of which memory holds
//! what has changed since the last checkpoint and what was used lately.

mod directory;
mod finger;
mod large;
mod list;
mod moves;
mod page;
mod payload;
mod ranks;
mod small;
mod sorted;
mod tree;
mod walk;

pub(crate) use large::Large;
pub(crate) use list::List;
pub(crate) use payload::Payload;
pub(crate) use small::Small;
pub(crate) use tree::Frozen;

use std::sync::atomic::{AtomicU64, Ordering};

use super::cursor::Scan;
use super::records::Records;
use crate::{Atom, Cursor, Result};

/// A collection with more bytes in memory, or more elements than [`Payload::SMALL_ELEMENTS_MAX`], is kept in pages.
pub(crate) const SMALL_BYTES_MAX: usize = 32 * 1_024;

#[derive(Clone, Debug)]
pub(crate) enum Collection<V> {
    Small(Small<V>),
    Large(Box<Large>),
}

/// Some of the elements, and where the scan goes on.
pub(crate) type Page<V> = (Vec<(Atom, V)>, Option<Cursor>);

/// What a collection needs to reach its elements and, when it grows, to become large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage<'a> {
    pub(crate) records: &'a Records,
    pub(crate) ids: &'a Ids,
}

/// Names for collections that become large: each once, never again.
#[derive(Debug, Default)]
pub(crate) struct Ids(AtomicU64);

impl Ids {
    pub(crate) fn starting_at(next: u64) -> Self {
        Self(AtomicU64::new(next))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<V> Default for Collection<V> {
    fn default() -> Self {
        Self::Small(Small::default())
    }
}

impl<V: Payload> Collection<V> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Small(small) => small.len() as u64,
            Self::Large(large) => large.len(),
        }
    }

    pub(crate) fn get(&self, element: &Atom, records: &Records) -> Result<Option<V>> {
        match self {
            Self::Small(small) => Ok(small.get(element).cloned()),
            Self::Large(large) => Ok(large.get_many([element].into_iter(), records)?.pop().flatten()),
        }
    }

    /// What each element carries.
    pub(crate) fn get_many(&self, elements: &[Atom], records: &Records) -> Result<Vec<Option<V>>> {
        match self {
            Self::Small(small) => Ok(elements.iter().map(|element| small.get(element).cloned()).collect()),
            Self::Large(large) => large.get_many(elements.iter(), records),
        }
    }

    /// Whether each element carries what is said.
    pub(crate) fn all_are(&self, elements: &[(Atom, Option<V>)], records: &Records) -> Result<bool>
    where
        V: PartialEq,
    {
        match self {
            Self::Small(small) => Ok(elements.iter().all(|(element, is)| small.get(element) == is.as_ref())),
            Self::Large(large) => large.all_are(elements, records),
        }
    }

    /// Sets what an element carries, and answers what it carried before.
    pub(crate) fn put(&mut self, element: &Atom, payload: V, storage: Storage<'_>) -> Result<Option<V>> {
        self.update(element, storage, |_| Ok(Some(payload)))
    }

    /// Sets what an element carries to something made of what it carries now; `None` leaves it. Answers what it
    /// carried before.
    pub(crate) fn update(
        &mut self,
        element: &Atom,
        storage: Storage<'_>,
        change: impl FnOnce(Option<&V>) -> Result<Option<V>>,
    ) -> Result<Option<V>> {
        match self {
            Self::Small(small) => {
                let previous = small.update(element, change)?;
                if small.len() > V::SMALL_ELEMENTS_MAX || small.bytes() > SMALL_BYTES_MAX {
                    let large = Large::from_small(storage.ids.next(), small, storage.records)?;
                    *self = Self::Large(Box::new(large));
                }
                Ok(previous)
            }
            Self::Large(large) => large.update(element, storage.records, change),
        }
    }

    pub(crate) fn remove(&mut self, element: &Atom, records: &Records) -> Result<Option<V>> {
        match self {
            Self::Small(small) => Ok(small.remove(element)),
            Self::Large(large) => large.remove(element, records),
        }
    }

    /// Everything, in no order.
    pub(crate) fn all(&self, records: &Records) -> Result<Vec<(Atom, V)>> {
        match self {
            Self::Small(small) => Ok(small.iter().cloned().collect()),
            Self::Large(large) => large.elements(None, records).collect(),
        }
    }

    /// A page of a scan. A small collection is one page, as in Redis.
    pub(crate) fn page(&self, scan: Scan, cursor: Option<&Cursor>, limit: u32, records: &Records) -> Result<Page<V>> {
        let Self::Large(large) = self else {
            return Ok((self.all(records)?, None));
        };
        let after = cursor.map(|cursor| scan.last_seen(cursor).map(Atom::from_bytes)).transpose()?;
        let limit = limit.max(1) as usize;
        let page: Vec<_> = large.elements(after.as_ref(), records).take(limit).collect::<Result<_>>()?;
        let next = match page.last() {
            Some((last, _)) if page.len() == limit => Some(scan.cursor_after(&last.as_bytes())),
            _ => None,
        };
        Ok((page, next))
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Small(small) => small.bytes(),
            Self::Large(large) => large.bytes(),
        }
    }
}
