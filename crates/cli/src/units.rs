//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes: `4096`, `64KiB`, `256MiB`, `2GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

const UNITS: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

impl Size {
    pub(crate) fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
        let (digits, bytes) = unit.unwrap_or((text, 1));
        let size = digits.trim_end().parse::<u64>().ok().and_then(|count| count.checked_mul(bytes));
        size.filter(|size| *size > 0)
            .map(Self)
            .ok_or_else(|| "a size is a number, or one with KiB, MiB, GiB or TiB".into())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().rev().find(|(_, bytes)| self.0.is_multiple_of(*bytes));
        match unit {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1", Some(1)),
            ("64KiB", Some(65_536)),
            ("256MiB", Some(268_435_456)),
            ("2 GiB", Some(2 << 30)),
            ("", None),
            ("0", None),
            ("-1", None),
            ("1.5GiB", None),
            ("64MB", None),
            ("99999999TiB", None),
        ] {
            assert_eq!(text.parse::<Size>().ok().map(|size| size.0), bytes, "{text:?}");
        }
        assert_eq!(Size(3 << 20).to_string(), "3MiB");
    }
}
