//! A value as a line of NDJSON or an element of an array has it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use tickmark_engine::calculations::{Incoming, PartName, Project, VALUES_MAX, Values};
use tickmark_stats::{TimeError, Timestamp};
use utoipa::ToSchema;

use super::path::PartNameText;
use crate::intake::text::Text;
use crate::intake::{self, Body};
use crate::problem::{Place, Problem, Result, Word};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    dimension: Text<'a>,
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow, default)]
    at: When<'a>,
    value: Amount,
}

/// A value of a key at an instant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Value)]
#[expect(dead_code, reason = "only its schema is of use: reading it would copy its text")]
pub(crate) struct ValueBody {
    #[schema(inline, value_type = PartNameText)]
    dimension: String,
    #[schema(inline, value_type = PartNameText)]
    key: String,
    /// Epoch seconds, or as text RFC 3339, `2014-10-17 21:34:07 -0400`, or without an offset where the project's clocks
    /// showed that once; now, where it is missing.
    #[schema(minimum = 0, maximum = 253_402_300_799_u64)]
    at: Option<f64>,
    value: f64,
}

/// The values of a body, for a project with these settings.
pub(super) fn read(body: &Body, project: PartName, settings: Project, now_micros: i64) -> Result<Values> {
    let mut incoming = Incoming::new(project, settings);
    let calendar = std::sync::Arc::clone(incoming.calendar());
    intake::each(body.text(), body.format(), |place: Place, item: Item<'_>| {
        if incoming.len() >= VALUES_MAX as u64 {
            let detail = format!("One request has at most {VALUES_MAX} values; send them in several.");
            return Err(Problem::new(Word::TooManyValues, detail).at(place));
        }
        let at = match item.at {
            When::Missing => Ok(Timestamp::from_micros(now_micros)),
            When::At(at) => at,
            When::Text(text) => calendar.instant(&text),
        };
        let at = at.map_err(|error| Problem::from(error).at(place))?;
        incoming.add(&item.dimension, &item.key, at, item.value.0).map_err(|error| Problem::from(error).at(place))
    })?;
    Ok(incoming.close())
}

/// When a value was.
#[derive(Debug, Default)]
enum When<'a> {
    #[default]
    Missing,
    At(Result<Timestamp, TimeError>),
    Text(Text<'a>),
}

impl<'de: 'a, 'a> Deserialize<'de> for When<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = When<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time: epoch seconds, RFC 3339, or 2014-10-17 21:34:07 -0400")
            }

            fn visit_unit<E: Error>(self) -> Result<When<'de>, E> {
                Ok(When::Missing)
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<When<'de>, E> {
                let micros = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000));
                let at = micros.map(Timestamp::from_micros).ok_or(TimeError::OutOfRange);
                Ok(When::At(at.and_then(Timestamp::accepted)))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<When<'de>, E> {
                // Only what is negative comes here.
                Ok(When::At(Err(TimeError::OutOfRange)))
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<When<'de>, E> {
                Ok(When::At(Timestamp::from_epoch_seconds(seconds)))
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<When<'de>, E> {
                Ok(When::Text(Text::borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<When<'de>, E> {
                Ok(When::Text(Text::owned(text.to_owned())))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// A number. What JSON has no number for, and languages spell as text all the same, is told apart from nonsense.
#[derive(Clone, Copy, Debug)]
struct Amount(f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finite number")
            }

            #[expect(clippy::cast_precision_loss, reason = "a value is a double, the nearest there is")]
            fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
                Ok(Amount(number as f64))
            }

            #[expect(clippy::cast_precision_loss, reason = "a value is a double, the nearest there is")]
            fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
                Ok(Amount(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
                Ok(Amount(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                match text.parse::<f64>() {
                    Ok(number) if !number.is_finite() => Ok(Amount(number)),
                    _ => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Number)
    }
}
