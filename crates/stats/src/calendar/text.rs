//! Instants as text: the three spellings that are read, and the one that is written.
//!
//! Read by hand, because values arrive by the million and each has a time. All spellings are rounded to the nearest
//! microsecond. A leap second is the second after it, as it is in every count of epoch seconds.

use std::fmt::Write;

use super::civil::{DAY, Date, HOUR, MINUTE, SECOND};
use super::scan::Digits;
use super::zone::Local;
use super::{TimeError, Timestamp};

const MAX_EXCERPT_CHARS: usize = 64;

pub(super) fn read(input: &str) -> Result<Timestamp, TimeError> {
    let malformed = || TimeError::Malformed(excerpt(input));
    if let Some(positive) = input.strip_prefix('-') {
        return Err(read_epoch_seconds(positive).map_or_else(malformed, |_| TimeError::OutOfRange));
    }
    if let Some(micros) = read_epoch_seconds(input) {
        return Ok(Timestamp::from_micros(micros));
    }
    let mut rest = Digits(input.as_bytes());
    let clock = Clock::read(&mut rest).ok_or_else(malformed)?;
    if rest.0.is_empty() {
        return Err(TimeError::NoOffset(excerpt(input)));
    }
    let offset = read_offset(&mut rest).filter(|_| rest.0.is_empty()).ok_or_else(malformed)?;
    clock.instant(offset).ok_or_else(malformed)
}

/// What a text without an offset says that clocks show.
pub(super) fn read_local(input: &str) -> Result<Local, TimeError> {
    let mut rest = Digits(input.as_bytes());
    let clock = Clock::read(&mut rest).filter(|clock| rest.0.is_empty() && !clock.is_leap_second);
    let clock = clock.ok_or_else(|| TimeError::Malformed(excerpt(input)))?;
    Ok(Local(clock.seconds.0 + clock.micros))
}

/// As `2014-10-17 21:34:07.5 -0400`; the offset has seconds only where its zone had, as Liberia until 1972.
pub(super) fn write(local: Local, offset_micros: i64) -> String {
    let Date { year, month, day } = Date::of_day(local.day());
    let of_day = local.0.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / HOUR, of_day / MINUTE % 60, of_day / SECOND % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    let micros = of_day % SECOND;
    let sign = if offset_micros < 0 { '-' } else { '+' };
    let offset = offset_micros.abs();
    let (hours, minutes, seconds) = (offset / HOUR, offset / MINUTE % 60, offset / SECOND % 60);
    let written = if micros == 0 { Ok(()) } else { write!(text, ".{micros:06}") }
        .and_then(|()| write!(text, " {sign}{hours:02}{minutes:02}"))
        .and_then(|()| if seconds == 0 { Ok(()) } else { write!(text, "{seconds:02}") });
    debug_assert!(written.is_ok(), "a String takes everything");
    text
}

/// The beginning of what someone sent, for an error: enough to find it, however long it is.
pub(super) fn excerpt(input: &str) -> String {
    input.chars().take(MAX_EXCERPT_CHARS).collect()
}

fn read_epoch_seconds(input: &str) -> Option<i64> {
    let mut rest = Digits(input.as_bytes());
    let mut seconds = rest.digit()?;
    while let Some(digit) = rest.digit() {
        seconds = seconds.saturating_mul(10).saturating_add(digit);
    }
    let micros = rest.fraction()?;
    rest.0.is_empty().then(|| seconds.saturating_mul(SECOND).saturating_add(micros))
}

