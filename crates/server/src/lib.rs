//! Tickmark over HTTP.

use std::io;

use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;

/// Answers requests until `shutdown` is done, then finishes what is in flight.
pub async fn run(listener: TcpListener, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let routes = Router::new().route("/health", get(health));
    axum::serve(listener, routes).with_graceful_shutdown(shutdown).await
}

async fn health() -> Json<serde_json::Value> {
    Json(serde_json::json!({ "status": "alive" }))
}
