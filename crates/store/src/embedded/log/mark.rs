//! How far the disk is known to have the log: one number in a file of its own.
//!
//! It is written after each sync and not synced itself. After a power cut it may be behind, which only makes it modest;
//! it is never ahead. So a log that ends before the mark has lost something.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::io;
use crate::{Error, Result};

#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    path: PathBuf,
    sequence: u64,
}

impl Mark {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|source| io(path, "opening", source))?;
        let length = file.metadata().map_err(|source| io(path, "reading", source))?.len();
        let mut bytes = [0; 16];
        let sequence = match length {
            0 => 0,
            16 => {
                file.read_exact_at(&mut bytes, 0).map_err(|source| io(path, "reading", source))?;
                decode(bytes).ok_or_else(|| damaged(path))?
            }
            _ => return Err(damaged(path)),
        };
        Ok(Self { file, path: path.into(), sequence })
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn write(&mut self, sequence: u64) -> Result<()> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&xxh3_64(&sequence.to_le_bytes()).to_le_bytes());
        self.file.write_all_at(&bytes, 0).map_err(|source| io(&self.path, "writing", source))?;
        self.sequence = sequence;
        Ok(())
    }
}

fn decode(bytes: [u8; 16]) -> Option<u64> {
    let (sequence, checksum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(sequence).to_le_bytes() == checksum).then(|| u64::from_le_bytes(*sequence))
}

fn damaged(path: &Path) -> Error {
    Error::Corrupt(format!("{} does not read back", path.display()))
}
