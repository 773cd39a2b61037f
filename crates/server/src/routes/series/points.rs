//! Reading buckets.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tickmark_engine::series::{Catalog, Points, Range, SeriesName};
use tickmark_store::Account;
use utoipa::{IntoParams, ToSchema};

use super::path::{SeriesNameText, SeriesPath};
use super::times::TimeText;
use super::{spelling, times};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::problem::{Problem, ProblemBody, Result, Word};

/// Series in one fetch of several.
const SERIES_MAX: usize = 100;
/// Buckets shown where `from` is missing.
pub(super) const POINTS_DEFAULT: u64 = 60;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Point {
    /// The start of the bucket, in seconds since 1970.
    timestamp: i64,
    /// What was counted in it.
    value: f64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SeriesPoints {
    series: String,
    kind: String,
    granularity: String,
    points: Vec<Point>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ManyPoints {
    series: Vec<SeriesPoints>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PointsQuery {
    /// One of the series' granularities, such as `1min`.
    granularity: String,
    /// A time in the first bucket: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`. Where it is missing, the 60
    /// buckets up to `to` are shown.
    #[param(inline, value_type = Option<TimeText>)]
    from: Option<String>,
    /// A time in the last bucket; now, where it is missing.
    #[param(inline, value_type = Option<TimeText>)]
    to: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ManyQuery {
    /// Names of series, each its own parameter.
    #[param(inline, value_type = Vec<SeriesNameText>, min_items = 1, max_items = 100)]
    series: Vec<String>,
    /// One of their granularities, such as `1min`.
    granularity: String,
    /// A time in the first bucket; where it is missing, the 60 buckets up to `to` are shown.
    #[param(inline, value_type = Option<TimeText>)]
    from: Option<String>,
    /// A time in the last bucket; now, where it is missing.
    #[param(inline, value_type = Option<TimeText>)]
    to: Option<String>,
}

/// The buckets of a series.
///
/// Both ends are included and rounded down to their bucket; a bucket in which nothing was counted is 0.
#[utoipa::path(get, path = "/v1/series/{name}/points", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series."), PointsQuery),
    responses(
        (status = 200, body = SeriesPoints),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such series, or it has no such granularity."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of the series."),
    ),
)]
pub(crate) async fn points(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    Query(query): Query<PointsQuery>,
) -> Result<Response> {
    let max = context.bounds().points_max;
    let ends = (query.from.as_deref(), query.to.as_deref());
    let found = fetch(context.series(), identity.account, &name, &query.granularity, ends, max).await?;
    let mut json = Vec::new();
    spelling::points(&name, &found, &mut json);
    Ok(json_response(json))
}

/// The buckets of several series.
///
/// Together they have at most as many points as one answer may have.
#[utoipa::path(get, path = "/v1/points", tag = "series",
    params(ManyQuery),
    responses(
        (status = 200, body = ManyPoints),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such series, or it has no such granularity."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of a series."),
    ),
)]
pub(crate) async fn points_of_many(
    State(context): State<Context>,
    identity: Identity,
    Query(query): Query<ManyQuery>,
) -> Result<Response> {
    if query.series.is_empty() || query.series.len() > SERIES_MAX {
        return Err(Problem::new(Word::BadParameter, format!("`series` is given 1 to {SERIES_MAX} times.")));
    }
    let mut left = context.bounds().points_max;
    let mut json = b"{\"series\":[".to_vec();
    for (index, name) in query.series.iter().enumerate() {
        let name = SeriesName::parse(name)?;
        let ends = (query.from.as_deref(), query.to.as_deref());
        let found = fetch(context.series(), identity.account, &name, &query.granularity, ends, left).await?;
        left -= found.points.len() as u64;
        if index > 0 {
            json.push(b',');
        }
        spelling::points(&name, &found, &mut json);
    }
    json.extend_from_slice(b"]}");
    Ok(json_response(json))
}

pub(super) async fn fetch(
    series: &Catalog,
    account: Account,
    name: &SeriesName,
    granularity: &str,
    (from, to): (Option<&str>, Option<&str>),
    max: u64,
) -> Result<Points> {
    let to = times::end("to", to)?;
    match from {
        None => Ok(series.latest(account, name, granularity, to, POINTS_DEFAULT.min(max)).await?),
        Some(from) => {
            let range = Range { from: times::parameter("from", from)?, to };
            Ok(series.points(account, name, granularity, range, max).await?)
        }
    }
}

pub(super) fn json_response(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
