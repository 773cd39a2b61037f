//! Where a scan goes on: what is scanned, and the last name that was seen.

use crate::{Cursor, Error, Result};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Scan {
    Keys = b'K' as isize,
    Fields = b'F' as isize,
    Members = b'M' as isize,
    Scored = b'Z' as isize,
}

impl Scan {
    pub(crate) fn cursor_after(self, name: &[u8]) -> Cursor {
        Cursor([&[self as u8][..], name].concat().into())
    }

    /// The last name that was seen.
    pub(crate) fn last_seen(self, cursor: &Cursor) -> Result<&[u8]> {
        match cursor.as_bytes().split_first() {
            Some((&scan, name)) if scan == self as u8 => Ok(name),
            _ => Err(Error::BadCursor),
        }
    }
}
