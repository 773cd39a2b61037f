//! The calendar against a slow and obvious one: write the label of every instant around with `jiff`, and look.

use std::collections::{BTreeMap, HashSet};

use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use tickmark_stats::{Calendar, Interval, TimeError, Timestamp};

const SECOND: i64 = 1_000_000;
const QUARTER: i64 = 15 * 60 * SECOND;
const HOUR: i64 = 4 * QUARTER;
const DAY: i64 = 24 * HOUR;

/// Zones with something odd each: midnight changes, half hours, skipped days, changes a minute past midnight. Their
/// offsets are all multiples of a quarter of an hour, which is as finely as the slow calendar looks at days.
const ZONES: [&str; 12] = [
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Pacific/Kanton",
    "Pacific/Kwajalein",
    "Africa/Casablanca",
    "Antarctica/Troll",
];

fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

fn slow_label(interval: Interval, zone: &TimeZone, micros: i64) -> String {
    let format = match interval {
        Interval::Seconds => "%Y-%m-%dT%H:%M:%S",
        Interval::Minutes => "%Y-%m-%dT%H:%M",
        Interval::Hours => "%Y-%m-%dT%H",
        Interval::Days => "%Y-%m-%d",
        Interval::Weeks => "%G-W%V",
        Interval::Months => "%Y-%m",
        Interval::Years => "%Y",
    };
    jiff::Timestamp::from_microsecond(micros).unwrap().to_zoned(zone.clone()).strftime(format).to_string()
}

/// How far around an instant to look, how far from there labels are certain to have begun within sight, and how
/// finely to look.
fn reach(interval: Interval) -> (i64, i64, i64) {
    match interval {
        Interval::Seconds => (4 * HOUR, HOUR, SECOND),
        Interval::Minutes => (6 * HOUR, 2 * HOUR, 15 * SECOND),
        Interval::Hours => (30 * HOUR, 20 * HOUR, 60 * SECOND),
        Interval::Days => (6 * DAY, 4 * DAY, QUARTER),
        Interval::Weeks => (30 * DAY, 20 * DAY, QUARTER),
        Interval::Months => (100 * DAY, 66 * DAY, QUARTER),
        Interval::Years => (760 * DAY, 380 * DAY, QUARTER),
    }
}

/// The first instant of every label around an instant.
fn slow_starts(interval: Interval, zone: &TimeZone, micros: i64) -> BTreeMap<String, i64> {
    let (reach, _, step) = reach(interval);
    let middle = micros.div_euclid(QUARTER) * QUARTER;
    let mut starts = BTreeMap::new();
    for instant in (middle - reach..=middle + reach).step_by(usize::try_from(step).unwrap()) {
        starts.entry(slow_label(interval, zone, instant)).or_insert(instant);
    }
    starts
}

/// Instants around a change of the clock, or anywhere.
fn instants(zone: &TimeZone) -> impl Strategy<Value = i64> + use<> {
    let from = jiff::Timestamp::from_second(3 * 366 * 86_400).unwrap();
    let mut changes: Vec<_> =
        zone.following(from).take(130).map(|change| change.timestamp().as_microsecond()).collect();
    changes.push(20 * 366 * DAY);
    prop_oneof![
        4 => (prop::sample::select(changes), -90 * 60 * SECOND..90 * 60 * SECOND).prop_map(|(change, off)| change + off),
        1 => 3 * 366 * DAY..200 * 365 * DAY,
    ]
}

