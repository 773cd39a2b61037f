//! What a field is worth.

use tickmark_store::Number;

use super::malformed;
use crate::problem::{Problem, Result, Word};

/// Up to here every whole number has its own double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(Number),
    Text,
}

/// What a field with a text in it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strings {
    /// Counts one.
    #[default]
    Count,
    /// Nothing.
    Skip,
}

/// `3i`, `3u`, `3`, `0.5`, `true`.
#[inline]
pub(super) fn parse(text: &[u8]) -> Result<Value> {
    match text {
        [digits @ .., b'i'] => integer(text, digits),
        [b'0'..=b'9' | b'-' | b'+' | b'.', .., b'u'] => integer(text, &text[..text.len() - 1]),
        [b'0'..=b'9' | b'-' | b'+' | b'.', ..] => match int(text) {
            Some(int) => Ok(Value::Number(Number::Int(int))),
            None => decimal(text),
        },
        b"t" | b"T" | b"true" | b"True" | b"TRUE" => Ok(Value::Number(Number::Int(1))),
        b"f" | b"F" | b"false" | b"False" | b"FALSE" => Ok(Value::Number(Number::Int(0))),
        _ => Err(unknown(text)),
    }
}

/// A decimal without a fraction is the whole number it spells, which stays exact.
pub fn whole_or_decimal(decimal: f64) -> Number {
    if decimal.fract() == 0.0 && decimal.abs() <= EXACT_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
        return Number::Int(decimal as i64);
    }
    Number::Decimal(decimal)
}

/// A whole number of at most 64 bits.
#[inline]
pub(super) fn int(text: &[u8]) -> Option<i64> {
    let (digits, is_negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    // Nineteen digits, as nanoseconds have, fit 64 bits whatever they are.
    if digits.is_empty() || digits.len() > 19 {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    if is_negative { 0_i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() }
}

fn integer(text: &[u8], digits: &[u8]) -> Result<Value> {
    if let Some(int) = int(digits) {
        return Ok(Value::Number(Number::Int(int)));
    }
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.iter().all(u8::is_ascii_digit) {
        return Err(unknown(text));
    }
    let detail = format!("The number {} does not fit 64 bits.", String::from_utf8_lossy(text));
    Err(Problem::new(Word::Overflow, detail))
}

fn decimal(text: &[u8]) -> Result<Value> {
    let spelled = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let decimal = std::str::from_utf8(text).ok().filter(|_| spelled).and_then(|text| text.parse::<f64>().ok());
    match decimal {
        Some(decimal) if decimal.is_finite() => Ok(Value::Number(whole_or_decimal(decimal))),
        _ => Err(unknown(text)),
    }
}

fn unknown(text: &[u8]) -> Problem {
    let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
    malformed(format!("The value {text:?} is none of 3i, 3u, 3, 0.5, true, false and \"text\"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let int = |int| Some(Value::Number(Number::Int(int)));
        for (text, expected) in [
            ("3i", int(3)),
            ("-3i", int(-3)),
            ("3u", int(3)),
            ("3", int(3)),
            ("3.0", int(3)),
            ("1e3", int(1_000)),
            ("0.5", Some(Value::Number(Number::Decimal(0.5)))),
            ("-.5", Some(Value::Number(Number::Decimal(-0.5)))),
            ("9223372036854775807i", int(i64::MAX)),
            ("-9223372036854775808i", int(i64::MIN)),
            ("9223372036854775808i", None),
            ("18446744073709551615u", None),
            ("t", int(1)),
            ("FALSE", int(0)),
            ("", None),
            ("i", None),
            ("-", None),
            ("nan", None),
            ("inf", None),
            ("1e999", None),
            ("0x10", None),
            ("true1", None),
            ("3ii", None),
        ] {
            assert_eq!(parse(text.as_bytes()).ok(), expected, "{text:?}");
        }
    }
}
