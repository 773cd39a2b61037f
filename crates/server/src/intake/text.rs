//! Text of an item, borrowed from the body wherever it has no escapes.
//!
//! `Option<Cow<str>>` would be a copy every time: serde only borrows a `Cow` that is not inside something else.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'body>(Cow<'body, str>);

impl<'body> Text<'body> {
    pub(crate) fn borrowed(text: &'body str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub(crate) fn owned(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'body, 'body> Deserialize<'de> for Text<'body> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;

        impl<'de> Visitor<'de> for Borrowed {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escapes_are_copied() {
        for (json, text, is_borrowed) in [("\"max\"", "max", true), ("\"m\\u0061x\"", "max", false), ("\"\"", "", true)]
        {
            let found: Option<Text<'_>> = serde_json::from_str(json).unwrap();
            let Text(found) = found.unwrap();
            assert_eq!((&*found, matches!(found, Cow::Borrowed(_))), (text, is_borrowed), "{json}");
        }
    }
}
