//! Instants, and the seconds, minutes, hours, days, weeks, months and years they belong to in a time zone.
//!
//! **An interval is what the wall clock shows.** Two instants are in the same interval if their local times, cut to
//! the interval, are written alike; the label is that writing. From this the rest follows, also around a change of
//! the clock:
//!
//! - A repeated local time is one interval. When clocks go back from 02:00 to 01:00, the hour `T01` lasts two hours,
//!   and the minute `T01:30` is two minutes, sixty minutes apart. To keep the passes apart a label would need the
//!   offset, and it has none; two intervals under one label would overwrite each other wherever results are kept by
//!   label. Nothing is lost and nothing counted twice this way.
//! - A skipped local time is no interval. There is no hour `T02` on the day clocks go forward, and no 30 December
//!   2011 in Apia. Counted as an interval it would be a gap with a sum of 0 that nobody could have filled.
//! - An interval's *start* is the first instant in it, and stands for it: 01:00 where midnight was skipped.
//! - The order is that of the wall clock, hence of the labels, hence of the starts. Only within the second pass of a
//!   repeated time does a later instant belong to an earlier interval.
//!
//! Zones come from a database inside the program, never from the machine, so that the same build gives the same
//! answers everywhere. All arithmetic is on microseconds and total: beyond the years that [`Timestamp`] accepts as
//! input it saturates and never panics.

mod civil;
mod interval;
mod label;
mod scan;
mod text;
mod timestamp;
mod wall_clock;
mod zone;

pub use interval::Interval;
pub use timestamp::Timestamp;
pub use wall_clock::WallClock;

use std::ops::Range;

use zone::{Place, Zone};

/// What was wrong with a time, a zone, an interval or a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error(
        "`{0}` is not a time: epoch seconds, RFC 3339 as in 2014-10-17T21:34:07-04:00, \
         or 2014-10-17 21:34:07 -0400 are right"
    )]
    Malformed(String),
    #[error("`{0}` is a local time without an offset, which may be no instant or two: add one, as in {0} -0400")]
    NoOffset(String),
    #[error("`{text}` was shown by the clocks of {zone} twice: add the offset that is meant, as in {text} -0400")]
    Ambiguous { text: String, zone: String },
    #[error("`{text}` was never shown by the clocks of {zone}, which went over it: add an offset, as in {text} -0400")]
    Skipped { text: String, zone: String },
    #[error("times before 1970 or after 9999 are refused")]
    OutOfRange,
    #[error("`{0}` is not a time zone of the IANA database, as is America/New_York")]
    UnknownZone(String),
    #[error("`{0}` is not an interval: seconds, minutes, hours, days, weeks, months or years are right")]
    UnknownInterval(String),
    #[error("`{label}` is not the label of one of the {interval} in {zone}")]
    UnknownLabel { label: String, interval: Interval, zone: String },
}

/// The intervals of a time zone.
#[derive(Clone, Debug)]
pub struct Calendar {
    name: String,
    zone: Zone,
}