fn zones_and_instants() -> impl Strategy<Value = (&'static str, i64)> {
    prop::sample::select(&ZONES[..]).prop_flat_map(|name| (Just(name), instants(&zone(name))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn intervals_are_what_the_wall_clock_shows(
        (name, micros) in zones_and_instants(),
        interval in prop::sample::select(&Interval::ALL[..]),
    ) {
        let (calendar, zone, at) = (Calendar::in_zone(name).unwrap(), zone(name), Timestamp::from_micros(micros));
        let starts = slow_starts(interval, &zone, micros);
        let label = calendar.label(interval, at);
        prop_assert_eq!(&label, &slow_label(interval, &zone, micros));

        let before = starts.range(..label.clone()).next_back().unwrap();
        let after = starts.range(format!("{label}~")..).next().unwrap();
        prop_assert_eq!(calendar.floor(interval, at).as_micros(), starts[&label]);
        prop_assert_eq!(calendar.previous(interval, at).as_micros(), *before.1);
        prop_assert_eq!(calendar.next(interval, at).as_micros(), *after.1);
        for (label, start) in [before, after, (&label, &starts[&label])] {
            prop_assert_eq!(calendar.parse_label(interval, label).map(Timestamp::as_micros), Ok(*start));
        }

        let (_, near, _) = reach(interval);
        let [first, last] = [micros - near, micros + near].map(Timestamp::from_micros);
        let labels = calendar.label(interval, first)..=calendar.label(interval, last);
        let between: Vec<_> = starts.range(labels).map(|(_, start)| Timestamp::from_micros(*start)).collect();
        prop_assert_eq!(calendar.steps(interval, first, last), i64::try_from(between.len()).unwrap() - 1);
        prop_assert!(calendar.starts(interval, first, last).eq(between));
    }

    #[test]
    fn what_is_written_is_read((name, micros) in zones_and_instants()) {
        let at = Timestamp::from_micros(micros);
        let text = Calendar::in_zone(name).unwrap().format(at);
        prop_assert_eq!(text.parse::<Timestamp>(), Ok(at));
        let rfc3339 = jiff::Timestamp::from_microsecond(micros).unwrap().to_string();
        prop_assert_eq!(rfc3339.parse::<Timestamp>(), Ok(at));
        let number = format!("{}.{:06}", micros / SECOND, micros % SECOND);
        prop_assert_eq!(number.parse::<Timestamp>(), Ok(at));
        prop_assert_eq!(Timestamp::from_epoch_seconds(at.as_seconds_f64()), Ok(at));
    }

    #[test]
    fn nothing_panics(
        name in prop::sample::select(&ZONES[..]),
        micros in any::<i64>(),
        other in any::<i64>(),
        text in "[-0-9TWZ:+. ]{0,30}|\\PC{0,20}",
    ) {
        let calendar = Calendar::in_zone(name).unwrap();
        let [at, other] = [micros, other].map(Timestamp::from_micros);
        for interval in Interval::ALL {
            calendar.floor(interval, at);
            calendar.next(interval, at);
            calendar.previous(interval, at);
            calendar.label(interval, at);
            let _ = calendar.parse_label(interval, &text);
        }
        calendar.steps(Interval::Years, at, other);
        calendar.format(at);
        let _ = text.parse::<Timestamp>();
        let _ = Calendar::in_zone(&text);
    }
}

#[test]
fn the_laws_hold_at_every_change_of_every_zone() {
    let database = TimeZoneDatabase::bundled();
    let mut seen = HashSet::new();
    for name in database.available() {
        let zone = database.get(name.as_str()).unwrap();
        let Ok(calendar) = Calendar::in_zone(name.as_str()) else {
            assert_eq!(name.as_str(), "Etc/Unknown");
            continue;
        };
        let changes: Vec<_> = zone
            .following(jiff::Timestamp::UNIX_EPOCH)
            .take(140)
            .map(|change| (change.timestamp().as_microsecond(), change.offset()))
            .collect();
        // Many zones are others under a second name.
        if !seen.insert(changes.clone()) {
            continue;
        }
        for (change, _) in changes {
            for interval in Interval::ALL {
                for at in [change - HOUR / 2, change - 1, change, change + HOUR / 2] {
                    check_laws(&calendar, interval, Timestamp::from_micros(at));
                }
            }
        }
    }
}

fn check_laws(calendar: &Calendar, interval: Interval, at: Timestamp) {
    let start = calendar.floor(interval, at);
    let (next, previous) = (calendar.next(interval, at), calendar.previous(interval, at));
    let context = format!("{interval} of {at:?} in {}", calendar.zone());
    assert!(start <= at && previous < start && start < next, "{context}");
    assert_eq!(calendar.label(interval, start), calendar.label(interval, at), "{context}");
    assert_ne!(calendar.label(interval, Timestamp::from_micros(start.as_micros() - 1)), calendar.label(interval, at));
    assert_eq!(calendar.floor(interval, start), start, "{context}");
    assert_eq!(calendar.previous(interval, next), start, "{context}");
    assert_eq!(calendar.next(interval, previous), start, "{context}");
    assert_eq!(calendar.steps(interval, previous, next), 2, "{context}");
}

proptest! {
    #[test]
    fn a_wall_clock_reads_as_the_calendar_does(
        zone in 0..ZONES.len(),
        start in 0_i64..253_402_300_799_999_999,
        steps in proptest::collection::vec(-90_000_000_000_i64..90_000_000_000, 1..40),
    ) {
        let calendar = Calendar::in_zone(ZONES[zone]).unwrap();
        let mut clock = calendar.wall_clock();
        let mut micros = start;
        for step in steps {
            micros = (micros + step).clamp(0, Timestamp::MAX.as_micros());
            let at = Timestamp::from_micros(micros);
            let mut text = Vec::new();
            clock.write(at, &mut text);
            prop_assert_eq!(String::from_utf8(text).unwrap(), calendar.format(at));
            for interval in Interval::ALL {
                let number = clock.number(interval, at);
                prop_assert_eq!(number, calendar.number(interval, at));
                prop_assert_eq!(calendar.label_of(interval, number), calendar.label(interval, at));
            }
        }
    }

    #[test]
    fn numbers_without_the_skipped_ones_are_steps(
        zone in 0..ZONES.len(),
        start in 0_i64..4_000_000_000_000_000,
        length in 0_i64..50_000_000_000_000,
    ) {
        let calendar = Calendar::in_zone(ZONES[zone]).unwrap();
        let (from, to) = (Timestamp::from_micros(start), Timestamp::from_micros(start + length));
        for interval in Interval::ALL {
            let (first, last) = (calendar.number(interval, from), calendar.number(interval, to));
            let skipped: i64 = calendar.skipped(interval, first, last).iter().map(|gap| gap.end - gap.start).sum();
            prop_assert_eq!(last - first - skipped, calendar.steps(interval, from, to), "{}", interval);
        }
    }

    #[test]
    fn a_local_time_is_the_instant_that_shows_it(zone in 0..ZONES.len(), micros in 0_i64..4_000_000_000_000_000) {
        let calendar = Calendar::in_zone(ZONES[zone]).unwrap();
        let at = Timestamp::from_micros(micros);
        let text = calendar.format(at);
        prop_assert_eq!(calendar.instant(&text), Ok(at));
        let (local, _) = text.rsplit_once(' ').unwrap();
        match calendar.instant(local) {
            Ok(found) => prop_assert_eq!(found, at),
            Err(error) => prop_assert!(matches!(error, TimeError::Ambiguous { .. }), "{}", error),
        }
    }
}

#[test]
fn local_times_that_were_shown_twice_or_never_are_refused() {
    let new_york = Calendar::in_zone("America/New_York").unwrap();
    assert!(matches!(new_york.instant("2014-11-02 01:30:00"), Err(TimeError::Ambiguous { .. })));
    assert!(matches!(new_york.instant("2014-03-09T02:30:00.5"), Err(TimeError::Skipped { .. })));
    assert_eq!(new_york.instant("2014-10-17 21:34:07").unwrap().as_seconds(), 1_413_596_047);
    assert_eq!(new_york.instant("1969-12-31 23:00:00").unwrap().as_seconds(), 4 * 3_600);
    assert!(matches!(Calendar::utc().instant("1969-12-31 23:00:00"), Err(TimeError::OutOfRange)));
    assert!(matches!(Calendar::utc().instant("2016-12-31 23:59:60"), Err(TimeError::Malformed(_))));
}
