//! The OpenAPI document, and a page to read and try it with. Everything the page needs comes from here, so it works on a
//! machine without a network.

use std::sync::OnceLock;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect};

use bytes::Bytes;

use crate::context::Context;
use crate::openapi;
use crate::router;

/// The page loads its own script and style and talks to its own server.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The first page.
#[utoipa::path(get, path = "/", tag = "server", responses((status = 303, description = "Read on at `/docs`.")))]
pub(crate) async fn home() -> Redirect {
    Redirect::to("/docs")
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "server", responses(
    (status = 200, body = serde_json::Value, description = "OpenAPI."),
))]
pub(crate) async fn openapi(State(context): State<Context>) -> impl IntoResponse {
    /// Routes do not depend on the settings, so neither does their document.
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| {
        let document = openapi::complete(router::assembled(&context).into_openapi());
        serde_json::to_vec(&document).unwrap_or_default().into()
    });
    ([(header::CONTENT_TYPE, "application/json")], document.clone())
}

/// A page to read and try this document with.
#[utoipa::path(get, path = "/docs", tag = "server", responses((status = 200, body = String, content_type = "text/html")))]
pub(crate) async fn page() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, PAGE_POLICY)];
    (headers, include_str!("docs/page.html"))
}

/// The script of the page.
#[utoipa::path(get, path = "/docs/page.js", tag = "server", responses(
    (status = 200, body = String, content_type = "text/javascript"),
))]
pub(crate) async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("docs/page.js"))
}

/// The style of the page.
#[utoipa::path(get, path = "/docs/page.css", tag = "server", responses(
    (status = 200, body = String, content_type = "text/css"),
))]
pub(crate) async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("docs/page.css"))
}
