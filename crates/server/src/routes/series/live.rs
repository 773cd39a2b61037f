//! The latest buckets of a series, now and after each change.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use utoipa::IntoParams;

use super::path::{SeriesNameText, SeriesPath};
use super::points::{POINTS_DEFAULT, SeriesPoints};
use super::{spelling, times};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::problem::{ProblemBody, Result};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LiveQuery {
    /// One of the series' granularities, such as `1sec`.
    granularity: String,
}

/// The latest 60 buckets of a series, now and after each change.
///
/// Server-Sent Events: first `snapshot`, then `change`, at most four a second, each with all 60. Time that passes without
/// events is no change.
#[utoipa::path(get, path = "/v1/series/{name}/live", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series."), LiveQuery),
    responses(
        (status = 200, body = SeriesPoints, content_type = "text/event-stream"),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such series, or it has no such granularity."),
    ),
)]
pub(crate) async fn live(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    Query(LiveQuery { granularity }): Query<LiveQuery>,
) -> Result<Response> {
    let (series, account) = (Arc::clone(context.series()), identity.account);
    let channel = series.channel(&name);
    let view = granularity.clone();
    let snapshot = move || {
        let (series, name, granularity) = (Arc::clone(&series), name.clone(), granularity.clone());
        async move {
            let points = series.latest(account, &name, &granularity, times::now(), POINTS_DEFAULT).await?;
            let mut json = Vec::new();
            spelling::points(&name, &points, &mut json);
            Ok(Bytes::from(json))
        }
    };
    context.live().listen_to(identity, channel, &view, snapshot).await
}
