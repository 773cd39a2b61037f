//! Pages of the keys of an account: those in the records, and those that differ from them.

use std::ops::Bound;

use super::cursor::Scan;
use super::entry::Entry;
use super::keys::{FullKey, full_key, name_of};
use super::records::{Records, Space};
use super::state::State;
use crate::{Account, Cursor, Error, Key, KeyPage, Order, Result};

/// Every page looks at no more than so many keys for each that was asked for, so that keys which have expired but are
/// not swept yet make pages short rather than slow.
const LOOKED_AT_MAX: usize = 16;

pub(crate) fn scan(
    state: &State,
    records: &Records,
    account: Account,
    prefix: &Key,
    cursor: Option<&Cursor>,
    limit: u32,
    now_ms: u64,
) -> Result<KeyPage> {
    let limit = limit.max(1) as usize;
    let prefix = full_key(account, prefix.as_bytes());
    let from: Vec<u8> = match cursor {
        None => prefix.clone(),
        // The name just after the last one seen.
        Some(cursor) => [&full_key(account, Scan::Keys.last_seen(cursor)?)[..], &[0]].concat(),
    };
    if !from.starts_with(&prefix) {
        return Err(Error::BadCursor);
    }
    let shared: FullKey = from.as_slice().into();
    let mut differing = state.differing_from(&shared).take_while(|key| key.starts_with(&prefix)).peekable();
    let range = (Bound::Included(&from[..]), Bound::Unbounded);
    let mut stored = records.range(Space::Objects, range, Order::Ascending).peekable();

    let mut keys = Vec::new();
    let mut last = from.clone();
    for _ in 0..limit * LOOKED_AT_MAX {
        let stored_key = match stored.peek() {
            Some(Ok((key, _))) if key.starts_with(&prefix) => Some(key.clone()),
            Some(Err(_)) => return Err(stored.next().and_then(Result::err).unwrap_or(Error::BadCursor)),
            _ => None,
        };
        last = match (differing.peek().map(|key| &key[..]), stored_key.as_deref()) {
            (None, None) => return Ok(KeyPage { keys, next: None }),
            (Some(key), None) | (None, Some(key)) => key.to_vec(),
            (Some(a), Some(b)) => a.min(b).to_vec(),
        };
        let in_memory = differing.next_if(|key| key[..] == last[..]).is_some();
        let record = stored.next_if(|found| matches!(found, Ok((key, _)) if key[..] == last[..]));
        let is_live = match (in_memory, record) {
            (true, _) => state.resident(&last).is_some_and(|slot| slot.live(now_ms).is_some()),
            (false, Some(record)) => {
                let expiry = Entry::expiry_of(&record?.1);
                let expiry =
                    expiry.map_err(|_| Error::Corrupt(format!("key {} does not read back", name_of(&last))))?;
                expiry.is_none_or(|at_ms| at_ms > now_ms)
            }
            (false, None) => false,
        };
        if is_live {
            keys.push(name_of(&last));
        }
        if keys.len() == limit {
            break;
        }
    }
    Ok(KeyPage { keys, next: Some(Scan::Keys.cursor_after(name_of(&last).as_bytes())) })
}
