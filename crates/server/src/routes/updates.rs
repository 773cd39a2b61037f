//! A webhook target that tells everyone who listens that a repository changed.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;
use tickmark_engine::{Name, updates};
use tickmark_store::{Account, Store};
use utoipa::ToSchema;

use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::extract::{NameText, PathName};
use crate::intake::Body;
use crate::once::{self, Answer, Once, Plan, Written};
use crate::problem::{Problem, Result, Word};

/// Where a repository stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Update {
    repo: String,
    /// Announcements so far.
    count: u64,
    /// The last of them, in seconds since 1970.
    at: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Accepted {
    accepted: u64,
}

/// Tells every listener that the main branch changed.
///
/// A target for webhooks: whatever the body is, it is the news that counts, not its contents.
#[utoipa::path(post, path = "/v1/updates/{repo}", tag = "updates",
    params(("repo" = inline(NameText), Path, description = "The name of the repository.")),
    request_body(content = Option<serde_json::Value>, description = "Anything. Only read."),
    responses((status = 202, body = Accepted)),
)]
pub(crate) async fn announce(
    State(context): State<Context>,
    identity: Identity,
    PathName(repo): PathName,
    request: Request,
) -> Result<Written> {
    let (mut parts, wire) = request.into_parts();
    let once = Once::from_request_parts(&mut parts, &context).await?;
    let body = Body::of_any_type(&context, Request::from_parts(parts, wire)).await?;
    let once = once.with_body(body.text());
    let now = clock::now();
    let tag = updates::tag(&repo);
    let plan = || async {
        let answer = Answer::json(StatusCode::ACCEPTED, &Accepted { accepted: 1 })?;
        Ok(Plan::one(&tag, updates::announce(&repo, now), answer))
    };
    once::commit(&**context.store(), identity.account, &once, std::slice::from_ref(&tag), plan).await
}

/// How a repository stands, now and after each change.
///
/// Server-Sent Events: first `snapshot`, then `change`, at most four a second, each with the whole state.
#[utoipa::path(get, path = "/v1/updates/{repo}/live", tag = "updates",
    params(("repo" = inline(NameText), Path, description = "The name of the repository.")),
    responses((status = 200, body = Update, content_type = "text/event-stream")),
)]
pub(crate) async fn live(
    State(context): State<Context>,
    identity: Identity,
    PathName(repo): PathName,
) -> Result<Response> {
    let (store, account) = (std::sync::Arc::clone(context.store()), identity.account);
    let channel = updates::channel(&repo);
    let snapshot = move || {
        let (store, repo) = (std::sync::Arc::clone(&store), repo.clone());
        async move { state(&*store, account, &repo).await }
    };
    context.live().listen(identity, channel, snapshot).await
}

async fn state(store: &dyn Store, account: Account, repo: &Name) -> Result<Bytes> {
    let standing = updates::standing(store, account, repo).await?;
    let update = Update { repo: repo.to_string(), count: standing.count, at: standing.at.map(|at| at.0) };
    let json = serde_json::to_vec(&update).map_err(|error| Problem::new(Word::Defect, error.to_string()))?;
    Ok(json.into())
}
