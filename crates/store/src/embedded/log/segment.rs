//! One file of the log.
//!
//! Sixteen bytes of header (magic, version, first sequence number), then records: length, checksum, sequence number,
//! payload. `docs/embedded-format.md` has the bytes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::io;
use crate::{Error, Result};

pub(super) const EXTENSION: &str = "log";
const MAGIC: [u8; 4] = *b"TMLG";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const RECORD_HEADER_BYTES: usize = 20;

/// Zeros written ahead of small records. Syncing bytes that replace others is nearly twice as fast as syncing bytes
/// that make a file longer. A reader takes the zeros for the end.
const AHEAD_BYTES: u64 = 4 * 1_024 * 1_024;
static ZEROS: [u8; 64 * 1_024] = [0; 64 * 1_024];
const SMALL_RECORD_BYTES: u64 = 1_024 * 1_024;

#[derive(Debug)]
pub(super) struct Segment {
    file: File,
    path: PathBuf,
    /// Up to the end of the last record.
    bytes: u64,
    /// Up to the end of the zeros.
    file_bytes: u64,
    buffer: Vec<u8>,
}

impl Segment {
    /// Makes the file and sees to it that a power cut does not unmake it.
    pub(super) fn create(directory: &Path, first: u64) -> Result<Self> {
        let path = directory.join(format!("{first:020}.{EXTENSION}"));
        // Under another name until its header is there, so that no segment is ever without one.
        let unfinished = path.with_extension("new");
        let failed = |source| io(&path, "creating", source);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&unfinished).map_err(failed)?;
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&MAGIC);
        header[4..8].copy_from_slice(&VERSION.to_le_bytes());
        header[8..].copy_from_slice(&first.to_le_bytes());
        file.write_all(&header).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        std::fs::rename(&unfinished, &path).map_err(failed)?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        let bytes = HEADER_BYTES as u64;
        Ok(Self { file, path, bytes, file_bytes: bytes, buffer: Vec::new() })
    }

    /// Goes on with a file, without whatever lies beyond its last whole record.
    pub(super) fn reopen(path: &Path, valid_bytes: u64) -> Result<Self> {
        let failed = |source| io(path, "opening", source);
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        file.set_len(valid_bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(Self { file, path: path.into(), bytes: valid_bytes, file_bytes: valid_bytes, buffer: Vec::new() })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == HEADER_BYTES as u64
    }

    /// Ends the segment where its records end.
    pub(super) fn seal(self) -> Result<PathBuf> {
        self.file.set_len(self.bytes).map_err(|source| io(&self.path, "sealing", source))?;
        Ok(self.path)
    }

    /// One write. If it fails, the file is cut back to where it was, as far as the disk lets it be.
    pub(super) fn append(&mut self, sequence: u64, payload: &[u8]) -> Result<u64> {
        let length = u32::try_from(payload.len()).map_err(|_| Error::TooMany {
            what: "bytes in one group of batches",
            len: payload.len(),
            max: u32::MAX as usize,
        })?;
        self.buffer.clear();
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(&checksum(sequence, payload).to_le_bytes());
        self.buffer.extend_from_slice(&sequence.to_le_bytes());
        self.buffer.extend_from_slice(payload);
        let end = self.bytes + self.buffer.len() as u64;
        if end > self.file_bytes && self.buffer.len() as u64 <= SMALL_RECORD_BYTES {
            self.write_ahead(end);
        }
        if let Err(source) = self.file.write_all_at(&self.buffer, self.bytes) {
            let _ = self.file.set_len(self.bytes);
            return Err(io(&self.path, "writing", source));
        }
        self.bytes = end;
        self.file_bytes = self.file_bytes.max(end);
        Ok(self.buffer.len() as u64)
    }

    /// Best effort: a disk too full for zeros may still have room for the record.
    fn write_ahead(&mut self, end: u64) {
        let mut chunks = (end..end + AHEAD_BYTES).step_by(ZEROS.len());
        match chunks.try_for_each(|at| self.file.write_all_at(&ZEROS, at)) {
            Ok(()) => self.file_bytes = end + AHEAD_BYTES,
            Err(_) => {
                let _ = self.file.set_len(self.file_bytes);
            }
        }
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|source| io(&self.path, "syncing", source))
    }
}

fn checksum(sequence: u64, payload: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&sequence.to_le_bytes());
    hasher.update(payload);
    hasher.digest()
}

/// Reads a segment's records until one is not whole.
#[derive(Debug)]
pub(super) struct SegmentReader {
    bytes: Vec<u8>,
    valid: usize,
}

impl SegmentReader {
    pub(super) fn open(path: &Path, first: u64) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| io(path, "reading", source))?;
        let header = bytes.get(..HEADER_BYTES).unwrap_or_default();
        let expected = [&MAGIC[..], &VERSION.to_le_bytes(), &first.to_le_bytes()].concat();
        if header != expected {
            return Err(Error::Corrupt(format!("{} does not start as a segment of the log", path.display())));
        }
        Ok(Self { bytes, valid: HEADER_BYTES })
    }

    /// The payload of the next record, which must have this sequence number; `None` where the whole ones end.
    pub(super) fn next_record(&mut self, sequence: u64) -> Option<&[u8]> {
        let rest = &self.bytes[self.valid..];
        let (header, rest) = rest.split_first_chunk::<RECORD_HEADER_BYTES>()?;
        let [l0, l1, l2, l3, numbers @ ..] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let payload = rest.get(..length)?;
        let written = [checksum(sequence, payload).to_le_bytes(), sequence.to_le_bytes()].concat();
        if numbers[..] != written[..] {
            return None;
        }
        self.valid += RECORD_HEADER_BYTES + length;
        Some(payload)
    }

    pub(super) fn valid_bytes(&self) -> u64 {
        self.valid as u64
    }
}
