//! The smallest thing a store keeps: a field, a member, a value.
//!
//! Most of ours are timestamps and counts, so an integer is held as an integer. It still *is* its decimal spelling:
//! `Atom::from("61")` and `Atom::from(61)` are equal, `"061"` stays bytes. Atoms have no order of their own, because
//! the two useful ones (numeric, and Redis's order of bytes) differ; whoever sorts says which.

use std::borrow::Cow;
use std::fmt;

use crate::bytes::Bytes;

#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Atom {
    Int(i64),
    /// Never the canonical spelling of an `i64`: the conversions see to it, so that equality is that of the bytes.
    Bytes(Bytes),
}

impl Atom {
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match parse_canonical(bytes) {
            Some(int) => Self::Int(int),
            None => Self::Bytes(bytes.into()),
        }
    }

    /// The bytes Redis would hold.
    pub fn as_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Int(int) => Cow::Owned(itoa::Buffer::new().format(*int).as_bytes().to_vec()),
            Self::Bytes(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// Appends the bytes Redis would hold, without an allocation of its own.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(int) => out.extend_from_slice(itoa::Buffer::new().format(*int).as_bytes()),
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// How many bytes Redis would hold.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(int) => itoa::Buffer::new().format(*int).len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Bytes(bytes) if bytes.is_empty())
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            Self::Bytes(_) => None,
        }
    }

    /// The number these bytes spell, integer or decimal; `None` for anything else, including infinities.
    pub fn as_decimal(&self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(*int as f64),
            Self::Bytes(bytes) => parse_decimal(bytes),
        }
    }

    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        match self.as_bytes() {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }
}

impl From<i64> for Atom {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<&str> for Atom {
    fn from(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }
}

impl From<String> for Atom {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<Vec<u8>> for Atom {
    fn from(bytes: Vec<u8>) -> Self {
        match parse_canonical(&bytes) {
            Some(int) => Self::Int(int),
            None => Self::Bytes(bytes.into()),
        }
    }
}

/// A decimal as Redis spells one: no exponent, and no fraction where there is none.
impl From<f64> for Atom {
    fn from(decimal: f64) -> Self {
        // Negative zero would spell "-0", which reads back as a decimal for ever.
        Self::from(format!("{}", decimal + 0.0))
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            Self::Bytes(bytes) => write!(f, "{}", bytes.escape_ascii()),
        }
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
        }
    }
}

/// The integer whose one canonical spelling these bytes are.
fn parse_canonical(bytes: &[u8]) -> Option<i64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    match digits {
        [b'0'] if digits.len() == bytes.len() => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn parse_decimal(bytes: &[u8]) -> Option<f64> {
    // Rust also reads "inf" and "nan", which no counter may hold, and surrounding space never.
    let decimal: f64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    decimal.is_finite().then_some(decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_spellings_are_integers() {
        for (text, int) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-0", None),
            ("007", None),
            ("+7", None),
            ("", None),
            ("-", None),
            ("7 ", None),
            ("1.0", None),
        ] {
            let atom = Atom::from(text);
            assert_eq!(atom.as_int(), int, "{text:?}");
            assert_eq!(atom.as_bytes(), text.as_bytes(), "{text:?}");
            assert_eq!(atom.len(), text.len(), "{text:?}");
        }
    }

    #[test]
    fn decimals_spell_as_redis_does() {
        for (decimal, text) in
            [(0.5, "0.5"), (2.0, "2"), (-0.0, "0"), (1e21, "1000000000000000000000"), (1e-7, "0.0000001")]
        {
            assert_eq!(Atom::from(decimal).as_bytes(), text.as_bytes());
        }
    }

    #[test]
    fn an_atom_is_two_words() {
        assert_eq!(size_of::<Atom>(), 16);
    }
}
