//! The check before every route that touches data.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tickmark_engine::accounts::Scope;

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

async fn require(scope: Scope, context: &Context, mut request: Request, next: Next) -> Result<Response> {
    let identity = context.access().identify(request.headers()).await?;
    if !identity.scopes.contains(scope) {
        let detail =
            format!("This takes the scope {:?}; the token has {:?}.", scope.as_str(), identity.scopes.to_string());
        return Err(Problem::new(Word::Forbidden, detail));
    }
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}