impl Calendar {
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: Zone::UTC }
    }

    /// The calendar of an IANA time zone such as `Europe/Berlin`, whatever the case of its letters.
    pub fn in_zone(name: &str) -> Result<Self, TimeError> {
        let (name, zone) = Zone::named(name).ok_or_else(|| TimeError::UnknownZone(text::excerpt(name)))?;
        Ok(Self { name, zone })
    }

    /// The zone's name as the database spells it.
    pub fn zone(&self) -> &str {
        &self.name
    }

    /// The start of the interval an instant is in.
    pub fn floor(&self, interval: Interval, at: Timestamp) -> Timestamp {
        match self.place(interval, self.index(interval, at)) {
            Place::At(start) => start,
            // The instant itself shows that the interval exists.
            Place::Skipped(_) => at,
        }
    }

    /// The start of the interval after the one that holds an instant.
    pub fn next(&self, interval: Interval, at: Timestamp) -> Timestamp {
        match self.place(interval, self.index(interval, at) + 1) {
            Place::At(start) => start,
            // What clocks show after the change is in the next interval there is.
            Place::Skipped(change) => change,
        }
    }

    /// The start of the interval before the one that holds an instant.
    pub fn previous(&self, interval: Interval, at: Timestamp) -> Timestamp {
        match self.place(interval, self.index(interval, at) - 1) {
            Place::At(start) => start,
            Place::Skipped(change) => self.floor(interval, change.just_before()),
        }
    }

    /// How many times to go to the next interval to come from the one of `from` to the one of `to`; negative to go
    /// back. Skipped intervals do not count.
    pub fn steps(&self, interval: Interval, from: Timestamp, to: Timestamp) -> i64 {
        let (first, last) = (self.index(interval, from), self.index(interval, to));
        if last < first {
            return -self.steps(interval, to, from);
        }
        if last - first < 2 {
            return last - first;
        }
        let (start, end) = (self.floor(interval, from), self.floor(interval, to));
        let skipped: i64 = self.zone.gaps(start, end).map(|gap| interval.count_within(&gap)).sum();
        last - first - skipped
    }

    /// The starts of all intervals from the one of `from` to the one of `to`, both included.
    pub fn starts(&self, interval: Interval, from: Timestamp, to: Timestamp) -> impl Iterator<Item = Timestamp> {
        let (first, last) = (self.floor(interval, from), self.floor(interval, to));
        let following = move |&start: &Timestamp| Some(self.next(interval, start)).filter(|next| *next > start);
        std::iter::successors(Some(first), following).take_while(move |start| *start <= last)
    }

    /// The label of the interval an instant is in, such as `2014-W42`.
    pub fn label(&self, interval: Interval, at: Timestamp) -> String {
        label::write(interval, self.zone.local(at))
    }

    /// The start of the interval with a label.
    pub fn parse_label(&self, interval: Interval, label: &str) -> Result<Timestamp, TimeError> {
        label::read(interval, label)
            .and_then(|local| match self.place(interval, interval.index(local)) {
                Place::At(start) => Some(start),
                Place::Skipped(_) => None,
            })
            .ok_or_else(|| TimeError::UnknownLabel { label: text::excerpt(label), interval, zone: self.name.clone() })
    }

    /// The number of the interval an instant is in: how many of its kind the wall clock of this zone would have gone
    /// through, skipped ones included. Numbers are in the order of time, and the same number is the same label.
    pub fn number(&self, interval: Interval, at: Timestamp) -> i64 {
        self.index(interval, at)
    }

    /// The label of the interval with a number.
    pub fn label_of(&self, interval: Interval, number: i64) -> String {
        label::write(interval, interval.first(number))
    }

    /// The numbers from one to another whose intervals clocks went over, in order.
    pub fn skipped(&self, interval: Interval, first: i64, last: i64) -> Vec<Range<i64>> {
        let instant = |number| match self.place(interval, number) {
            Place::At(at) | Place::Skipped(at) => at,
        };
        if last - first < 2 {
            return Vec::new();
        }
        let gaps = self.zone.gaps(instant(first), instant(last));
        gaps.map(|gap| interval.within(&gap)).filter(|numbers| !numbers.is_empty()).collect()
    }

    /// Reads a time as it is written in input. Unlike [`Timestamp`]'s own reading it takes a local time without an
    /// offset, where the clocks of this zone showed it once.
    pub fn instant(&self, input: &str) -> Result<Timestamp, TimeError> {
        match input.parse() {
            Err(TimeError::NoOffset(_)) => self.zone.instant(text::read_local(input)?).map_err(|shown| {
                let (text, zone) = (text::excerpt(input), self.name.clone());
                match shown {
                    zone::Shown::Twice => TimeError::Ambiguous { text, zone },
                    zone::Shown::Never => TimeError::Skipped { text, zone },
                }
            }),
            read => read,
        }?
        .accepted()
    }

    /// What reads many instants off the wall clock, fastest where they are near each other.
    pub fn wall_clock(&self) -> WallClock<'_> {
        WallClock::new(&self.zone)
    }

    /// An instant as `2014-10-17 21:34:07 -0400`, with `.ffffff` where it is not a whole second.
    pub fn format(&self, at: Timestamp) -> String {
        text::write(self.zone.local(at), self.zone.offset_micros(at))
    }

    fn index(&self, interval: Interval, at: Timestamp) -> i64 {
        interval.index(self.zone.local(at))
    }

    fn place(&self, interval: Interval, index: i64) -> Place {
        self.zone.place(interval.first(index), interval.first(index + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(zone: &str) -> Calendar {
        Calendar::in_zone(zone).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn labels_of_the_contract() {
        let (new_york, instant) = (calendar("America/New_York"), at("2014-10-17 21:34:07.25 -0400"));
        for (interval, label, start) in [
            (Interval::Seconds, "2014-10-17T21:34:07", "2014-10-17 21:34:07 -0400"),
            (Interval::Minutes, "2014-10-17T21:34", "2014-10-17 21:34:00 -0400"),
            (Interval::Hours, "2014-10-17T21", "2014-10-17 21:00:00 -0400"),
            (Interval::Days, "2014-10-17", "2014-10-17 00:00:00 -0400"),
            (Interval::Weeks, "2014-W42", "2014-10-13 00:00:00 -0400"),
            (Interval::Months, "2014-10", "2014-10-01 00:00:00 -0400"),
            (Interval::Years, "2014", "2014-01-01 00:00:00 -0500"),
        ] {
            assert_eq!(new_york.label(interval, instant), label);
            assert_eq!(new_york.format(new_york.floor(interval, instant)), start);
            assert_eq!(new_york.parse_label(interval, label), Ok(at(start)));
        }
    }

    /// Start, label, and the next interval's start and label, all at once.
    #[track_caller]
    fn check(zone: &str, interval: Interval, instant: &str, start: &str, next: &str, labels: [&str; 2]) {
        let (calendar, instant) = (calendar(zone), at(instant));
        let (found, following) = (calendar.floor(interval, instant), calendar.next(interval, instant));
        assert_eq!([calendar.format(found), calendar.format(following)], [start, next]);
        assert_eq!([found, following].map(|start| calendar.label(interval, start)), labels);
        assert_eq!(calendar.previous(interval, following), found);
        assert_eq!(calendar.steps(interval, instant, following), 1);
        assert_eq!(calendar.steps(interval, following, instant), -1);
        for (label, start) in labels.into_iter().zip([found, following]) {
            assert_eq!(calendar.parse_label(interval, label), Ok(start));
        }
    }

    #[test]
    #[rustfmt::skip] // a case a line
    fn clocks_go_forward() {
        check("America/New_York", Interval::Hours, "2014-03-09 01:30:00 -0500",
            "2014-03-09 01:00:00 -0500", "2014-03-09 03:00:00 -0400", ["2014-03-09T01", "2014-03-09T03"]);
        check("America/New_York", Interval::Seconds, "2014-03-09 01:59:59 -0500",
            "2014-03-09 01:59:59 -0500", "2014-03-09 03:00:00 -0400", ["2014-03-09T01:59:59", "2014-03-09T03:00:00"]);
        check("America/New_York", Interval::Days, "2014-03-09 12:00:00 -0400",
            "2014-03-09 00:00:00 -0500", "2014-03-10 00:00:00 -0400", ["2014-03-09", "2014-03-10"]);
        // By half an hour: the second half of T02 is all there is of it.
        check("Australia/Lord_Howe", Interval::Hours, "2014-10-05 01:30:00 +1030",
            "2014-10-05 01:00:00 +1030", "2014-10-05 02:30:00 +1100", ["2014-10-05T01", "2014-10-05T02"]);
        // At midnight: the day begins at one.
        check("America/Sao_Paulo", Interval::Days, "2014-10-18 12:00:00 -0300",
            "2014-10-18 00:00:00 -0300", "2014-10-19 01:00:00 -0200", ["2014-10-18", "2014-10-19"]);
        // Over a whole day, which was the last but one of the year.
        check("Pacific/Apia", Interval::Days, "2011-12-29 12:00:00 -1000",
            "2011-12-29 00:00:00 -1000", "2011-12-31 00:00:00 +1400", ["2011-12-29", "2011-12-31"]);
        check("Pacific/Apia", Interval::Hours, "2011-12-29 23:15:00 -1000",
            "2011-12-29 23:00:00 -1000", "2011-12-31 00:00:00 +1400", ["2011-12-29T23", "2011-12-31T00"]);
    }

    #[test]
    #[rustfmt::skip] // a case a line
    fn clocks_go_back() {
        check("America/New_York", Interval::Hours, "2014-11-02 01:30:00 -0500",
            "2014-11-02 01:00:00 -0400", "2014-11-02 02:00:00 -0500", ["2014-11-02T01", "2014-11-02T02"]);
        check("America/New_York", Interval::Minutes, "2014-11-02 01:59:30 -0500",
            "2014-11-02 01:59:00 -0400", "2014-11-02 02:00:00 -0500", ["2014-11-02T01:59", "2014-11-02T02:00"]);
        check("Australia/Lord_Howe", Interval::Hours, "2014-04-06 01:45:00 +1030",
            "2014-04-06 01:00:00 +1100", "2014-04-06 02:00:00 +1030", ["2014-04-06T01", "2014-04-06T02"]);
        check("America/Sao_Paulo", Interval::Days, "2014-02-15 23:30:00 -0300",
            "2014-02-15 00:00:00 -0200", "2014-02-16 00:00:00 -0300", ["2014-02-15", "2014-02-16"]);
        // A minute past midnight: Newfoundland's November began, went back to October, and began again.
        check("America/St_Johns", Interval::Months, "2009-10-31 23:30:00 -0330",
            "2009-10-01 00:00:00 -0230", "2009-11-01 00:00:00 -0230", ["2009-10", "2009-11"]);
    }

    #[test]
    fn steps_leave_out_what_was_skipped() {
        for (zone, interval, from, to, steps) in [
            ("UTC", Interval::Days, "2011-12-01 00:00:00 +0000", "2012-01-01 00:00:00 +0000", 31),
            ("Pacific/Apia", Interval::Days, "2011-12-01 00:00:00 -1000", "2012-01-01 00:00:00 +1400", 30),
            ("Pacific/Apia", Interval::Weeks, "2011-12-01 00:00:00 -1000", "2012-01-01 00:00:00 +1400", 4),
            ("America/New_York", Interval::Hours, "2014-03-09 00:00:00 -0500", "2014-03-10 00:00:00 -0400", 23),
            ("America/New_York", Interval::Hours, "2014-11-02 00:00:00 -0400", "2014-11-03 00:00:00 -0500", 24),
            ("America/New_York", Interval::Minutes, "2014-03-09 00:00:00 -0500", "2014-03-10 00:00:00 -0400", 1_380),
            ("America/New_York", Interval::Years, "1970-01-01 05:00:00 +0000", "9999-12-31 23:59:59 +0000", 8_029),
        ] {
            let (calendar, from, to) = (calendar(zone), at(from), at(to));
            assert_eq!(calendar.steps(interval, from, to), steps, "{interval} in {zone}");
            assert_eq!(calendar.steps(interval, to, from), -steps, "{interval} in {zone}");
            let starts: Vec<_> = calendar.starts(interval, from, to).collect();
            assert_eq!(i64::try_from(starts.len()), Ok(steps + 1), "{interval} in {zone}");
            let ends = [from, to].map(|instant| Some(calendar.floor(interval, instant)));
            assert_eq!([starts.first().copied(), starts.last().copied()], ends);
        }
    }

    #[test]
    fn labels_of_nothing_are_refused() {
        for (zone, interval, label) in [
            ("Pacific/Apia", Interval::Days, "2011-12-30"),
            ("America/New_York", Interval::Hours, "2014-03-09T02"),
            ("UTC", Interval::Days, "2014-02-29"),
            ("UTC", Interval::Months, "2014-13"),
            ("UTC", Interval::Months, "2014-00"),
            ("UTC", Interval::Months, "2014-1"),
            ("UTC", Interval::Weeks, "2014-W53"),
            ("UTC", Interval::Weeks, "2014-W00"),
            ("UTC", Interval::Hours, "2014-10-17T24"),
            ("UTC", Interval::Hours, "2014-10-17 21"),
            ("UTC", Interval::Years, "2014-10"),
            ("UTC", Interval::Years, "0014"),
            ("UTC", Interval::Years, ""),
            ("UTC", Interval::Years, "２０１４"),
        ] {
            assert!(calendar(zone).parse_label(interval, label).is_err(), "{label} is no {interval} in {zone}");
        }
    }

    #[test]
    fn the_ends_of_time_are_in_intervals_too() {
        let kiritimati = calendar("Pacific/Kiritimati");
        assert_eq!(kiritimati.label(Interval::Years, Timestamp::MAX), "10000");
        assert_eq!(kiritimati.format(Timestamp::MAX), "10000-01-01 13:59:59.999999 +1400");
        assert_eq!(at(&kiritimati.format(Timestamp::MAX)), Timestamp::MAX);
        let new_york = calendar("America/New_York");
        assert_eq!(new_york.label(Interval::Weeks, Timestamp::MIN), "1970-W01");
        assert_eq!(new_york.format(new_york.floor(Interval::Weeks, Timestamp::MIN)), "1969-12-29 00:00:00 -0500");
        for calendar in [kiritimati, new_york] {
            for interval in Interval::ALL {
                for instant in [Timestamp::MIN, Timestamp::MAX] {
                    let label = calendar.label(interval, instant);
                    assert_eq!(
                        calendar.parse_label(interval, &label),
                        Ok(calendar.floor(interval, instant)),
                        "{label}"
                    );
                }
            }
        }
    }

    #[test]
    fn iso_weeks_belong_to_the_year_of_their_thursday() {
        for (date, label) in [
            ("2005-01-01", "2004-W53"),
            ("2007-01-01", "2007-W01"),
            ("2008-12-29", "2009-W01"),
            ("2010-01-03", "2009-W53"),
            ("2012-01-01", "2011-W52"),
            ("2020-12-31", "2020-W53"),
            ("2024-12-30", "2025-W01"),
        ] {
            assert_eq!(Calendar::utc().label(Interval::Weeks, at(&format!("{date}T12:00:00Z"))), label, "{date}");
        }
    }
}
