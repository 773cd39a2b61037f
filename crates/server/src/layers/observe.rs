//! Counting and logging every request.
//!
//! Labels are the route's pattern, never the path: a path has names of users' data in it, and there is no end of them.
//! Nothing of a request's headers or query is logged.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;

use crate::problem::Refusal;

pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = known_method(request.method().as_str());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unknown", |route| route.as_str()).to_owned();
    let path = request.uri().path().to_owned();
    let in_flight = InFlight::begin();

    let response = next.run(request).await;

    drop(in_flight);
    let seconds = started.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    let labels = [("method", method.to_owned()), ("route", route), ("status", status.to_string())];
    metrics::counter!("tickmark_requests_total", &labels).increment(1);
    metrics::histogram!("tickmark_request_seconds", &labels[..2]).record(seconds);
    let refusal = response.extensions().get::<Refusal>().map(|refusal| refusal.0.as_str());
    if let Some(reason) = refusal {
        metrics::counter!("tickmark_refusals_total", "reason" => reason).increment(1);
    }
    let milliseconds = (seconds * 1e6).round() / 1e3;
    if status >= 500 {
        tracing::warn!(method, path, status, milliseconds, refusal, "request");
    } else {
        tracing::info!(method, path, status, milliseconds, refusal, "request");
    }
    response
}

/// Anyone can make up methods, and a label for each would fill the memory.
fn known_method(method: &str) -> &'static str {
    const KNOWN: &[&str] = &["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    KNOWN.iter().find(|known| **known == method).copied().unwrap_or("other")
}

/// Also right when the client goes away and the request is dropped half-way.
struct InFlight;

impl InFlight {
    fn begin() -> Self {
        metrics::gauge!("tickmark_requests_in_flight").increment(1.0);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!("tickmark_requests_in_flight").decrement(1.0);
    }
}
