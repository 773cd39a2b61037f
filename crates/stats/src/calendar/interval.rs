//! The seven intervals, numbered on the wall clock.
//!
//! Every interval has an index: how many of its kind the wall clock went through since 1970 (for weeks, since Monday
//! 29 December 1969; for months and years, since the year 0). Indices know nothing of zones; whether an interval
//! exists in one is the zone's business.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::civil::{DAY, Date, HOUR, MINUTE, SECOND};
use super::zone::Local;
use super::{TimeError, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    Seconds,
    Minutes,
    Hours,
    Days,
    /// From Monday, as ISO 8601 has it.
    Weeks,
    Months,
    Years,
}

/// 1 January 1970 was a Thursday.
const DAYS_FROM_MONDAY: i64 = 3;

impl Interval {
    /// All of them, the shortest first.
    pub const ALL: [Self; 7] =
        [Self::Seconds, Self::Minutes, Self::Hours, Self::Days, Self::Weeks, Self::Months, Self::Years];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
            Self::Weeks => "weeks",
            Self::Months => "months",
            Self::Years => "years",
        }
    }

    /// The index of the interval that holds a local time.
    pub(super) fn index(self, local: Local) -> i64 {
        match self {
            Self::Seconds => local.0.div_euclid(SECOND),
            Self::Minutes => local.0.div_euclid(MINUTE),
            Self::Hours => local.0.div_euclid(HOUR),
            Self::Days => local.day(),
            Self::Weeks => (local.day() + DAYS_FROM_MONDAY).div_euclid(7),
            Self::Months => {
                let date = Date::of_day(local.day());
                date.year * 12 + date.month - 1
            }
            Self::Years => Date::of_day(local.day()).year,
        }
    }

    /// The first local time of the interval with an index, whether or not clocks ever showed it.
    pub(super) fn first(self, index: i64) -> Local {
        let day = |year, month| Date { year, month, day: 1 }.to_day();
        Local(match self {
            Self::Seconds => index.saturating_mul(SECOND),
            Self::Minutes => index.saturating_mul(MINUTE),
            Self::Hours => index.saturating_mul(HOUR),
            Self::Days => index.saturating_mul(DAY),
            Self::Weeks => (index * 7 - DAYS_FROM_MONDAY).saturating_mul(DAY),
            Self::Months => day(index.div_euclid(12), index.rem_euclid(12) + 1).saturating_mul(DAY),
            Self::Years => day(index, 1).saturating_mul(DAY),
        })
    }

    /// How many intervals lie wholly within a stretch of local time.
    pub(super) fn count_within(self, stretch: &Range<Local>) -> i64 {
        let within = self.within(stretch);
        (within.end - within.start).max(0)
    }

    /// The indices of the intervals that lie wholly within a stretch of local time.
    pub(super) fn within(self, stretch: &Range<Local>) -> Range<i64> {
        self.index(stretch.start.just_before()) + 1..self.index(stretch.end)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Interval {
    type Err = TimeError;

    fn from_str(name: &str) -> Result<Self, TimeError> {
        let known = Self::ALL.into_iter().find(|interval| interval.as_str() == name);
        known.ok_or_else(|| TimeError::UnknownInterval(text::excerpt(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for interval in Interval::ALL {
            assert_eq!(interval.to_string().parse(), Ok(interval));
        }
        assert_eq!("fortnights".parse::<Interval>(), Err(TimeError::UnknownInterval("fortnights".to_owned())));
    }

    #[test]
    fn stretches() {
        for (interval, start, end, within) in [
            (Interval::Hours, 2 * HOUR, 3 * HOUR, 1),
            (Interval::Hours, 2 * HOUR + 1, 4 * HOUR - 1, 0),
            (Interval::Hours, 2 * HOUR - 1, 4 * HOUR + 1, 2),
            (Interval::Minutes, 2 * HOUR, 3 * HOUR, 60),
            (Interval::Days, 2 * HOUR, 3 * HOUR, 0),
            (Interval::Days, DAY, 2 * DAY, 1),
            (Interval::Weeks, 4 * DAY, 11 * DAY, 1),
        ] {
            assert_eq!(interval.count_within(&(Local(start)..Local(end))), within, "{interval} {start} {end}");
        }
    }
}
