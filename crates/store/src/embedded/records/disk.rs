//! Records on disk, in fjall.
//!
//! fjall checks its blocks when it reads them, so damage in its tables comes back as an error. Damage in its journal
//! does not: recovery cuts the journal at the first byte it cannot read. The checkpoint's position is therefore
//! written with every checkpoint and compared with the log's first record when the store is opened (`recovery.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fjall::config::{BlockSizePolicy, CompressionPolicy, PartitioningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Change, Found, Range, Slice, Space, intact};
use crate::{Error, Order, Result};

/// Shares of the memory budget: what fjall may cache of its tables, and what each space may hold back from them.
const CACHE_SHARE: usize = 12;
const WRITE_BUFFER_SHARE: usize = 32;
const WRITE_BUFFER_BYTES_MAX: usize = 32 * 1_024 * 1_024;
/// By level. What changes often is written again before it sinks, and would be compressed each time for nothing.
const COMPRESSION: [CompressionType; 3] = [CompressionType::None, CompressionType::None, CompressionType::Lz4];
/// How long a checkpoint waits for fjall's buffers to empty.
const SETTLE_MAX: Duration = Duration::from_secs(10);
/// The least fjall takes; it is read through when a store is opened.
const JOURNAL_BYTES: u64 = 64 * 1_024 * 1_024;

pub(crate) struct Disk {
    path: PathBuf,
    database: Database,
    spaces: [Keyspace; 4],
    /// What the buffers of all spaces may hold between two checkpoints.
    write_buffers_bytes: u64,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Disk {
    pub(crate) fn open(path: &Path, memory_bytes: usize) -> Result<Self> {
        intact::check(path)?;
        let open = || -> Result<Self, fjall::Error> {
            let database = Database::builder(path)
                .cache_size((memory_bytes / CACHE_SHARE) as u64)
                .max_journaling_size(JOURNAL_BYTES)
                .journal_compression(CompressionType::None)
                .worker_threads(1)
                .open()?;
            let write_buffer = (memory_bytes / WRITE_BUFFER_SHARE).min(WRITE_BUFFER_BYTES_MAX) as u64;
            // Filters and indexes in parts: whole, those of a large table are megabytes, read anew for every lookup
            // that finds them gone from the cache.
            let options = || {
                KeyspaceCreateOptions::default()
                    .max_memtable_size(write_buffer)
                    .data_block_size_policy(BlockSizePolicy::all(8 * 1_024))
                    .data_block_compression_policy(CompressionPolicy::new(COMPRESSION))
                    .filter_block_partitioning_policy(PartitioningPolicy::all(true))
                    .index_block_partitioning_policy(PartitioningPolicy::all(true))
                    .manual_journal_persist(true)
            };
            let [objects, elements, hints, meta] = Space::ALL.map(|(_, name)| database.keyspace(name, options));
            let spaces = [objects?, elements?, hints?, meta?];
            Ok(Self { path: path.into(), write_buffers_bytes: write_buffer * spaces.len() as u64, spaces, database })
        };
        // Damaged files can make fjall's recovery panic; that is damage to report, not a bug of the caller's.
        match catch_unwind(AssertUnwindSafe(open)) {
            Ok(opened) => opened.map_err(|error| translate(path, error)),
            Err(_) => Err(Error::Corrupt(format!("{}: recovery failed", path.display()))),
        }
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        self.space(space).get(key).map_err(|error| translate(&self.path, error))
    }

    pub(crate) fn range(&self, space: Space, range: Range<'_>, order: Order) -> Box<dyn Iterator<Item = Found> + '_> {
        let found = self.space(space).range::<&[u8], _>(range);
        let read = |guard: fjall::Guard| guard.into_inner().map_err(|error| translate(&self.path, error));
        match order {
            Order::Ascending => Box::new(found.map(read)),
            Order::Descending => Box::new(found.rev().map(read)),
        }
    }

    pub(crate) fn write(&self, changes: Vec<Change>) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
        for Change { space, key, value } in changes {
            match value {
                Some(value) => batch.insert(self.space(space), key, value),
                None => batch.remove(self.space(space), key),
            }
        }
        batch.commit().map_err(|error| translate(&self.path, error))?;
        self.settle();
        Ok(())
    }

    /// Gives fjall time to write its buffers out. A checkpoint goes into them at once; without this, the next ones
    /// would pile up behind it, in memory.
    fn settle(&self) {
        let patience = Instant::now() + SETTLE_MAX;
        while self.database.write_buffer_size() > self.write_buffers_bytes && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[space as usize]
    }
}

fn translate(path: &Path, error: fjall::Error) -> Error {
    match error {
        fjall::Error::Locked => Error::Locked(path.parent().unwrap_or(path).into()),
        fjall::Error::Io(source) => Error::Io { doing: format!("using {}", path.display()), source },
        fjall::Error::Poisoned => Error::Poisoned("an earlier write to its records failed".into()),
        other => Error::Corrupt(format!("{}: {other}", path.display())),
    }
}
