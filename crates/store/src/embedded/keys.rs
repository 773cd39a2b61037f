//! A key as the engine sees it: the account's four bytes, then the name.

use std::sync::Arc;

use crate::{Account, Key};

/// Shared between the map of objects, the list of changed keys and the ring of those that may leave memory.
pub(crate) type FullKey = Arc<[u8]>;

const ACCOUNT_BYTES: usize = size_of::<u32>();

/// Writes the full key into a buffer that is used again and again: looking something up allocates nothing.
pub(crate) fn write_full_key(out: &mut Vec<u8>, account: Account, name: &[u8]) {
    out.clear();
    out.extend_from_slice(&account.0.to_be_bytes());
    out.extend_from_slice(name);
}

pub(crate) fn full_key(account: Account, name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(ACCOUNT_BYTES + name.len());
    write_full_key(&mut out, account, name);
    out
}

pub(crate) fn name_of(full_key: &[u8]) -> Key {
    Key::from(full_key.get(ACCOUNT_BYTES..).unwrap_or_default())
}

pub(crate) fn account_of(full_key: &[u8]) -> Account {
    Account(full_key.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)))
}
