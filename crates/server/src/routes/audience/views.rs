//! The answers, as JSON.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tickmark_engine::audience::{Peak, Seen, Statistics, Stretch, Viewing};
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActiveView {
    /// Users who are watching now.
    pub(super) active: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttendedView {
    /// Users who were ever seen.
    pub(super) attended: u64,
    /// Some of them, in no order, where a list was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) users: Option<Vec<String>>,
    /// What to give as `after` for more of them; missing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PeakView {
    /// The most users active at one instant.
    pub(super) peak: u64,
    /// The first such instant, in seconds since 1970; null before the first user.
    #[schema(value_type = Option<f64>)]
    pub(super) at: Option<Spelled>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewingView {
    /// Users who were ever seen.
    viewers: u64,
    viewing_sessions: u64,
    /// Of all viewing sessions together.
    #[schema(value_type = f64)]
    total_seconds: Spelled,
    /// Of a viewing session; null where there is none.
    #[schema(value_type = Option<f64>)]
    mean_seconds: Option<Spelled>,
    /// Of a viewing session; null where there is none.
    #[schema(value_type = Option<f64>)]
    median_seconds: Option<Spelled>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewingSessionView {
    /// Of the first heartbeat, in seconds since 1970.
    #[schema(value_type = f64)]
    start: Spelled,
    /// Of the last.
    #[schema(value_type = f64)]
    end: Spelled,
    #[schema(value_type = f64)]
    duration_seconds: Spelled,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewerView {
    user: String,
    #[schema(value_type = f64)]
    first_seen: Spelled,
    #[schema(value_type = f64)]
    last_seen: Spelled,
    active: bool,
    /// Where the latest heartbeat was from.
    location: String,
    country: Option<String>,
    groups: Vec<String>,
    /// In order; the last is the latest.
    viewing_sessions: Vec<ViewingSessionView>,
}

/// Viewers at one time, each once, by their latest heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatisticsView {
    /// In seconds since 1970.
    #[schema(value_type = f64)]
    timestamp: Spelled,
    viewer_count: u64,
    /// Of users in several groups, each of them.
    by_group: BTreeMap<String, u64>,
    /// Of users whose country is known.
    by_country: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordsView {
    /// One for every five minutes.
    pub(super) records: Vec<StatisticsView>,
}

/// Everything at once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OverviewView {
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) threshold_seconds: u64,
    pub(super) active: u64,
    pub(super) attended: u64,
    pub(super) peak: PeakView,
    pub(super) viewing: ViewingView,
    pub(super) statistics: StatisticsView,
}

/// What changes all the time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AudienceUpdate {
    pub(super) active: u64,
    pub(super) attended: u64,
    pub(super) peak: PeakView,
    pub(super) statistics: StatisticsView,
}

impl From<Peak> for PeakView {
    fn from(peak: Peak) -> Self {
        Self { peak: peak.viewers, at: peak.at_ms.map(seconds) }
    }
}

impl From<Viewing> for ViewingView {
    fn from(viewing: Viewing) -> Self {
        let total_seconds = viewing.duration_ms as f64 / 1_000.0;
        Self {
            viewers: viewing.viewers,
            viewing_sessions: viewing.viewing_sessions,
            total_seconds: Spelled(total_seconds),
            mean_seconds: (viewing.viewing_sessions > 0)
                .then(|| Spelled(total_seconds / viewing.viewing_sessions as f64)),
            median_seconds: viewing.median_ms.map(|ms| Spelled(ms / 1_000.0)),
        }
    }
}

impl From<Statistics> for StatisticsView {
    fn from(statistics: Statistics) -> Self {
        Self {
            timestamp: seconds(statistics.at_ms),
            viewer_count: statistics.viewers,
            by_group: statistics.by_group,
            by_country: statistics.by_country,
        }
    }
}

impl From<Stretch> for ViewingSessionView {
    fn from(stretch: Stretch) -> Self {
        let (start, end) = (seconds(stretch.start_ms), seconds(stretch.end_ms));
        Self { start, end, duration_seconds: seconds(stretch.end_ms - stretch.start_ms) }
    }
}

impl ViewerView {
    pub(super) fn of(user: String, seen: Seen) -> Self {
        Self {
            user,
            first_seen: seconds(seen.first_ms),
            last_seen: seconds(seen.last_ms),
            active: seen.is_active,
            location: seen.location,
            country: seen.country,
            groups: seen.groups,
            viewing_sessions: seen.viewing_sessions.into_iter().map(ViewingSessionView::from).collect(),
        }
    }
}

/// A number that is spelled without a fraction where it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spelled(f64);

impl Serialize for Spelled {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small enough")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

fn seconds(ms: i64) -> Spelled {
    Spelled(ms as f64 / 1_000.0)
}
