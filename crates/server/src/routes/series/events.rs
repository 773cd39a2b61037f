//! Counting events sent as JSON.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::counting::{self, commit, tallied};
use super::item::{self, EventBody, SeriesEventBody};
use super::path::{SeriesNameText, SeriesPath};
use super::times;
use crate::access::Identity;
use crate::context::Context;
use crate::intake::Body;
use crate::once::{Answer, Once, Written};
use crate::problem::{ProblemBody, Result};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AcceptedEvents)]
pub(crate) struct Accepted {
    /// How many events were counted.
    accepted: u64,
}

/// Counts events of one series.
///
/// A series that is not declared is created: it counts events, or distinct members where the first event has one. All
/// events are counted, or none.
#[utoipa::path(post, path = "/v1/series/{name}/events", tag = "series",
    params(("name" = inline(SeriesNameText), Path, description = "The name of the series.")),
    request_body(content((Vec<EventBody> = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, body = Accepted),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of the series, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn count_one(
    State(context): State<Context>,
    identity: Identity,
    SeriesPath(name): SeriesPath,
    once: Once,
    body: Body,
) -> Result<Written> {
    counted(context, identity, once, body, Some(name.to_string())).await
}

/// Counts events of many series.
///
/// As events of one series, with `"series"` in each of them.
#[utoipa::path(post, path = "/v1/events", tag = "series",
    request_body(content((Vec<SeriesEventBody> = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, body = Accepted),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of a series, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn count(
    State(context): State<Context>,
    identity: Identity,
    once: Once,
    body: Body,
) -> Result<Written> {
    counted(context, identity, once, body, None).await
}

async fn counted(
    context: Context,
    identity: Identity,
    once: Once,
    body: Body,
    series: Option<String>,
) -> Result<Written> {
    let place = counting::place(body.format());
    let now = times::now();
    let (once, events) = tallied(body, once, move |body| item::tally(body, series.as_deref(), now)).await?;
    let answer = Answer::json(StatusCode::OK, &Accepted { accepted: events.events() })?;
    commit(&context, identity.account, &once, &events, place, answer).await
}
