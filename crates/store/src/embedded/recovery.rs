//! Opening a store: the last checkpoint, then the log after it.

use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use super::channels::Channels;
use super::checkpoint::{Checkpointer, Meta};
use super::committer::{Committer, apply_ops};
use super::expiry::Sweeper;
use super::log::{Log, read_batches};
use super::options::{MEMORY_BYTES_MIN, Options};
use super::poison::Poison;
use super::records::Records;
use super::state::State;
use crate::{Error, Result};

pub(crate) const FORMAT_VERSION: u32 = 3;
const FORMAT_FILE: &str = "FORMAT";
const FORMAT_NAME: &str = "tickmark embedded store, format ";

/// The share of the memory budget that objects get. The rest is for fjall and for what is on its way.
const OBJECTS_SHARE: usize = 3;

pub(crate) fn recover(directory: Option<&Path>, options: &Options) -> Result<Committer> {
    let memory_bytes = options.memory_bytes.max(MEMORY_BYTES_MIN);
    let budget_bytes = memory_bytes / OBJECTS_SHARE;
    let (records, state, log) = match directory {
        None => (Records::in_memory(), State::new(0, budget_bytes), None),
        Some(directory) => {
            check_format(directory)?;
            let records = Records::open(&directory.join("records"), memory_bytes)?;
            let meta = Meta::read(&records)?;
            let mut state = State::new(meta.next_id, budget_bytes);
            let log = Log::open(&directory.join("log"), meta.position, |sequence, record| {
                replay(&mut state, &records, sequence, record)
            })?;
            (records, state, Some(log))
        }
    };
    let records = Arc::new(records);
    Ok(Committer {
        state: Arc::new(RwLock::new(state)),
        checkpointer: Checkpointer::start(Arc::clone(&records))?,
        records,
        log,
        channels: Arc::new(Channels::default()),
        poison: Arc::new(Poison::default()),
        clock: options.clock.clone(),
        durability: options.durability,
        budget_bytes,
        sweeper: Sweeper::new(),
        flushing_position: 0,
        last_sync: Instant::now(),
        last_group: 0,
    })
}

fn replay(state: &mut State, records: &Records, sequence: u64, record: &[u8]) -> Result<()> {
    let damaged = |why: &str| Error::Corrupt(format!("record {sequence} of the log {why}"));
    for batch in read_batches(record).map_err(|_| damaged("does not read back"))? {
        let (_, applied) = apply_ops(state, records, batch.account, batch.now_ms, &batch.ops)
            .map_err(|error| damaged(&format!("does not apply: {error}")))?;
        applied.keep(state);
    }
    Ok(())
}

/// Makes a new directory ours; refuses one that is something else, or of another version.
fn check_format(directory: &Path) -> Result<()> {
    let failed = |source| Error::Io { doing: format!("opening {}", directory.display()), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let path = directory.join(FORMAT_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let version = text.trim_end().strip_prefix(FORMAT_NAME).and_then(|version| version.parse().ok());
            let found = version.ok_or_else(|| Error::Corrupt(format!("{} does not read back", path.display())))?;
            if found != FORMAT_VERSION {
                return Err(Error::Format { path: directory.into(), found, wanted: FORMAT_VERSION });
            }
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
                let why = format!("{} has files but no {FORMAT_FILE}: not a store of Tickmark's", directory.display());
                return Err(Error::Corrupt(why));
            }
            let unfinished = path.with_extension("new");
            std::fs::write(&unfinished, format!("{FORMAT_NAME}{FORMAT_VERSION}\n")).map_err(failed)?;
            std::fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
            std::fs::rename(&unfinished, &path).map_err(failed)?;
            std::fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
        }
        Err(source) => Err(failed(source)),
    }
}
