//! An event as a line of NDJSON or an element of an array has it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use tickmark_engine::series::{Event, Tally, What};
use tickmark_store::Number;
use utoipa::ToSchema;

use super::path::SeriesNameText;
use super::times::When;
use crate::intake::text::Text;
use crate::intake::{self, Body};
use crate::problem::{Place, Problem, Result, Word};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    series: Option<Text<'a>>,
    at: Option<When>,
    n: Option<Amount>,
    #[serde(borrow)]
    member: Option<Text<'a>>,
}

/// An event of one series. It has an `n` or a `member`, not both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Event)]
#[expect(dead_code, reason = "only its schema is of use: reading it would copy its text")]
pub(crate) struct EventBody {
    /// Epoch seconds, or as text RFC 3339 or `2014-10-17 21:34:07 -0400`; now, where it is missing.
    #[schema(minimum = 0, maximum = 253_402_300_799_u64)]
    at: Option<f64>,
    /// How many, where it is not one.
    n: Option<f64>,
    /// Who, for a series of uniques.
    #[schema(min_length = 1, max_length = 1_024)]
    member: Option<String>,
}

/// An event that says its series.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SeriesEvent)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct SeriesEventBody {
    #[schema(inline, value_type = SeriesNameText)]
    series: String,
    /// Epoch seconds, or as text RFC 3339 or `2014-10-17 21:34:07 -0400`; now, where it is missing.
    #[schema(minimum = 0, maximum = 253_402_300_799_u64)]
    at: Option<f64>,
    /// How many, where it is not one.
    n: Option<f64>,
    /// Who, for a series of uniques.
    #[schema(min_length = 1, max_length = 1_024)]
    member: Option<String>,
}

/// Adds the events of a body to a tally. Where the path names a series, the events need not.
pub(super) fn tally(body: &Body, series: Option<&str>, now: i64) -> Result<Tally> {
    let mut tally = Tally::new();
    intake::each(body.text(), body.format(), |place, item: Item<'_>| {
        let name = match (series, item.series.as_deref()) {
            (Some(series), None) | (None, Some(series)) => series,
            (Some(series), Some(named)) if series == named => series,
            (Some(_), Some(_)) => return broken(place, "`series` is another than that of the path; leave it out."),
            (None, None) => return broken(place, "The event does not say its `series`."),
        };
        let what = match (&item.member, item.n) {
            (Some(_), Some(_)) => return broken(place, "An event has an `n` or a `member`, not both."),
            (Some(member), None) => What::Member(member),
            (None, n) => What::Count(n.map_or(Number::Int(1), |Amount(number)| number)),
        };
        let event = Event { at: item.at.map_or(now, |When(at)| at.as_seconds()), what, number: number(place) };
        let slot = tally.slot(name).map_err(|error| Problem::from(error).at(place))?;
        tally.add(slot, event).map_err(|error| Problem::from(error).at(place))
    })?;
    Ok(tally)
}

fn broken(place: Place, why: &str) -> Result<()> {
    Err(Problem::new(Word::RuleBroken, why).at(place))
}

fn number(place: Place) -> u64 {
    match place {
        Place::Line(number) | Place::Item(number) => number,
    }
}

/// `n`. A decimal without a fraction is the whole number it spells, so that it stays exact.
#[derive(Clone, Copy, Debug)]
struct Amount(Number);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number that fits 64 bits")
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Amount, E> {
                Ok(Amount(Number::Int(n)))
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Amount, E> {
                let int = i64::try_from(n).map_err(|_| E::invalid_value(Unexpected::Unsigned(n), &self))?;
                Ok(Amount(Number::Int(int)))
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<Amount, E> {
                Ok(Amount(crate::line_protocol::whole_or_decimal(n)))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
