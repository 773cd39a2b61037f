//! Sizes, counts, addresses and origins as people write them, each refused with what would be right.

use std::fmt;
use std::net::SocketAddr;
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

/// A whole number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) usize);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.map(Self).ok_or_else(|| "a count is a whole number from 1".into())
    }
}

pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "an address is an IP address and a port, such as 127.0.0.1:7700 or [::1]:7700; names are not looked up".into()
    })
}

/// Where a web page comes from, as browsers spell it, or `*` for anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin(pub(crate) String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_host = |host: &str| {
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@*".contains(&byte))
        };
        if text == "*" || host.is_some_and(is_host) {
            return Ok(Self(text.to_owned()));
        }
        Err("an origin is * or a scheme, a host and perhaps a port, such as https://example.com:8443".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        for (text, allowed) in [
            ("*", true),
            ("https://example.com", true),
            ("http://127.0.0.1:3000", true),
            ("example.com", false),
            ("https://", false),
            ("https://example.com/", false),
            ("https://*.example.com", false),
            ("null", false),
        ] {
            assert_eq!(text.parse::<Origin>().is_ok(), allowed, "{text:?}");
        }
    }

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
