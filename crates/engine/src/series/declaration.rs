//! What a series is declared to be, and what it is when nobody says.

use std::sync::Arc;

use tickmark_stats::{Calendar, Interval};

use super::granularity::{DURATION_SECONDS_MAX, check_name};
use super::{Granularity, Kind, Layout, SeriesError, Span};

/// Each costs a write an event.
pub const GRANULARITIES_MAX: usize = 16;
const TTL_SECONDS_MAX: u64 = 100 * 366 * 86_400;
/// Buckets that share a key where neither the table of defaults nor the declaration says.
const HASH_BUCKETS: i64 = 240;
const UNIQUE_BUCKETS: i64 = 120;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// Name, seconds of a bucket, seconds kept, group of hashes, group of sorted sets.
const DEFAULTS: [(&str, i64, Option<u64>, i64, i64); 4] = [
    ("1sec", 1, Some(7_200), 300, 120),
    ("1min", 60, Some(604_800), 8 * HOUR, 2 * HOUR),
    ("1hour", HOUR, Some(5_184_000), 10 * DAY, 5 * DAY),
    ("1day", DAY, None, 30 * DAY, 30 * DAY),
];

#[derive(Clone, Debug)]
pub struct Declaration {
    pub(super) kind: Kind,
    /// In the order declared.
    pub(super) granularities: Vec<Granularity>,
}

/// A granularity as someone asked for it.
#[derive(Clone, Debug, Default)]
pub struct GranularityRequest<'a> {
    pub name: &'a str,
    pub duration_seconds: Option<i64>,
    /// `week`, `month` or `year` instead of a duration.
    pub calendar: Option<&'a str>,
    /// Of the calendar; UTC where there is none.
    pub time_zone: Option<&'a str>,
    pub ttl_seconds: Option<u64>,
    pub group_seconds: Option<i64>,
}

impl Declaration {
    /// What a series is whose first event has a member, or has none.
    pub fn standard(kind: Kind) -> Self {
        let granularities = DEFAULTS
            .iter()
            .map(|(name, seconds, ttl_seconds, ..)| Granularity {
                name: (*name).into(),
                span: Span::Seconds(*seconds),
                ttl_seconds: *ttl_seconds,
                group_seconds: default_group(kind, *seconds),
            })
            .collect();
        Self { kind, granularities }
    }

