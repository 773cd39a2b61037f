//! The numbers of this server, for Prometheus.

use axum::http::header;
use axum::response::IntoResponse;
use tickmark_store::Account;

use crate::access::Identity;
use crate::measure;
use crate::problem::{Problem, Result, Word};

/// The numbers of this server.
///
/// They are of all accounts together, so they are for account 0, whose administrator runs the server.
#[utoipa::path(get, path = "/metrics", tag = "server", responses(
    (status = 200, body = String, content_type = "text/plain", description = "Prometheus text format."),
))]
pub(crate) async fn metrics(identity: Identity) -> Result<impl IntoResponse> {
    if identity.account != Account(0) {
        return Err(Problem::new(Word::Forbidden, "The numbers of the server are for account 0."));
    }
    let text = measure::recorder().map(metrics_exporter_prometheus::PrometheusHandle::render).unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
