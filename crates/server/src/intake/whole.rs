//! Whole numbers as JSON has them: `5.0` is the same number as `5`, whatever wrote it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// For `#[serde(default, deserialize_with = "whole::optional")]` on an `Option` of any unsigned type.
pub fn optional<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Whole(PhantomData))
}

struct Whole<T>(PhantomData<T>);

impl<T: TryFrom<u64>> Visitor<'_> for Whole<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, not negative and not too large, or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        T::try_from(number).map(Some).map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        // Up to here every whole number has its own double.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        if number.fract() != 0.0 || !(0.0..=EXACT_MAX).contains(&number) {
            return Err(E::invalid_value(serde::de::Unexpected::Float(number), &self));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        self.visit_u64(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_is_whole_however_it_is_spelled() {
        for (text, expected) in [
            ("5", Some(Some(5))),
            ("5.0", Some(Some(5))),
            ("5e1", Some(Some(50))),
            ("null", Some(None)),
            ("255", Some(Some(255))),
            ("256", None),
            ("-1", None),
            ("5.5", None),
            ("1e300", None),
            ("\"5\"", None),
        ] {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            assert_eq!(optional::<_, u8>(&mut deserializer).ok(), expected, "{text}");
        }
    }
}
