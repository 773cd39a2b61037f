//! A list: values by position, pushed and taken at either end.
//!
//! A small one is held whole. Of a large one, positions count up at the back and down at the front, so neither end ever
//! renumbers the other.

use std::collections::VecDeque;

use super::large::Large;
use super::payload::Payload;
use super::{SMALL_BYTES_MAX, Storage};
use crate::embedded::codec::{Malformed, Reader, put_column, put_varint};
use crate::embedded::records::Records;
use crate::{Atom, End, Result};

#[derive(Clone, Debug)]
pub(crate) enum List {
    Small { values: VecDeque<Atom>, heap_bytes: usize },
    Large { large: Box<Large>, first: i64 },
}

impl Default for List {
    fn default() -> Self {
        Self::Small { values: VecDeque::new(), heap_bytes: 0 }
    }
}

impl List {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Small { values, .. } => values.len() as u64,
            Self::Large { large, .. } => large.len(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Small { values, heap_bytes } => values.capacity() * size_of::<Atom>() + heap_bytes,
            Self::Large { large, .. } => large.bytes(),
        }
    }

    pub(crate) fn push(&mut self, end: End, value: &Atom, storage: Storage<'_>) -> Result<()> {
        match self {
            Self::Small { values, heap_bytes } => {
                *heap_bytes += value.heap_bytes();
                match end {
                    End::Front => values.push_front(value.clone()),
                    End::Back => values.push_back(value.clone()),
                }
                if values.len() > Atom::SMALL_ELEMENTS_MAX || *heap_bytes > SMALL_BYTES_MAX {
                    self.grow(storage)?;
                }
                Ok(())
            }
            Self::Large { large, first } => {
                let position = match end {
                    End::Front => *first - 1,
                    End::Back => *first + large.len().cast_signed(),
                };
                large.put_at(position, value, storage.records)?;
                *first -= i64::from(end == End::Front);
                Ok(())
            }
        }
    }

    pub(crate) fn pop(&mut self, end: End, records: &Records) -> Result<Option<Atom>> {
        match self {
            Self::Small { values, heap_bytes } => {
                let value = match end {
                    End::Front => values.pop_front(),
                    End::Back => values.pop_back(),
                };
                *heap_bytes -= value.as_ref().map_or(0, Atom::heap_bytes);
                Ok(value)
            }
            Self::Large { large, first } => {
                if large.len() == 0 {
                    return Ok(None);
                }
                let position = match end {
                    End::Front => *first,
                    End::Back => *first + large.len().cast_signed() - 1,
                };
                let value = large.take_at(position, records)?;
                *first += i64::from(end == End::Front);
                Ok(Some(value))
            }
        }
    }

    /// At most `limit` values from a position on.
    pub(crate) fn range(&self, start: u64, limit: u64, records: &Records) -> Result<Vec<Atom>> {
        let start = start.min(self.len());
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        match self {
            Self::Small { values, .. } => {
                let skip = usize::try_from(start).unwrap_or(usize::MAX);
                Ok(values.iter().skip(skip).take(take).cloned().collect())
            }
            Self::Large { large, first } => {
                large.values_from(first + start.cast_signed(), records).take(take).collect()
            }
        }
    }

    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        if let Self::Small { values, .. } = self {
            put_varint(out, values.len() as u64);
            put_column(out, values.iter());
        }
    }

    pub(crate) fn unpack(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = reader.count()?;
        let values = VecDeque::from(reader.column(count)?);
        let heap_bytes = values.iter().map(Atom::heap_bytes).sum();
        Ok(Self::Small { values, heap_bytes })
    }

    fn grow(&mut self, storage: Storage<'_>) -> Result<()> {
        let Self::Small { values, .. } = std::mem::take(self) else { return Ok(()) };
        *self = Self::Large { large: Box::new(Large::new(storage.ids.next())), first: 0 };
        values.iter().try_for_each(|value| self.push(End::Back, value, storage))
    }
}
