//! From instants to wall clocks and back.
//!
//! `jiff` knows the rules. Zones that never changed since before 1970 (UTC, Kolkata, all of `Etc/`) are told apart
//! once, at the start, and need only an addition.

use std::ops::Range;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use super::Timestamp;
use super::civil::{DAY, SECOND};

/// What a wall clock shows, in microseconds since it would have shown 1970-01-01T00:00:00. Never to be taken for an
/// instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Local(pub(super) i64);

impl Local {
    /// The day it shows, counted from 1970-01-01.
    pub(super) fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    pub(super) fn just_before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// Where a stretch of local time is found.
pub(super) enum Place {
    /// It begins at this instant.
    At(Timestamp),
    /// Clocks went over all of it, at this instant.
    Skipped(Timestamp),
}

/// How often clocks showed a local time, where it was not once.
pub(super) enum Shown {
    Never,
    Twice,
}

#[derive(Clone, Debug)]
pub(super) enum Zone {
    Fixed { offset_micros: i64 },
    Rules(TimeZone),
}

impl Zone {
    pub(super) const UTC: Self = Self::Fixed { offset_micros: 0 };

    /// The zone and how the database spells its name.
    pub(super) fn named(name: &str) -> Option<(String, Self)> {
        let zone = TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown())?;
        let name = zone.iana_name()?.to_owned();
        // Two years earlier than any input, so that the start of its week and year are within.
        let early = clamped(Timestamp::MIN.as_micros() - 2 * 366 * DAY);
        let changes = zone.following(early).next().is_some();
        let offset_micros = micros(zone.to_offset(early));
        Some((name, if changes { Self::Rules(zone) } else { Self::Fixed { offset_micros } }))
    }

    pub(super) fn offset_micros(&self, at: Timestamp) -> i64 {
        match self {
            Self::Fixed { offset_micros } => *offset_micros,
            Self::Rules(zone) => micros(zone.to_offset(clamped(at.as_micros()))),
        }
    }

    /// The offset at an instant, and the instants around it that have the same.
    pub(super) fn offset_around(&self, at: Timestamp) -> (i64, Range<i64>) {
        let offset_micros = self.offset_micros(at);
        let Self::Rules(zone) = self else { return (offset_micros, i64::MIN..i64::MAX) };
        let since = zone.preceding(clamped(at.as_micros().saturating_add(1))).next();
        let until = zone.following(clamped(at.as_micros())).next();
        let since = since.map_or(i64::MIN, |change| change.timestamp().as_microsecond());
        let until = until.map_or(i64::MAX, |change| change.timestamp().as_microsecond());
        (offset_micros, since..until)
    }

    /// The one instant at which clocks showed a local time.
    pub(super) fn instant(&self, local: Local) -> Result<Timestamp, Shown> {
        let offset_micros = match self {
            Self::Fixed { offset_micros } => *offset_micros,
            Self::Rules(zone) => match ambiguous(zone, local) {
                AmbiguousOffset::Unambiguous { offset } => micros(offset),
                AmbiguousOffset::Fold { .. } => return Err(Shown::Twice),
                AmbiguousOffset::Gap { .. } => return Err(Shown::Never),
            },
        };
        Ok(Timestamp::from_micros(local.0.saturating_sub(offset_micros)))
    }

    /// What the wall clock shows at an instant.
    pub(super) fn local(&self, at: Timestamp) -> Local {
        Local(at.as_micros().saturating_add(self.offset_micros(at)))
    }

    /// Where the local times from `first` until just before `end` are found.
    pub(super) fn place(&self, first: Local, end: Local) -> Place {
        let offset_micros = match self {
            Self::Fixed { offset_micros } => *offset_micros,
            Self::Rules(zone) => match ambiguous(zone, first) {
                AmbiguousOffset::Unambiguous { offset } => micros(offset),
                AmbiguousOffset::Fold { before, .. } => micros(before),
                AmbiguousOffset::Gap { before, after } => {
                    let change = change(zone, first, before, after);
                    return if self.local(change) < end { Place::At(change) } else { Place::Skipped(change) };
                }
            },
        };
        Place::At(Timestamp::from_micros(first.0.saturating_sub(offset_micros)))
    }

    /// The stretches of local time that clocks went over, after one instant and until another.
    pub(super) fn gaps(&self, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Range<Local>> {
        let zone = match self {
            Self::Fixed { .. } => None,
            Self::Rules(zone) => Some(zone),
        };
        zone.into_iter()
            .flat_map(move |zone| zone.following(clamped(after.as_micros())))
            .map(|change| Timestamp::from_micros(change.timestamp().as_microsecond()))
            .take_while(move |change| *change <= until)
            .map(|change| Local(self.local(change.just_before()).0 + 1)..self.local(change))
            .filter(|gap| gap.start < gap.end)
    }
}

fn ambiguous(zone: &TimeZone, local: Local) -> AmbiguousOffset {
    zone.to_ambiguous_timestamp(Offset::UTC.to_datetime(clamped(local.0))).offset()
}

/// The instant at which clocks went over a local time.
fn change(zone: &TimeZone, local: Local, before: Offset, after: Offset) -> Timestamp {
    // Read with the offset from before, the skipped local time is past the change, and by less than the gap.
    let past = clamped(local.0.saturating_sub(micros(before)).saturating_add(1));
    let mut changes = zone.preceding(past).filter(|change| change.offset() == after);
    let found = changes.next().map_or(past, |change| change.timestamp());
    Timestamp::from_micros(found.as_microsecond())
}

fn micros(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * SECOND
}

/// The nearest instant that `jiff` can hold, whose years end some hours before ours do.
fn clamped(micros: i64) -> jiff::Timestamp {
    let (min, max) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    let micros = micros.clamp(min.as_microsecond() + 1, max.as_microsecond());
    jiff::Timestamp::from_microsecond(micros).unwrap_or(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_that_never_changed_need_no_rules() {
        for (name, fixed) in [
            ("UTC", true),
            ("Etc/GMT+5", true),
            ("Asia/Kolkata", true),
            ("America/New_York", false),
            ("Africa/Monrovia", false),
        ] {
            let (_, zone) = Zone::named(name).unwrap();
            assert_eq!(matches!(zone, Zone::Fixed { .. }), fixed, "{name}");
        }
    }

    #[test]
    fn names_are_those_of_the_database() {
        for (name, expected) in [
            ("europe/berlin", Some("Europe/Berlin")),
            ("Europe/Atlantis", None),
            ("Etc/Unknown", None),
            ("+02:00", None),
            ("", None),
            ("../../etc/passwd", None),
        ] {
            assert_eq!(Zone::named(name).map(|(name, _)| name).as_deref(), expected, "{name}");
        }
    }
}
