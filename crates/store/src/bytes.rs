//! Bytes that are mostly few: names of users, members, labels. Few are held in place, without an allocation of their own.

use std::fmt;
use std::ops::Deref;

use thin_vec::ThinVec;

/// As many as there is room for in two words, beside a length and the mark that says which it is.
const SHORT_MAX: usize = 14;

/// What a long one has before its bytes.
const LENGTHS_BYTES: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bytes(Held);

/// Bytes that fit are always short, and the rest of their array is zero, so that equal bytes are held alike.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Held {
    Short { len: u8, bytes: [u8; SHORT_MAX] },
    Long(ThinVec<u8>),
}

impl Bytes {
    /// What they take besides themselves, as an allocator counts.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Held::Short { .. } => 0,
            Held::Long(bytes) => (LENGTHS_BYTES + bytes.len()).next_multiple_of(16),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Short { len, bytes } => &bytes[..usize::from(*len)],
            Held::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT_MAX];
        match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(all), Ok(len)) => {
                all.copy_from_slice(bytes);
                Self(Held::Short { len, bytes: short })
            }
            _ => Self(Held::Long(bytes.into())),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&*bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_are_the_same_thing() {
        for len in [0, 1, SHORT_MAX - 1, SHORT_MAX, SHORT_MAX + 1, 300] {
            let plain: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let (copied, taken) = (Bytes::from(&plain[..]), Bytes::from(plain.clone()));
            assert_eq!(*copied, *plain);
            assert_eq!(copied, taken);
            assert_eq!(copied.heap_bytes() > 0, len > SHORT_MAX);
        }
    }
}
