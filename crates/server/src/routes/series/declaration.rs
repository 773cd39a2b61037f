//! Declaring, listing and deleting series.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::series::{Declaration, Granularity, GranularityRequest, Kind, Layout, SeriesName, Span};
use tickmark_stats::Interval;
use utoipa::{IntoParams, ToSchema};

use super::counting::plan;
use super::path::{SeriesNameText, SeriesPath};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::{Query, limit};
use crate::intake::{Body, whole};
use crate::once::{self, Answer, Once, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SeriesKind)]
pub(crate) enum KindName {
    Count,
    Unique,
    UniqueApprox,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SeriesLayout)]
pub(crate) enum LayoutName {
    Hash,
    String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CalendarName {
    Week,
    Month,
    Year,
}

/// What a series is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesDeclaration {
    /// `count`, where it is missing.
    kind: Option<KindName>,
    /// Of counts: `hash`, where it is missing.
    layout: Option<LayoutName>,
    /// 1sec, 1min, 1hour and 1day, where they are missing.
    #[schema(min_items = 1, max_items = 16)]
    granularities: Option<Vec<GranularityBody>>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Granularity)]
pub(crate) struct GranularityBody {
    #[schema(min_length = 1, max_length = 32, pattern = "^[A-Za-z0-9_.-]+$")]
    name: String,
    /// Seconds of a bucket. This or `calendar`.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[schema(format = Int64, minimum = 1, maximum = 3_162_240_000_u64)]
    duration: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calendar: Option<CalendarName>,
    /// Of the calendar, from the IANA database; UTC, where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    /// Seconds a group of buckets is kept after the last write to it; for ever, where it is missing.
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(format = Int64, minimum = 1, maximum = 3_162_240_000_u64)]
    ttl: Option<u64>,
    /// Seconds of buckets that share a key: a multiple of `duration`.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[schema(format = Int64, minimum = 1, maximum = 3_162_240_000_u64)]
    group: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SeriesView {
    series: String,
    kind: KindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<LayoutName>,
    granularities: Vec<GranularityBody>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SeriesList {
    series: Vec<SeriesView>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only series whose names begin with this.
    #[serde(default)]
    prefix: String,
    /// Only series whose names come after this one.
    after: Option<String>,
    /// At most so many; 100, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    limit: Option<String>,
}

/// The series there are, in order of their names.
#[utoipa::path(get, path = "/v1/series", tag = "series", params(ListQuery), responses((status = 200, body = SeriesList)))]
pub(crate) async fn list(
    State(context): State<Context>,
    identity: Identity,
    Query(query): Query<ListQuery>,
) -> Result<Json<SeriesList>> {
    let limit = limit(query.limit.as_deref())?;
    let page = context.series().list(identity.account, &query.prefix, query.after.as_deref(), limit).await?;
    let series = page.series.iter().map(|listing| SeriesView::of(&listing.name, &listing.declaration)).collect();
    Ok(Json(SeriesList { series, next: page.next.map(|name| name.to_string()) }))
}

/// What a series is declared to be.
#[utoipa::path(get, path = "/v1/series/{name}", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series.")),
    responses(
        (status = 200, body = SeriesView),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such series."),
    ),
)]
pub(crate) async fn show(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
) -> Result<Json<SeriesView>> {
    let declared = context.series().get(identity.account, &name).await?;
    Ok(Json(SeriesView::of(&name, declared.declaration())))
}

