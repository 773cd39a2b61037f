//! An audience, now and after each change.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use tickmark_engine::audience::{Audience, Scope};
use tickmark_store::Account;

use super::path::{AudienceNameText, ScopePath};
use super::views::AudienceUpdate;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::problem::{Problem, ProblemBody, Result, Word};

/// An event's audience, now and after each change.
///
/// Server-Sent Events: first `snapshot`, then `change`, at most four a second, each with everything. Viewers who leave are a
/// change too, within about a second.
#[utoipa::path(get, path = "/v1/audience/{event}/live", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event.")),
    responses(
        (status = 200, body = AudienceUpdate, content_type = "text/event-stream"),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such event."),
    ),
)]
pub(crate) async fn live(State(context): State<Context>, identity: Identity, path: ScopePath) -> Result<Response> {
    listen(&context, identity, path).await
}

/// A session's audience, now and after each change.
///
/// As that of an event.
#[utoipa::path(get, path = "/v1/audience/{event}/sessions/{session}/live", tag = "audience",
    params(
        ("event" = inline(AudienceNameText), Path, description = "The name of the event."),
        ("session" = inline(AudienceNameText), Path, description = "The name of the session."),
    ),
    responses(
        (status = 200, body = AudienceUpdate, content_type = "text/event-stream"),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such event or session."),
    ),
)]
pub(crate) async fn session_live(
    State(context): State<Context>,
    identity: Identity,
    path: ScopePath,
) -> Result<Response> {
    listen(&context, identity, path).await
}

async fn listen(context: &Context, identity: Identity, ScopePath(scope): ScopePath) -> Result<Response> {
    let (audience, account) = (Arc::clone(context.audience()), identity.account);
    let channel = audience.channel(&scope);
    let snapshot = move || {
        let (audience, scope) = (Arc::clone(&audience), scope.clone());
        async move { state(&audience, account, &scope).await }
    };
    context.live().listen(identity, channel, snapshot).await
}

async fn state(audience: &Audience, account: Account, scope: &Scope) -> Result<Bytes> {
    let statistics = audience.live(account, scope, clock::now_ms().cast_signed()).await?;
    let update = AudienceUpdate {
        active: statistics.viewers,
        attended: audience.attended(account, scope).await?,
        peak: audience.peak(account, scope).await?.into(),
        statistics: statistics.into(),
    };
    let json = serde_json::to_vec(&update).map_err(|error| Problem::new(Word::Defect, error.to_string()))?;
    Ok(json.into())
}
