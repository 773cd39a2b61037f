//! The check before every route that touches data.

use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tickmark_engine::accounts::Scope;

use super::Identity;
use crate::context::Context;
use crate::problem::{Problem, Result, Word};

/// Reading takes `read`, anything else `write`.
pub(crate) async fn by_method(State(context): State<Context>, request: Request, next: Next) -> Result<Response> {
    let scope = match *request.method() {
        Method::GET | Method::HEAD => Scope::Read,
        _ => Scope::Write,
    };
    require(scope, &context, request, next).await
}

pub(crate) async fn admin_only(State(context): State<Context>, request: Request, next: Next) -> Result<Response> {
    require(Scope::Admin, &context, request, next).await
}

/// Sending heartbeats takes `heartbeat` or `write`. A page that is being left cannot set headers, so here, and only here, the
/// token may be in the query.
pub(crate) async fn heartbeats(State(context): State<Context>, request: Request, next: Next) -> Result<Response> {
    let headers = request.headers();
    let identity = match AccessToken::of(&request) {
        Some(AccessToken(token)) if !headers.contains_key(header::AUTHORIZATION) => {
            context.access().identify_bearer(Some(&token)).await?
        }
        _ => context.access().identify(headers).await?,
    };
    if !identity.scopes.contains(Scope::Write) {
        allow(Scope::Heartbeat, &identity)?;
    }
    Ok(run(identity, request, next).await)
}

/// The token in the query of a request.
pub(crate) struct AccessToken(String);

impl AccessToken {
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let query: Vec<(String, String)> = serde_html_form::from_str(request.uri().query()?).ok()?;
        query.into_iter().find(|(name, _)| name == "access_token").map(|(_, token)| Self(token))
    }
}

async fn require(scope: Scope, context: &Context, request: Request, next: Next) -> Result<Response> {
    let identity = context.access().identify(request.headers()).await?;
    allow(scope, &identity)?;
    Ok(run(identity, request, next).await)
}

fn allow(scope: Scope, identity: &Identity) -> Result<()> {
    if identity.scopes.contains(scope) {
        return Ok(());
    }
    let detail = format!("This takes the scope {:?}; the token has {:?}.", scope.as_str(), identity.scopes.to_string());
    Err(Problem::new(Word::Forbidden, detail))
}

async fn run(identity: Identity, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(identity);
    next.run(request).await
}