    pub fn new(kind: Kind, requests: &[GranularityRequest<'_>]) -> Result<Self, SeriesError> {
        if requests.is_empty() || requests.len() > GRANULARITIES_MAX {
            return broken(format!("a series has 1 to {GRANULARITIES_MAX} granularities, not {}", requests.len()));
        }
        let mut granularities: Vec<Granularity> = Vec::with_capacity(requests.len());
        for request in requests {
            if granularities.iter().any(|granularity| granularity.name() == request.name) {
                return broken(format!("there are two granularities {:?}", request.name));
            }
            granularities.push(request.granularity(kind)?);
        }
        Ok(Self { kind, granularities })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn granularities(&self) -> &[Granularity] {
        &self.granularities
    }

    pub fn granularity(&self, name: &str) -> Option<&Granularity> {
        self.granularities.iter().find(|granularity| granularity.name() == name)
    }

    /// What of this could not take over data kept under `old`, in words; none where all of it can.
    pub(super) fn breaks(&self, old: &Self) -> Option<String> {
        if self.kind != old.kind {
            return Some("its kind or layout".into());
        }
        let changed =
            self.granularities.iter().find(|new| old.granularity(new.name()).is_some_and(|old| !new.keeps_as(old)));
        changed.map(|changed| format!("the duration, zone or group of its granularity {:?}", changed.name()))
    }
}

impl GranularityRequest<'_> {
    fn granularity(&self, kind: Kind) -> Result<Granularity, SeriesError> {
        check_name(self.name)?;
        let name = self.name;
        if let Some(ttl) = self.ttl_seconds
            && !(1..=TTL_SECONDS_MAX).contains(&ttl)
        {
            return broken(format!("the `ttl` of {name:?} is 1 to {TTL_SECONDS_MAX} seconds, or null for ever"));
        }
        let (span, group_seconds) = match (self.calendar, self.duration_seconds) {
            (Some(_), Some(_)) => return broken(format!("{name:?} has a `duration` and a `calendar`; give one")),
            (None, None) => return broken(format!("{name:?} needs a `duration` in seconds, or a `calendar`")),
            (Some(calendar), None) => (self.calendar_span(calendar)?, None),
            (None, Some(seconds)) => self.seconds_span(kind, seconds)?,
        };
        Ok(Granularity { name: name.into(), span, ttl_seconds: self.ttl_seconds, group_seconds })
    }

    fn calendar_span(&self, calendar: &str) -> Result<Span, SeriesError> {
        let interval = match calendar {
            "week" => Interval::Weeks,
            "month" => Interval::Months,
            "year" => Interval::Years,
            other => return broken(format!("the calendar {other:?} is not week, month or year")),
        };
        if self.group_seconds.is_some() {
            return broken(format!("{:?} is of the calendar: each bucket has its own key, so no `group`", self.name));
        }
        let calendar = Calendar::in_zone(self.time_zone.unwrap_or("UTC"));
        let calendar = calendar.map_err(|error| SeriesError::Declaration(error.to_string()))?;
        Ok(Span::Calendar { interval, calendar: Arc::new(calendar) })
    }

    fn seconds_span(&self, kind: Kind, seconds: i64) -> Result<(Span, Option<i64>), SeriesError> {
        let name = self.name;
        if !(1..=DURATION_SECONDS_MAX).contains(&seconds) {
            return broken(format!("the `duration` of {name:?} is 1 to {DURATION_SECONDS_MAX} seconds"));
        }
        if self.time_zone.is_some() {
            return broken(format!("{name:?} has a duration in seconds, to which a `time_zone` means nothing"));
        }
        let group = match self.group_seconds {
            Some(_) if !kind.is_grouped() => {
                return broken(format!("{name:?}: a series of this kind has a key a bucket, so no `group`"));
            }
            Some(group) if group < seconds || group % seconds != 0 || group > DURATION_SECONDS_MAX => {
                return broken(format!(
                    "the `group` of {name:?} is a multiple of its duration, up to {DURATION_SECONDS_MAX} seconds"
                ));
            }
            Some(group) => Some(group),
            None => default_group(kind, seconds),
        };
        Ok((Span::Seconds(seconds), group))
    }
}

fn default_group(kind: Kind, seconds: i64) -> Option<i64> {
    let listed = DEFAULTS.iter().find(|default| default.1 == seconds);
    match kind {
        Kind::Count(Layout::Hash) => Some(listed.map_or(seconds * HASH_BUCKETS, |default| default.3)),
        Kind::Unique => Some(listed.map_or(seconds * UNIQUE_BUCKETS, |default| default.4)),
        Kind::Count(Layout::String) | Kind::UniqueApprox => None,
    }
}

fn broken<T>(why: String) -> Result<T, SeriesError> {
    Err(SeriesError::Declaration(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: Kind = Kind::Count(Layout::Hash);

    fn seconds(duration_seconds: i64, group_seconds: Option<i64>) -> GranularityRequest<'static> {
        GranularityRequest { name: "g", duration_seconds: Some(duration_seconds), group_seconds, ..Default::default() }
    }

    fn calendar(calendar: &'static str, time_zone: &'static str) -> GranularityRequest<'static> {
        GranularityRequest {
            name: "g",
            calendar: Some(calendar),
            time_zone: Some(time_zone),
            ..GranularityRequest::default()
        }
    }

    #[test]
    fn what_may_be_declared() {
        for (kind, request, allowed) in [
            (HASH, seconds(60, None), true),
            (HASH, seconds(60, Some(600)), true),
            (HASH, seconds(60, Some(90)), false),
            (HASH, seconds(60, Some(0)), false),
            (HASH, seconds(0, None), false),
            (HASH, seconds(-1, None), false),
            (HASH, seconds(i64::MAX, None), false),
            (Kind::Count(Layout::String), seconds(60, Some(600)), false),
            (Kind::UniqueApprox, seconds(60, None), true),
            (HASH, calendar("week", "Europe/Berlin"), true),
            (HASH, calendar("week", "Europe/Atlantis"), false),
            (HASH, calendar("day", "UTC"), false),
            (HASH, GranularityRequest { name: "g", ..Default::default() }, false),
            (HASH, GranularityRequest { name: "a:b", ..seconds(1, None) }, false),
            (HASH, GranularityRequest { ttl_seconds: Some(0), ..seconds(1, None) }, false),
        ] {
            let declared = Declaration::new(kind, std::slice::from_ref(&request));
            assert_eq!(declared.is_ok(), allowed, "{request:?}");
        }
        assert!(Declaration::new(HASH, &[]).is_err());
        assert!(Declaration::new(HASH, &[seconds(1, None), seconds(2, None)]).is_err());
    }

    #[test]
    fn groups_are_those_of_the_contract() {
        for (kind, groups) in [
            (HASH, [300, 28_800, 864_000, 2_592_000].map(Some)),
            (Kind::Unique, [120, 7_200, 432_000, 2_592_000].map(Some)),
            (Kind::Count(Layout::String), [None; 4]),
            (Kind::UniqueApprox, [None; 4]),
        ] {
            let declaration = Declaration::standard(kind);
            let found: Vec<_> = declaration.granularities.iter().map(Granularity::group_seconds).collect();
            assert_eq!(found, groups, "{kind}");
        }
    }
}
