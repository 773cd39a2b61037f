//! Whether fjall's lists of its tables are as fjall wrote them.
//!
//! Each keyspace has a file `current` that names a version file and its checksum, but opening the keyspace does not
//! compare the two: a flipped bit in the list is believed, or ends the process in an assertion. So they are compared
//! here, before fjall sees them.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::{Error, Result};

pub(super) fn check(records: &Path) -> Result<()> {
    let keyspaces = records.join("keyspaces");
    let Ok(listing) = std::fs::read_dir(&keyspaces) else { return Ok(()) };
    for keyspace in listing {
        let failed = |source| Error::Io { doing: format!("listing {}", keyspaces.display()), source };
        check_keyspace(&keyspace.map_err(failed)?.path())?;
    }
    Ok(())
}

fn check_keyspace(keyspace: &Path) -> Result<()> {
    // A keyspace without the file was never finished; fjall removes it.
    let Ok(current) = std::fs::read(keyspace.join("current")) else { return Ok(()) };
    let named = current.split_first_chunk::<8>().and_then(|(version, rest)| {
        let (checksum, _) = rest.split_first_chunk::<16>()?;
        Some((u64::from_le_bytes(*version), u128::from_le_bytes(*checksum)))
    });
    let intact = named.is_some_and(|(version, checksum)| {
        std::fs::read(keyspace.join(format!("v{version}"))).is_ok_and(|bytes| xxh3_128(&bytes) == checksum)
    });
    if intact {
        return Ok(());
    }
    Err(Error::Corrupt(format!("the list of tables in {} does not match its checksum", keyspace.display())))
}
