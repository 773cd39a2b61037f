//! An instant, in microseconds since 1970.
//!
//! As input only 1970 to 9999 is accepted. The type itself holds more, because the week of 1 January 1970 began in
//! 1969, and what is derived from an accepted instant must not be refused.

use std::str::FromStr;

use super::civil::SECOND;
use super::{TimeError, text};

/// An instant with the precision of a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first instant accepted as input.
    pub const MIN: Self = Self(0);
    /// The last instant accepted as input: the end of 9999 in UTC.
    pub const MAX: Self = Self(253_402_300_800 * SECOND - 1);

    /// An instant that is not input, hence not checked.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The whole seconds since 1970, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(SECOND)
    }

    /// The seconds since 1970: exact to the microsecond until the year 2242, when a double runs out of digits.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// Epoch seconds given as a number, rounded to the microsecond.
    #[expect(clippy::cast_possible_truncation, reason = "checked to be within the range of input first")]
    pub fn from_epoch_seconds(seconds: f64) -> Result<Self, TimeError> {
        if !(-1.0..=Self::MAX.as_seconds_f64()).contains(&seconds) {
            return Err(TimeError::OutOfRange);
        }
        // Apart, because the product of all of it with a million would be rounded once more.
        let (whole, fraction) = (seconds.trunc(), seconds.fract());
        let micros = (fraction * SECOND as f64).round();
        Self(whole as i64 * SECOND + micros as i64).accepted()
    }

    /// The instant a microsecond earlier.
    pub(super) const fn just_before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// This instant, if it may be input.
    pub fn accepted(self) -> Result<Self, TimeError> {
        if (Self::MIN..=Self::MAX).contains(&self) { Ok(self) } else { Err(TimeError::OutOfRange) }
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads a time as it is written in input: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`.
    fn from_str(input: &str) -> Result<Self, TimeError> {
        text::read(input)?.accepted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seconds: f64, expected: Option<i64>) {
        assert_eq!(Timestamp::from_epoch_seconds(seconds).ok().map(Timestamp::as_micros), expected, "{seconds}");
    }

    #[test]
    fn epoch_seconds() {
        check(0.0, Some(0));
        check(-0.0, Some(0));
        check(61.0, Some(61_000_000));
        check(1_413_596_047.123_456, Some(1_413_596_047_123_456));
        check(4_308_927_750.790_072, Some(4_308_927_750_790_072));
        check(0.000_000_6, Some(1));
        check(253_402_300_799.0, Some(253_402_300_799_000_000));
        check(253_402_300_800.0, None);
        check(-0.000_001, None);
        check(1e300, None);
        check(f64::INFINITY, None);
        check(f64::NAN, None);
    }

    #[test]
    fn seconds_round_down() {
        for (micros, seconds) in [(0, 0), (999_999, 0), (1_000_000, 1), (-1, -1)] {
            assert_eq!(Timestamp::from_micros(micros).as_seconds(), seconds, "{micros}");
        }
    }
}
