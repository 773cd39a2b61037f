//! Declaring, listing and deleting events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::audience::{Audience, AudienceName, THRESHOLD_SECONDS_DEFAULT};
use utoipa::{IntoParams, ToSchema};

use super::path::{AudienceNameText, ScopePath};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::{Query, limit};
use crate::intake::{Body, whole};
use crate::once::{self, Answer, Once, Plan, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};

/// What an event is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventDeclaration {
    /// How long a heartbeat makes its user active, and the longest gap in a viewing session; 65, where it is missing.
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(format = Int64, minimum = 1, maximum = 3_600)]
    threshold_seconds: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventView {
    event: String,
    threshold_seconds: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventList {
    events: Vec<String>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionList {
    sessions: Vec<String>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Only what comes after this, in order of names.
    after: Option<String>,
    /// At most so many; 100, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    limit: Option<String>,
}

/// The events there are, in order of their names.
#[utoipa::path(get, path = "/v1/audience", tag = "audience", params(PageQuery), responses((status = 200, body = EventList)))]
pub(crate) async fn list(
    State(context): State<Context>,
    identity: Identity,
    Query(query): Query<PageQuery>,
) -> Result<Json<EventList>> {
    let limit = limit(query.limit.as_deref())?;
    let page = context.audience().list(identity.account, query.after.as_deref(), limit).await?;
    Ok(Json(EventList { events: page.names, next: page.next }))
}

/// The sessions of an event, in order of their names.
#[utoipa::path(get, path = "/v1/audience/{event}/sessions", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event."), PageQuery),
    responses(
        (status = 200, body = SessionList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such event."),
    ),
)]
pub(crate) async fn sessions(
    State(context): State<Context>,
    identity: Identity,
    ScopePath(scope): ScopePath,
    Query(query): Query<PageQuery>,
) -> Result<Json<SessionList>> {
    let limit = limit(query.limit.as_deref())?;
    let page = context.audience().sessions(identity.account, &scope.event, query.after.as_deref(), limit).await?;
    Ok(Json(SessionList { sessions: page.names, next: page.next }))
}

/// What an event is declared to be.
#[utoipa::path(get, path = "/v1/audience/{event}", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event.")),
    responses(
        (status = 200, body = EventView),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such event."),
    ),
)]
pub(crate) async fn show(
    State(context): State<Context>,
    identity: Identity,
    ScopePath(scope): ScopePath,
) -> Result<Json<EventView>> {
    let threshold_seconds = context.audience().threshold_seconds(identity.account, &scope.event).await?;
    Ok(Json(EventView::of(&scope.event, threshold_seconds)))
}

/// Declares an event, or changes its declaration.
///
/// Once an event has heartbeats its threshold stays: everything was counted with it.
#[utoipa::path(put, path = "/v1/audience/{event}", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event.")),
    request_body(content = EventDeclaration),
    responses(
        (status = 200, body = EventView, description = "The event was there."),
        (status = 201, body = EventView, description = "The event is new."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "The event has heartbeats, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn declare(
    State(context): State<Context>,
    identity: Identity,
    ScopePath(scope): ScopePath,
    once: Once,
    body: Body,
) -> Result<Written> {
    // A list would do for the fields of a struct in order, which nobody means.
    if body.text().trim_start().starts_with('[') {
        return Err(Problem::new(Word::RuleBroken, "An event is declared by one JSON object."));
    }
    let declaration = body.value::<EventDeclaration>()?;
    let threshold_seconds = declaration.threshold_seconds.unwrap_or(THRESHOLD_SECONDS_DEFAULT);
    let once = once.with_body(body.text());
    let (audience, tag) = (context.audience(), Audience::tag(&scope.event));
    let declaring = || async {
        let (batch, is_new) = audience.declare(identity.account, &scope.event, threshold_seconds).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(Plan::one(&tag, batch, Answer::json(status, &EventView::of(&scope.event, threshold_seconds))?))
    };
    once::commit(&**context.store(), identity.account, &once, std::slice::from_ref(&tag), declaring).await
}

/// Deletes an event with its sessions and all that was counted.
#[utoipa::path(delete, path = "/v1/audience/{event}", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such event."),
    ),
)]
pub(crate) async fn delete(
    State(context): State<Context>,
    identity: Identity,
    ScopePath(scope): ScopePath,
    once: Once,
) -> Result<Written> {
    let (audience, tag) = (context.audience(), Audience::tag(&scope.event));
    let removing = || async {
        let batch = audience.removal(identity.account, &scope.event).await?;
        Ok(Plan::one(&tag, batch, Answer::empty()))
    };
    let tags = std::slice::from_ref(&tag);
    let written = once::commit(&**context.store(), identity.account, &once, tags, removing).await?;
    audience.finish_removal(identity.account, &scope.event).await?;
    Ok(written)
}

impl EventView {
    fn of(event: &AudienceName, threshold_seconds: u64) -> Self {
        Self { event: event.to_string(), threshold_seconds }
    }
}
