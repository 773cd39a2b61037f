//! Names that users choose: of series, events, bars, repositories.
//!
//! A name becomes part of a key, so what could make it look like another key is refused: braces, which choose the slot
//! of a Redis Cluster, and the beginnings that Tickmark's own keys have.

use std::fmt;

pub const NAME_BYTES_MAX: usize = 200;

/// Beginnings of keys that are not series.
const RESERVED: &[&str] = &[
    "tm:", "poll:", "set:", "hash:", "trace:", "stats:", "tcount:", "ps:", "updates:", "jobs:", "cognito:", "example:",
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<str>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a name must not be empty")]
    Empty,
    #[error("a name has at most {NAME_BYTES_MAX} bytes, this one has {0}")]
    TooLong(usize),
    #[error("the name {name:?} has {found:?} in it; names have no braces and no control characters")]
    Character { name: String, found: char },
    #[error("the name {name:?} has a colon in it, which separates names in keys; use another character")]
    Colon { name: String },
    #[error("the name {name:?} begins with {prefix:?}, which is reserved for Tickmark's own keys")]
    Reserved { name: String, prefix: &'static str },
}

impl Name {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong(text.len()));
        }
        if let Some(found) = text.chars().find(|found| matches!(found, '{' | '}') || found.is_control()) {
            return Err(NameError::Character { name: text.to_owned(), found });
        }
        if let Some(prefix) = Self::reserved(text) {
            return Err(NameError::Reserved { name: text.to_owned(), prefix });
        }
        Ok(Self(text.into()))
    }

    /// The reserved beginning of a text, where it has one.
    pub(crate) fn reserved(text: &str) -> Option<&'static str> {
        RESERVED.iter().find(|prefix| text.starts_with(**prefix)).copied()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What sorts just before everything that begins with a prefix: no name has the byte 0xff in it.
pub(crate) fn before(prefix: &str) -> Option<Vec<u8>> {
    let mut bytes = prefix.as_bytes().to_vec();
    let last = bytes.pop()?;
    bytes.extend([last.saturating_sub(1), 0xff]);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        for (text, allowed) in [
            ("purchases:item1", true),
            ("träger/ß 日本", true),
            ("tmx", true),
            ("", false),
            ("tm:tokens", false),
            ("a{b", false),
            ("a}b", false),
            ("a\nb", false),
            ("a\0b", false),
            (&long[1..], true),
            (&long, false),
        ] {
            assert_eq!(Name::parse(text).is_ok(), allowed, "{text:?}");
        }
    }
}
