//! One resolution of a series: how long a bucket is, how long it is kept, and which buckets share a key.
//!
//! A bucket is named by its start in seconds since 1970. Buckets of a number of seconds are counted from 1970; those of the
//! calendar begin when the wall clock of their zone says so, and so are not all equally long.

use std::sync::Arc;

use tickmark_stats::{Calendar, Interval, Timestamp};

use super::SeriesError;

pub const GRANULARITY_NAME_BYTES_MAX: usize = 32;
/// A hundred years.
pub const DURATION_SECONDS_MAX: i64 = 100 * 366 * 86_400;
const MICROS: i64 = 1_000_000;

#[derive(Clone, Debug)]
pub struct Granularity {
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// From the last write to a group; none is for ever.
    pub(super) ttl_seconds: Option<u64>,
    /// How much time shares a key; none where each bucket has its own.
    pub(super) group_seconds: Option<i64>,
}

/// What a bucket spans.
#[derive(Clone, Debug)]
pub enum Span {
    Seconds(i64),
    Calendar { interval: Interval, calendar: Arc<Calendar> },
}

impl Granularity {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn span(&self) -> &Span {
        &self.span
    }

    pub fn ttl_seconds(&self) -> Option<u64> {
        self.ttl_seconds
    }

    pub fn group_seconds(&self) -> Option<i64> {
        self.group_seconds
    }

    /// The bucket an instant is in.
    pub fn floor(&self, at: i64) -> i64 {
        self.span.floor(at)
    }

    /// The bucket after the one an instant is in.
    pub fn next(&self, at: i64) -> i64 {
        match &self.span {
            Span::Seconds(seconds) => self.floor(at).saturating_add(*seconds),
            Span::Calendar { interval, calendar } => calendar.next(*interval, timestamp(at)).as_seconds(),
        }
    }

    /// The group a bucket is in.
    pub fn group(&self, bucket: i64) -> i64 {
        self.group_seconds.map_or(bucket, |seconds| floor(bucket, seconds))
    }

    /// How many buckets from one to another, both included.
    pub fn count(&self, first: i64, last: i64) -> u64 {
        let steps = match &self.span {
            Span::Seconds(seconds) => (last - first) / seconds,
            Span::Calendar { interval, calendar } => calendar.steps(*interval, timestamp(first), timestamp(last)),
        };
        u64::try_from(steps).map_or(0, |steps| steps + 1)
    }

    /// Whether data kept under one of the two reads the same under the other.
    pub(super) fn keeps_as(&self, other: &Self) -> bool {
        self.span.is(&other.span) && self.group_seconds == other.group_seconds
    }
}

impl Span {
    pub fn floor(&self, at: i64) -> i64 {
        match self {
            Self::Seconds(seconds) => floor(at, *seconds),
            Self::Calendar { interval, calendar } => calendar.floor(*interval, timestamp(at)).as_seconds(),
        }
    }

    /// About how long a bucket is, to tell the coarser of two.
    pub(super) fn about_seconds(&self) -> i64 {
        match self {
            Self::Seconds(seconds) => *seconds,
            Self::Calendar { interval: Interval::Weeks, .. } => 7 * 86_400,
            Self::Calendar { interval: Interval::Months, .. } => 30 * 86_400,
            Self::Calendar { .. } => 365 * 86_400,
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Seconds(ours), Self::Seconds(theirs)) => ours == theirs,
            (
                Self::Calendar { interval, calendar },
                Self::Calendar { interval: other_interval, calendar: other_calendar },
            ) => interval == other_interval && calendar.zone() == other_calendar.zone(),
            _ => false,
        }
    }
}

/// Refuses what could not be told from the rest of a key: the granularity is what stands between its last two colons.
pub(super) fn check_name(name: &str) -> Result<(), SeriesError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > GRANULARITY_NAME_BYTES_MAX || !name.bytes().all(allowed) {
        return Err(SeriesError::Declaration(format!(
            "the granularity name {name:?} is not allowed; it has 1 to {GRANULARITY_NAME_BYTES_MAX} letters, digits, _, - and ."
        )));
    }
    Ok(())
}

fn floor(at: i64, seconds: i64) -> i64 {
    at - at.rem_euclid(seconds)
}

fn timestamp(at: i64) -> Timestamp {
    Timestamp::from_micros(at.saturating_mul(MICROS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(interval: Interval, zone: &str) -> Granularity {
        let calendar = Arc::new(Calendar::in_zone(zone).unwrap());
        let span = Span::Calendar { interval, calendar };
        Granularity { name: "g".into(), span, ttl_seconds: None, group_seconds: None }
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_seconds()
    }

    #[test]
    fn buckets_of_seconds() {
        let minute = Granularity {
            name: "1min".into(),
            span: Span::Seconds(60),
            ttl_seconds: None,
            group_seconds: Some(28_800),
        };
        for (instant, bucket, group) in [(0, 0, 0), (59, 0, 0), (60, 60, 0), (28_860, 28_860, 28_800)] {
            assert_eq!((minute.floor(instant), minute.group(bucket)), (bucket, group), "{instant}");
            assert_eq!(minute.next(instant), bucket + 60);
        }
        assert_eq!(minute.count(0, 120), 3);
    }

    #[test]
    #[rustfmt::skip] // a case a line
    fn buckets_of_the_calendar_across_changes_of_the_clock() {
        for (interval, zone, instant, start, next) in [
            (Interval::Weeks, "Europe/Berlin", "2024-03-31T12:00:00+02:00", "2024-03-25T00:00:00+01:00", "2024-04-01T00:00:00+02:00"),
            (Interval::Weeks, "America/New_York", "2024-11-03T01:30:00-05:00", "2024-10-28T00:00:00-04:00", "2024-11-04T00:00:00-05:00"),
            (Interval::Months, "America/New_York", "2024-03-10T03:00:00-04:00", "2024-03-01T00:00:00-05:00", "2024-04-01T00:00:00-04:00"),
            (Interval::Months, "Australia/Lord_Howe", "2024-04-30T23:59:59+10:30", "2024-04-01T00:00:00+11:00", "2024-05-01T00:00:00+10:30"),
            (Interval::Years, "America/Sao_Paulo", "2018-11-04T01:00:00-02:00", "2018-01-01T00:00:00-02:00", "2019-01-01T00:00:00-02:00"),
            (Interval::Years, "UTC", "1999-12-31T23:59:59Z", "1999-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
        ] {
            let granularity = calendar(interval, zone);
            let (start, next, instant) = (at(start), at(next), at(instant));
            assert_eq!((granularity.floor(instant), granularity.next(instant)), (start, next), "{interval} {zone}");
            assert_eq!((granularity.floor(next - 1), granularity.floor(next)), (start, next), "{interval} {zone}");
            assert_eq!(granularity.count(start, next), 2);
        }
    }

    #[test]
    fn the_first_week_began_before_1970() {
        assert_eq!(calendar(Interval::Weeks, "UTC").floor(0), -3 * 86_400);
    }
}
