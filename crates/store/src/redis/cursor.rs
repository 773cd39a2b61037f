//! Where a scan of a collection goes on.
//!
//! Redis would take any number for a cursor and answer with some page. So ours carry a checksum over the number and
//! what is scanned: one that was damaged, or made for another scan, is refused.

use std::hash::{DefaultHasher, Hash, Hasher};

use redis::Value;

use super::value;
use crate::{Cursor, Error, Result};

/// What is scanned.
pub(super) type What = &'static str;
pub(super) const HASH: What = "hash";
pub(super) const SET: What = "set";
pub(super) const SORTED: What = "sorted";
pub(super) const KEYS: What = "keys";

/// Redis's own number for where to go on; 0 at the start.
pub(super) fn position(what: What, name: &[u8], cursor: Option<&Cursor>) -> Result<u64> {
    let Some(cursor) = cursor else { return Ok(0) };
    let [position] = open(what, name, cursor)?;
    Ok(position)
}

/// Numbers that only [`open`] with the same scan gives back.
pub(super) fn seal<const N: usize>(what: What, name: &[u8], numbers: [u64; N]) -> Cursor {
    let mut bytes = Vec::with_capacity(8 * (N + 1));
    for number in numbers {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(checksum(what, name, &bytes).to_be_bytes());
    Cursor::from_bytes(&bytes)
}

pub(super) fn open<const N: usize>(what: What, name: &[u8], cursor: &Cursor) -> Result<[u64; N]> {
    let bytes = cursor.as_bytes();
    if bytes.len() != 8 * (N + 1) {
        return Err(Error::BadCursor);
    }
    let (numbers, sum) = bytes.split_at(8 * N);
    if checksum(what, name, numbers).to_be_bytes() != *sum {
        return Err(Error::BadCursor);
    }
    let mut opened = [0; N];
    for (number, bytes) in opened.iter_mut().zip(numbers.chunks_exact(8)) {
        *number = u64::from_be_bytes(bytes.try_into().map_err(|_| Error::BadCursor)?);
    }
    Ok(opened)
}

/// Splits an answer to a scan of a collection into the next cursor and the page.
pub(super) fn page(what: What, name: &[u8], answer: Value) -> Result<(Option<Cursor>, Value)> {
    let (next, page) = split(answer)?;
    Ok(((next != 0).then(|| seal(what, name, [next])), page))
}

/// Splits an answer to a scan into Redis's next number and the page.
pub(super) fn split(answer: Value) -> Result<(u64, Value)> {
    let parts = match answer {
        Value::Array(parts) => <[Value; 2]>::try_from(parts).map_err(|_| value::shape("a page", None))?,
        other => return Err(value::shape("a page", Some(&other))),
    };
    let [next, page] = parts;
    let next = value::text(next).and_then(|next| next.parse().ok()).ok_or_else(|| value::shape("a cursor", None))?;
    Ok((next, page))
}

fn checksum(what: What, name: &[u8], numbers: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (what, name, numbers).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_opens_for_its_own_scan_only() {
        let cursor = seal(HASH, b"key", [7]);
        assert_eq!(position(HASH, b"key", Some(&cursor)).unwrap(), 7);
        assert!(position(SET, b"key", Some(&cursor)).is_err());
        assert!(position(HASH, b"other", Some(&cursor)).is_err());
        assert!(open::<2>(HASH, b"key", &cursor).is_err());
        let mut damaged = cursor.as_bytes().to_vec();
        damaged[7] ^= 1;
        assert!(position(HASH, b"key", Some(&Cursor::from_bytes(&damaged))).is_err());
    }
}
