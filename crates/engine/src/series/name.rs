//! The name of a series.
//!
//! A key of a series begins with its name, so on top of what every name must be, a series must not be called what
//! Tickmark's own keys begin with: `tm` with a granularity `series` would own the key `tm:series:0`.

use std::fmt;

use crate::{Name, NameError};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesName(Name);

impl SeriesName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = Name::parse(text)?;
        match Name::reserved(&format!("{text}:")) {
            Some(prefix) => Err(NameError::Reserved { name: text.to_owned(), prefix }),
            None => Ok(Self(name)),
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for SeriesName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, allowed) in [
            ("purchases:item1", true),
            ("ev:s=item1:n", true),
            ("tm", false),
            ("tm:x", false),
            ("tcount", false),
            ("tcounts", true),
            ("set", false),
            ("a{b}", false),
            ("", false),
        ] {
            assert_eq!(SeriesName::parse(text).is_ok(), allowed, "{text:?}");
        }
    }
}
