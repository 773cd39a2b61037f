//! One number for a stretch of time.

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tickmark_engine::series::Range;
use utoipa::{IntoParams, ToSchema};

use super::path::{SeriesNameText, SeriesPath};
use super::points::json_response;
use super::times::TimeText;
use super::{spelling, times};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::problem::{ProblemBody, Result};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Total {
    /// The sum; for uniques, the size of the union.
    total: f64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TotalQuery {
    /// A time in the first bucket: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`; 1970, where it is missing.
    #[param(inline, value_type = Option<TimeText>)]
    from: Option<String>,
    /// A time in the last bucket; now, where it is missing.
    #[param(inline, value_type = Option<TimeText>)]
    to: Option<String>,
    /// Rounds both ends to whole buckets of this granularity. Where it is missing, they are rounded to the finest, and what
    /// lies between is taken from the coarsest buckets that fit.
    granularity: Option<String>,
}

/// The total of a series: a sum, or for uniques the size of the union.
#[utoipa::path(get, path = "/v1/series/{name}/total", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series."), TotalQuery),
    responses(
        (status = 200, body = Total),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such series, or it has no such granularity."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of the series."),
    ),
)]
pub(crate) async fn total(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    Query(query): Query<TotalQuery>,
) -> Result<Response> {
    let from = query.from.as_deref().map_or(Ok(0), |from| times::parameter("from", from))?;
    let range = Range { from, to: times::end("to", query.to.as_deref())? };
    let (series, max) = (context.series(), context.bounds().points_max);
    let total = series.total(identity.account, &name, query.granularity.as_deref(), range, max).await?;
    let mut json = b"{\"total\":".to_vec();
    spelling::number(total, &mut json);
    json.push(b'}');
    Ok(json_response(json))
}
