//! What an interval is called.
//!
//! Labels of one interval sort as text in the order of time (until the year 10000, which only a local time can reach).
//! A label is read by writing it again: whatever does not come out the same was not a label.

use super::civil::{DAY, Date};
use super::interval::Interval;
use super::scan::Digits;
use super::zone::Local;

/// The years a local time can show at an accepted instant, or at the start of its interval.
const YEARS: std::ops::RangeInclusive<i64> = 1969..=10_000;

pub(super) fn write(interval: Interval, local: Local) -> String {
    let Date { year, month, day } = Date::of_day(local.day());
    let seconds = local.0.rem_euclid(DAY) / 1_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match interval {
        Interval::Seconds => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"),
        Interval::Minutes => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}"),
        Interval::Hours => format!("{year:04}-{month:02}-{day:02}T{hour:02}"),
        Interval::Days => format!("{year:04}-{month:02}-{day:02}"),
        Interval::Weeks => {
            let (year, week) = iso_week(local);
            format!("{year:04}-W{week:02}")
        }
        Interval::Months => format!("{year:04}-{month:02}"),
        Interval::Years => format!("{year:04}"),
    }
}

/// The first local time of the interval with a label.
pub(super) fn read(interval: Interval, label: &str) -> Option<Local> {
    let mut rest = Digits(label.as_bytes());
    let year = rest.year().filter(|year| YEARS.contains(year))?;
    let local = if interval == Interval::Weeks {
        rest.literal(b"-W")?;
        // The fourth of January is always in the first week.
        let first = Interval::Weeks.index(at_day(Date { year, month: 1, day: 4 }));
        Interval::Weeks.first(first + rest.number(2)? - 1)
    } else {
        let mut part = |separator: &[u8], present: bool, otherwise| {
            if !present {
                return Some(otherwise);
            }
            rest.literal(separator)?;
            rest.number(2)
        };
        let month = part(b"-", interval <= Interval::Months, 1)?;
        let day = part(b"-", interval <= Interval::Days, 1)?;
        let hour = part(b"T", interval <= Interval::Hours, 0)?;
        let minute = part(b":", interval <= Interval::Minutes, 0)?;
        let second = part(b":", interval <= Interval::Seconds, 0)?;
        let day = at_day(Date { year, month, day });
        Local(day.0 + ((hour * 60 + minute) * 60 + second) * 1_000_000)
    };
    (write(interval, local) == label).then_some(local)
}

/// The week and the year it belongs to, which is that of its Thursday.
fn iso_week(local: Local) -> (i64, i64) {
    let monday = Interval::Weeks.first(Interval::Weeks.index(local)).day();
    let year = Date::of_day(monday + 3).year;
    let new_year = Date { year, month: 1, day: 1 }.to_day();
    (year, (monday + 3 - new_year) / 7 + 1)
}

fn at_day(date: Date) -> Local {
    Local(date.to_day() * DAY)
}