/// `Z`, or hours and minutes and perhaps seconds, with or without colons.
fn read_offset(rest: &mut Digits<'_>) -> Option<i64> {
    let _ = rest.literal(b" ");
    let (&sign, after) = rest.0.split_first()?;
    rest.0 = after;
    let sign = match sign {
        b'Z' | b'z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = rest.number(2)?;
    let colon = rest.literal(b":");
    let minutes = rest.number(2)?;
    let seconds = if rest.0.is_empty() {
        0
    } else {
        if colon.is_some() {
            rest.literal(b":")?;
        }
        rest.number(2)?
    };
    (hours < 24 && minutes < 60 && seconds < 60).then(|| sign * (hours * HOUR + minutes * MINUTE + seconds * SECOND))
}

/// A date and a time of day as written, the fraction of the second aside.
struct Clock {
    seconds: Local,
    micros: i64,
    is_leap_second: bool,
}

impl Clock {
    fn read(rest: &mut Digits<'_>) -> Option<Self> {
        let year = rest.year()?;
        rest.literal(b"-")?;
        let month = rest.number(2)?;
        rest.literal(b"-")?;
        let date = Date { year, month, day: rest.number(2)? };
        [b"T", b"t", b" "].iter().find_map(|separator| rest.literal(*separator))?;
        let hour = rest.number(2)?;
        rest.literal(b":")?;
        let minute = rest.number(2)?;
        rest.literal(b":")?;
        let second = rest.number(2)?;
        let micros = rest.fraction()?;
        if !(1..=12).contains(&month) || Date::of_day(date.to_day()) != date || hour > 23 || minute > 59 || second > 60
        {
            return None;
        }
        let seconds = Local(date.to_day() * DAY + hour * HOUR + minute * MINUTE + second * SECOND);
        Some(Self { seconds, micros, is_leap_second: second == 60 })
    }

    fn instant(&self, offset: i64) -> Option<Timestamp> {
        let instant = self.seconds.0 - offset;
        if self.is_leap_second && instant.rem_euclid(DAY) != 0 {
            return None;
        }
        Some(Timestamp::from_micros(instant + self.micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a case reads better without the reference")]
    fn check(input: &str, expected: Result<i64, TimeError>) {
        assert_eq!(input.parse::<Timestamp>().map(Timestamp::as_micros), expected, "{input}");
    }

    #[test]
    fn every_spelling() {
        const SECOND_OF: i64 = 1_413_596_047_000_000;
        for input in [
            "1413596047",
            "1413596047.0",
            "2014-10-18T01:34:07Z",
            "2014-10-18t01:34:07z",
            "2014-10-18 01:34:07Z",
            "2014-10-17T21:34:07-04:00",
            "2014-10-17T21:34:07.000-04:00",
            "2014-10-17 21:34:07 -0400",
            "2014-10-17 21:34:07 -04:00",
            "2014-10-17 21:34:07-0400",
            "2014-10-18 07:04:07.000000000 +0530",
            "2014-10-18 02:18:37 +004430",
            "2014-10-18 02:18:37 +00:44:30",
        ] {
            check(input, Ok(SECOND_OF));
        }
        check("0", Ok(0));
        check("61.25", Ok(61_250_000));
        check("2014-10-17 21:34:07.000001 -0400", Ok(SECOND_OF + 1));
        check("1413596047.1234564", Ok(SECOND_OF + 123_456));
        check("1413596047.1234565", Ok(SECOND_OF + 123_457));
        check("2014-10-17T21:34:07.999999999-04:00", Ok(SECOND_OF + 1_000_000));
        check("1970-01-01T00:00:00-00:00", Ok(0));
        check("2016-12-31T23:59:60Z", Ok(1_483_228_800_000_000));
        check("2016-12-31T18:59:60.5-05:00", Ok(1_483_228_800_500_000));
        check("9999-12-31T23:59:59.999999Z", Ok(Timestamp::MAX.as_micros()));
    }

    #[test]
    fn outside_of_1970_to_9999() {
        for input in [
            "-1",
            "-0.000001",
            "253402300800",
            "99999999999999999999999999",
            "1969-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:00+00:01",
            "10000-01-01T00:00:00Z",
            "9999-12-31T23:59:59-00:01",
            "0001-01-01T00:00:00Z",
        ] {
            check(input, Err(TimeError::OutOfRange));
        }
    }

    #[test]
    fn a_local_time_is_no_instant() {
        for input in ["2014-11-02 01:30:00", "2014-11-02T01:30:00.5"] {
            check(input, Err(TimeError::NoOffset(input.to_owned())));
        }
    }

    #[test]
    fn malformed() {
        for input in [
            "",
            " 1",
            "1 ",
            "+1",
            "1.",
            ".5",
            "1e9",
            "1.5.5",
            "--1",
            "-x",
            "now",
            "2014-10-17",
            "2014-10-17T21:34Z",
            "2014-10-17T21:34:07.Z",
            "2014-10-17T21:34:07ZZ",
            "2014-10-17T21:34:07Z ",
            "2014-10-17T21:34:07  -0400",
            "2014-10-17T21:34:07-04",
            "2014-10-17T21:34:07-04:0",
            "2014-10-17T21:34:07-04:00:",
            "2014-10-17T21:34:07-04:0030",
            "2014-10-17T21:34:07-24:00",
            "2014-10-17T21:34:07-04:60",
            "2014-10-17T21:34:07 EDT",
            "2014-10-17X21:34:07Z",
            "2014-02-29T00:00:00Z",
            "2014-00-01T00:00:00Z",
            "2014-13-01T00:00:00Z",
            "2014-01-00T00:00:00Z",
            "2014-01-32T00:00:00Z",
            "2014-01-01T24:00:00Z",
            "2014-01-01T00:60:00Z",
            "2014-01-01T00:00:60Z",
            "2014-01-01T00:00:61Z",
            "14-10-17T21:34:07Z",
            "２０１４-10-17T21:34:07Z",
        ] {
            check(input, Err(TimeError::Malformed(input.to_owned())));
        }
    }

    #[test]
    fn errors_quote_only_the_beginning() {
        let long = "é".repeat(100_000);
        check(&long, Err(TimeError::Malformed("é".repeat(64))));
    }

    #[test]
    fn written_as_in_the_contract() {
        for (micros, offset_seconds, expected) in [
            (1_413_596_047_000_000, -4 * 3_600, "2014-10-17 21:34:07 -0400"),
            (1_413_596_047_000_001, -4 * 3_600, "2014-10-17 21:34:07.000001 -0400"),
            (1_413_596_047_500_000, 19_800, "2014-10-18 07:04:07.500000 +0530"),
            (0, 0, "1970-01-01 00:00:00 +0000"),
            (0, -2_670, "1969-12-31 23:15:30 -004430"),
            (0, -1_800, "1969-12-31 23:30:00 -0030"),
        ] {
            let offset_micros = offset_seconds * SECOND;
            let text = write(Local(micros + offset_micros), offset_micros);
            assert_eq!(text, expected);
            check(&text, Ok(micros));
        }
    }
}
