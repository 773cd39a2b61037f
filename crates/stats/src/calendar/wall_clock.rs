//! Many instants on one wall clock.
//!
//! Values arrive by the million, and those next to each other are nearly always under the same offset and often on the
//! same day. So the offset is looked up once per change of the clock, and the date is spelled once a day.

use std::ops::Range;

use super::civil::{DAY, Date, HOUR, MINUTE, SECOND};
use super::interval::Interval;
use super::zone::{Local, Zone};
use super::{Timestamp, text};

#[derive(Debug)]
pub struct WallClock<'zone> {
    zone: &'zone Zone,
    /// Instants that have the offset.
    around: Range<i64>,
    offset_micros: i64,
    /// The day that is spelled.
    day: i64,
    /// `2014-10-17 `, for years of four digits.
    date: [u8; DATE_BYTES],
    /// ` -0400`, or with seconds.
    offset: Vec<u8>,
}

const DATE_BYTES: usize = 11;
/// Clocks went back by a day at the most, where a date line moved.
const LONGEST_SHIFT: i64 = 25 * HOUR;
/// Days whose years have four digits.
const SHORT_YEARS: Range<i64> = 0..2_932_897;

impl<'zone> WallClock<'zone> {
    pub(super) fn new(zone: &'zone Zone) -> Self {
        Self { zone, around: 0..0, offset_micros: 0, day: i64::MIN, date: *b"0000-00-00 ", offset: Vec::new() }
    }

    /// The number of the interval an instant is in, as [`super::Calendar::number`] has it.
    pub fn number(&mut self, interval: Interval, at: Timestamp) -> i64 {
        interval.index(self.local(at))
    }

    /// Whether from one instant to another the clock only went on, and nothing before the first was shown later than it: so
    /// that numbers of intervals were never higher before, and only grow between the two.
    pub fn is_steady(&mut self, first: Timestamp, last: Timestamp) -> bool {
        self.local(last);
        let since = self.around.start;
        first <= last && since <= first.as_micros().saturating_sub(LONGEST_SHIFT)
    }

    /// Appends an instant as [`super::Calendar::format`] has it.
    pub fn write(&mut self, at: Timestamp, out: &mut Vec<u8>) {
        let local = self.local(at);
        let day = local.day();
        if !SHORT_YEARS.contains(&day) {
            out.extend_from_slice(text::write(local, self.offset_micros).as_bytes());
            return;
        }
        if day != self.day {
            self.spell(day);
        }
        let of_day = local.0.rem_euclid(DAY);
        out.extend_from_slice(&self.date);
        for (number, after) in [(of_day / HOUR, b':'), (of_day / MINUTE % 60, b':')] {
            out.extend_from_slice(&digits(number));
            out.push(after);
        }
        out.extend_from_slice(&digits(of_day / SECOND % 60));
        let micros = of_day % SECOND;
        if micros != 0 {
            out.push(b'.');
            for hundreds in [micros / 10_000, micros / 100 % 100, micros % 100] {
                out.extend_from_slice(&digits(hundreds));
            }
        }
        out.extend_from_slice(&self.offset);
    }

    fn local(&mut self, at: Timestamp) -> Local {
        if !self.around.contains(&at.as_micros()) {
            (self.offset_micros, self.around) = self.zone.offset_around(at);
            // Everything after the seconds of any time on this offset.
            let midnight = text::write(Local(0), self.offset_micros);
            self.offset = midnight.as_bytes()[DATE_BYTES + 8..].to_vec();
        }
        Local(at.as_micros().saturating_add(self.offset_micros))
    }

    fn spell(&mut self, day: i64) {
        let date = Date::of_day(day);
        let spelled = [(0, date.year / 100), (2, date.year % 100), (5, date.month), (8, date.day)];
        for (at, number) in spelled {
            self.date[at..at + 2].copy_from_slice(&digits(number));
        }
        self.day = day;
    }
}

/// A number below 100, in two digits.
fn digits(number: i64) -> [u8; 2] {
    let number = u8::try_from(number.rem_euclid(100)).unwrap_or(0);
    [b'0' + number / 10, b'0' + number % 10]
}
