//! Adding to what a counter holds.

use crate::{Atom, Error, Key, Number, Result};

/// Integers add exactly and overflow is an error; a decimal on either side makes a decimal.
pub(crate) fn add(key: &Key, field: Option<&Atom>, value: Option<&Atom>, by: Number) -> Result<Atom> {
    match (value, by) {
        (None, Number::Int(by)) => Ok(Atom::Int(by)),
        (Some(Atom::Int(value)), Number::Int(by)) => {
            value.checked_add(by).map(Atom::Int).ok_or_else(|| overflow(key, field, &value.to_string(), by.to_string()))
        }
        (value, by) => {
            let held = match value {
                None => 0.0,
                Some(value) => value.as_decimal().ok_or_else(|| Error::NotANumber {
                    key: key.clone(),
                    field: field.cloned(),
                    value: value.as_bytes().escape_ascii().to_string(),
                })?,
            };
            let by = match by {
                Number::Int(by) => by as f64,
                Number::Decimal(by) => by,
            };
            let sum = held + by;
            if sum.is_finite() {
                Ok(Atom::from(sum))
            } else {
                Err(overflow(key, field, &held.to_string(), by.to_string()))
            }
        }
    }
}

fn overflow(key: &Key, field: Option<&Atom>, value: &str, by: String) -> Error {
    Error::Overflow { key: key.clone(), field: field.cloned(), value: value.into(), by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_exact_and_decimals_stay_decimal() {
        let check = |value: Option<&str>, by, expected: Option<&str>| {
            let value = value.map(Atom::from);
            let sum = add(&Key::from("k"), None, value.as_ref(), by);
            assert_eq!(sum.ok(), expected.map(Atom::from), "{value:?} + {by:?}");
        };
        check(None, Number::Int(3), Some("3"));
        check(Some("9223372036854775806"), Number::Int(1), Some("9223372036854775807"));
        check(Some("9223372036854775807"), Number::Int(1), None);
        check(Some("-9223372036854775808"), Number::Int(-1), None);
        check(Some("1"), Number::Decimal(0.5), Some("1.5"));
        check(Some("1.5"), Number::Int(1), Some("2.5"));
        check(Some("1.5"), Number::Decimal(0.5), Some("2"));
        check(Some("x"), Number::Int(1), None);
        check(Some(""), Number::Decimal(1.0), None);
        check(Some("1e308"), Number::Decimal(1.7e308), None);
    }
}
