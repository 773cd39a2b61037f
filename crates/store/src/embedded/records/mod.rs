//! Where checkpoints go: four ordered maps of bytes, changed together or not at all.
//!
//! On disk that is fjall; `memory:` keeps the same bytes in the same order without a directory. Nothing above this
//! file knows which.

mod disk;
mod intact;
mod memory;

use std::io::ErrorKind;
use std::ops::Bound;
use std::path::Path;

pub(crate) use fjall::Slice;

use crate::{Error, Order, Result};
use disk::Disk;
use memory::Memory;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    /// Account and key → header and packed object.
    Objects,
    /// Object id and sub-key → one element of a large collection.
    Elements,
    /// Time and key → nothing: look there then, something may have expired.
    Hints,
    /// The position of the checkpoint, and the large objects whose elements are still to be removed.
    Meta,
}

impl Space {
    const ALL: [(Self, &str); 4] =
        [(Self::Objects, "objects"), (Self::Elements, "elements"), (Self::Hints, "hints"), (Self::Meta, "meta")];
}

/// One record written, or removed.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) space: Space,
    pub(crate) key: Slice,
    pub(crate) value: Option<Slice>,
}

impl Change {
    pub(crate) fn put(space: Space, key: impl Into<Slice>, value: impl Into<Slice>) -> Self {
        Self { space, key: key.into(), value: Some(value.into()) }
    }

    pub(crate) fn remove(space: Space, key: impl Into<Slice>) -> Self {
        Self { space, key: key.into(), value: None }
    }
}

pub(crate) type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);
pub(crate) type Found = Result<(Slice, Slice)>;

#[derive(Debug)]
pub(crate) enum Records {
    Disk(Disk),
    Memory(Memory),
    /// For who must not wait for a disk: whatever is asked of it would block.
    OutOfReach,
}

impl Records {
    pub(crate) fn open(path: &Path, memory_bytes: usize) -> Result<Self> {
        Disk::open(path, memory_bytes).map(Self::Disk)
    }

    pub(crate) fn in_memory() -> Self {
        Self::Memory(Memory::default())
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        match self {
            Self::Disk(disk) => disk.get(space, key),
            Self::Memory(memory) => Ok(memory.get(space, key)),
            Self::OutOfReach => Err(would_block()),
        }
    }

    /// The records of a range, read as they are asked for.
    pub(crate) fn range<'a>(
        &'a self,
        space: Space,
        range: Range<'_>,
        order: Order,
    ) -> Box<dyn Iterator<Item = Found> + 'a> {
        match self {
            Self::Disk(disk) => disk.range(space, range, order),
            Self::Memory(memory) => Box::new(memory.range(space, range, order)),
            Self::OutOfReach => Box::new(std::iter::once(Err(would_block()))),
        }
    }

    /// All of it, synced, or none.
    pub(crate) fn write(&self, changes: Vec<Change>) -> Result<()> {
        match self {
            Self::Disk(disk) => disk.write(changes),
            Self::Memory(memory) => {
                memory.write(changes);
                Ok(())
            }
            Self::OutOfReach => Err(would_block()),
        }
    }
}

fn would_block() -> Error {
    Error::Io { doing: "reading where nobody may wait".into(), source: ErrorKind::WouldBlock.into() }
}

pub(crate) fn is_would_block(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::WouldBlock)
}
