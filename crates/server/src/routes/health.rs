//! Whether the server is there, and whether it is of use.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::Context;
use crate::problem::{ProblemBody, Result};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Standing {
    status: &'static str,
}

/// Whether the process is alive.
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = Standing)))]
pub(crate) async fn health() -> Json<Standing> {
    Json(Standing { status: "alive" })
}

/// Whether the store answers and takes writes.
#[utoipa::path(get, path = "/ready", tag = "server", responses(
    (status = 200, body = Standing),
    (status = 503, body = ProblemBody, content_type = "application/problem+json", description = "The store does not answer."),
))]
pub(crate) async fn ready(State(context): State<Context>) -> Result<Json<Standing>> {
    context.store().ping().await?;
    Ok(Json(Standing { status: "ready" }))
}
