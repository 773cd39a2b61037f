//! The log: every commit since the last checkpoint, in the order they were made.
//!
//! A directory of segments, each named for the sequence number of its first record. One record is one group of
//! batches; it counts only whole, by length and checksum. Beside the segments, `synced` says up to which record the
//! disk is known to have everything. A tail that does not read is cut off if it lies beyond that mark: it was never
//! acknowledged. Anything else that does not read is damage, and the store refuses to open rather than answer wrongly.

mod batch;
mod mark;
mod segment;

use std::path::{Path, PathBuf};

pub(crate) use batch::{put_batch, read_batches};

use crate::{Error, Result};
use mark::Mark;
use segment::{Segment, SegmentReader};

#[derive(Debug)]
pub(crate) struct Log {
    directory: PathBuf,
    active: Segment,
    /// Segments that are complete, oldest first, with the sequence number after their last record.
    sealed: Vec<(u64, PathBuf)>,
    mark: Mark,
    next_sequence: u64,
    /// Bytes in segments, active and sealed.
    bytes: u64,
    synced: bool,
}

impl Log {
    /// Opens the log and replays every record after a checkpoint's position, oldest first.
    pub(crate) fn open(
        directory: &Path,
        position: u64,
        mut replay: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|source| io(directory, "creating", source))?;
        let mut mark = Mark::open(&directory.join("synced"))?;
        let segments = list_segments(directory)?;
        check_first(&segments, position, mark.sequence())?;

        let mut expected = segments.first().map_or(position + 1, |(first, _)| *first);
        let mut sealed = Vec::new();
        let mut bytes = 0;
        let mut last_valid_bytes = 0;
        for (first, path) in &segments {
            if *first != expected {
                return Err(missing(expected, *first - 1));
            }
            let mut reader = SegmentReader::open(path, *first)?;
            while let Some(record) = reader.next_record(expected) {
                if expected > position {
                    replay(expected, record)?;
                }
                expected += 1;
            }
            last_valid_bytes = reader.valid_bytes();
            bytes += last_valid_bytes;
            sealed.push((expected, path.clone()));
        }
        if expected <= mark.sequence() {
            return Err(missing(expected, mark.sequence()));
        }
        let active = if let Some((_, path)) = sealed.pop() {
            Segment::reopen(&path, last_valid_bytes)?
        } else {
            let segment = Segment::create(directory, expected)?;
            bytes = segment.bytes();
            segment
        };
        mark.write(expected - 1)?;
        Ok(Self { directory: directory.into(), active, sealed, mark, next_sequence: expected, bytes, synced: true })
    }

    /// The sequence number of the last record.
    pub(crate) fn position(&self) -> u64 {
        self.next_sequence - 1
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Hands a record to the kernel. When this fails the record is not in the log.
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<()> {
        self.bytes += self.active.append(self.next_sequence, record)?;
        self.next_sequence += 1;
        self.synced = false;
        Ok(())
    }

    /// Has the disk take everything appended so far.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if !self.synced {
            self.active.sync()?;
            self.mark.write(self.position())?;
            self.synced = true;
        }
        Ok(())
    }

    /// Starts a new segment, so that those before it can go when a checkpoint has what is in them. One without
    /// records goes on: its successor would have its name, and be removed in its stead.
    pub(crate) fn rotate(&mut self) -> Result<()> {
        if self.active.is_empty() {
            return Ok(());
        }
        self.sync()?;
        let next = Segment::create(&self.directory, self.next_sequence)?;
        self.bytes += next.bytes();
        let sealed = std::mem::replace(&mut self.active, next);
        self.sealed.push((self.next_sequence, sealed.seal()?));
        Ok(())
    }

    /// Removes the segments that a checkpoint made superfluous.
    pub(crate) fn remove_through(&mut self, position: u64) -> Result<()> {
        while let Some((end, path)) = self.sealed.first() {
            if *end > position + 1 {
                break;
            }
            let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            std::fs::remove_file(path).map_err(|source| io(path, "removing", source))?;
            self.bytes = self.bytes.saturating_sub(size);
            self.sealed.remove(0);
        }
        Ok(())
    }
}

/// The first segment must go on where the checkpoint ends. If it starts later, the checkpoint is not the last one
/// written: the records lost their tail.
fn check_first(segments: &[(u64, PathBuf)], position: u64, synced: u64) -> Result<()> {
    match segments.first() {
        Some((first, _)) if *first > position + 1 => Err(missing(position + 1, *first - 1)),
        None if synced > position => Err(missing(position + 1, synced)),
        _ => Ok(()),
    }
}

fn list_segments(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut segments = Vec::new();
    let listing = std::fs::read_dir(directory).map_err(|source| io(directory, "listing", source))?;
    for file in listing {
        let path = file.map_err(|source| io(directory, "listing", source))?.path();
        if path.extension().is_some_and(|extension| extension == segment::EXTENSION) {
            let first = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            let first = first.ok_or_else(|| Error::Corrupt(format!("{} is no name of a segment", path.display())))?;
            segments.push((first, path));
        }
    }
    segments.sort();
    Ok(segments)
}

fn missing(from: u64, to: u64) -> Error {
    Error::Corrupt(format!("records {from} to {to} of the log were written but are missing or damaged"))
}

fn io(path: &Path, doing: &str, source: std::io::Error) -> Error {
    Error::Io { doing: format!("{doing} {}", path.display()), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records_of(directory: &Path, position: u64) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        let opened = Log::open(directory, position, |_, record| {
            records.push(record.to_vec());
            Ok(())
        });
        opened.unwrap();
        records
    }

    #[test]
    fn a_second_checkpoint_without_a_record_between_keeps_the_segment_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), 0, |_, _| Ok(())).unwrap();
        log.append(b"one").unwrap();
        for _ in 0..2 {
            log.rotate().unwrap();
            log.remove_through(log.position()).unwrap();
        }
        log.append(b"two").unwrap();
        log.sync().unwrap();
        drop(log);
        assert_eq!(records_of(directory.path(), 1), [b"two".to_vec()]);
    }
}
