//! Times as requests have them: epoch seconds, whole or decimal, RFC 3339, or `2014-10-17 21:34:07 -0400`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use tickmark_stats::Timestamp;
use utoipa::ToSchema;

use crate::clock;
use crate::problem::{Problem, Result, Word};

/// When something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl Visitor<'_> for Any {
    type Value = When;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time: epoch seconds, RFC 3339, or 2014-10-17 21:34:07 -0400")
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<When, E> {
        let in_range = i64::try_from(seconds).ok().filter(|seconds| *seconds <= Timestamp::MAX.as_seconds());
        let at = in_range.map(|seconds| When(Timestamp::from_micros(seconds * 1_000_000)));
        at.ok_or_else(|| E::custom(tickmark_stats::TimeError::OutOfRange))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<When, E> {
        // Only what is negative comes here.
        Err(E::custom(tickmark_stats::TimeError::OutOfRange))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<When, E> {
        Timestamp::from_epoch_seconds(seconds).map(When).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<When, E> {
        text.parse::<Timestamp>().map(When).map_err(E::custom)
    }
}

/// A time as the OpenAPI document has it: epoch seconds. The other spellings are in words.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,10})(\.[0-9]{1,6})?$")]
pub(crate) struct TimeText(#[expect(dead_code, reason = "only its schema is of use")] String);

/// Now, in whole seconds.
pub(crate) fn now() -> i64 {
    i64::try_from(clock::now().0).unwrap_or(i64::MAX)
}

/// An end of a range, as a parameter.
pub(crate) fn parameter(name: &str, text: &str) -> Result<i64> {
    let at =
        text.parse::<Timestamp>().map_err(|error| Problem::new(Word::BadParameter, format!("`{name}`: {error}.")))?;
    Ok(at.as_seconds())
}

/// The same where it may be missing, which is now.
pub(super) fn end(name: &str, text: Option<&str>) -> Result<i64> {
    text.map_or_else(|| Ok(now()), |text| parameter(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (json, expected) in [
            ("61", Some(61)),
            ("61.9", Some(61)),
            ("\"61\"", Some(61)),
            ("\"2014-10-17 21:34:07 -0400\"", Some(1_413_596_047)),
            ("\"2014-10-18T01:34:07Z\"", Some(1_413_596_047)),
            ("253402300799", Some(253_402_300_799)),
            ("253402300800", None),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("\"yesterday\"", None),
            ("[]", None),
        ] {
            assert_eq!(serde_json::from_str::<When>(json).ok().map(|when| when.0.as_seconds()), expected, "{json}");
        }
    }
}