/// Declares a series, or changes its declaration.
///
/// Once a series has data, its kind and layout stay, and so do the duration, zone and group of the granularities it
/// keeps. Times to live may change, and granularities may come and go.
#[utoipa::path(put, path = "/v1/series/{name}", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series.")),
    request_body(content = SeriesDeclaration),
    responses(
        (status = 200, body = SeriesView, description = "The series was there."),
        (status = 201, body = SeriesView, description = "The series is new."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "The series has data that the declaration would make unreadable, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn declare(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    once: Once,
    body: Body,
) -> Result<Written> {
    let declaration = body.value::<SeriesDeclaration>()?.declaration()?;
    let once = once.with_body(body.text());
    let (series, tags) = (context.series(), [name.to_string()]);
    let declaring = || async {
        let (writing, is_new) = series.declare(identity.account, &name, &declaration).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(plan(writing, Answer::json(status, &SeriesView::of(&name, &declaration))?))
    };
    once::commit(&**context.store(), identity.account, &once, &tags, declaring).await
}

/// Deletes a series with all that was counted.
#[utoipa::path(delete, path = "/v1/series/{name}", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such series."),
    ),
)]
pub(crate) async fn delete(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    once: Once,
) -> Result<Written> {
    let (series, tags) = (context.series(), [name.to_string()]);
    let removing = || async { Ok(plan(series.removal(identity.account, &name).await?, Answer::empty())) };
    let written = once::commit(&**context.store(), identity.account, &once, &tags, removing).await?;
    series.sweep(identity.account, &name).await?;
    Ok(written)
}

impl SeriesDeclaration {
    fn declaration(&self) -> Result<Declaration> {
        let kind = match (self.kind.unwrap_or(KindName::Count), self.layout) {
            (KindName::Count, None | Some(LayoutName::Hash)) => Kind::Count(Layout::Hash),
            (KindName::Count, Some(LayoutName::String)) => Kind::Count(Layout::String),
            (KindName::Unique, None) => Kind::Unique,
            (KindName::UniqueApprox, None) => Kind::UniqueApprox,
            (_, Some(_)) => {
                return Err(Problem::new(Word::BadDeclaration, "Only a series of kind `count` has a `layout`."));
            }
        };
        match &self.granularities {
            None => Ok(Declaration::standard(kind)),
            Some(bodies) => {
                let requests: Vec<_> = bodies.iter().map(GranularityBody::request).collect();
                Ok(Declaration::new(kind, &requests)?)
            }
        }
    }
}

impl GranularityBody {
    fn request(&self) -> GranularityRequest<'_> {
        let seconds = |seconds: Option<u64>| seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        GranularityRequest {
            name: &self.name,
            duration_seconds: seconds(self.duration),
            calendar: self.calendar.map(|calendar| match calendar {
                CalendarName::Week => "week",
                CalendarName::Month => "month",
                CalendarName::Year => "year",
            }),
            time_zone: self.time_zone.as_deref(),
            ttl_seconds: self.ttl,
            group_seconds: seconds(self.group),
        }
    }

    fn of(granularity: &Granularity) -> Self {
        let (duration, calendar, time_zone) = match granularity.span() {
            Span::Seconds(seconds) => (u64::try_from(*seconds).ok(), None, None),
            Span::Calendar { interval, calendar } => {
                let name = match interval {
                    Interval::Weeks => CalendarName::Week,
                    Interval::Months => CalendarName::Month,
                    _ => CalendarName::Year,
                };
                (None, Some(name), Some(calendar.zone().to_owned()))
            }
        };
        let group = granularity.group_seconds().and_then(|group| u64::try_from(group).ok());
        let (name, ttl) = (granularity.name().to_owned(), granularity.ttl_seconds());
        Self { name, duration, calendar, time_zone, ttl, group }
    }
}

impl SeriesView {
    fn of(name: &SeriesName, declaration: &Declaration) -> Self {
        let (kind, layout) = match declaration.kind() {
            Kind::Count(Layout::Hash) => (KindName::Count, Some(LayoutName::Hash)),
            Kind::Count(Layout::String) => (KindName::Count, Some(LayoutName::String)),
            Kind::Unique => (KindName::Unique, None),
            Kind::UniqueApprox => (KindName::UniqueApprox, None),
        };
        let granularities = declaration.granularities().iter().map(GranularityBody::of).collect();
        Self { series: name.to_string(), kind, layout, granularities }
    }
}
