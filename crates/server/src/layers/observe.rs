//! Around every request: counted, logged, given its headers, and answered even if its handler panics.
//!
//! Labels are the route's pattern, never the path: a path has names of users' data in it, and there is no end of them.
//! Nothing of a request's headers or query is logged.
//!
//! One layer rather than several, because each that axum puts around a route costs every request two allocations.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::headers::add_headers;
use crate::measure::requests::{self, InFlight};
use crate::problem::{Problem, Refusal, Word};

pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = known_method(request.method().as_str());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let uri = request.uri().clone();
    let in_flight = InFlight::begin();

    let outcome = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = outcome.unwrap_or_else(|payload| panicked(&*payload));
    add_headers(response.headers_mut());

    drop(in_flight);
    let (took, status) = (started.elapsed(), response.status().as_u16());
    requests::count(method, route.as_ref().map_or("unknown", MatchedPath::as_str), status, took);
    let refusal = response.extensions().get::<Refusal>().map(|refusal| refusal.0.as_str());
    if let Some(reason) = refusal {
        metrics::counter!("tickmark_refusals_total", "reason" => reason).increment(1);
    }
    let milliseconds = (took.as_secs_f64() * 1e6).round() / 1e3;
    let path = uri.path();
    if status >= 500 {
        tracing::warn!(method, path, status, milliseconds, refusal, "request");
    } else {
        tracing::info!(method, path, status, milliseconds, refusal, "request");
    }
    response
}

fn panicked(payload: &(dyn Any + Send)) -> Response {
    let said = payload.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("something unprintable");
    tracing::error!(panic = said, "a handler panicked");
    Problem::new(Word::Defect, "This is not your fault. The server's log has the details.").into_response()
}

/// Anyone can make up methods, and a label for each would fill the memory.
fn known_method(method: &str) -> &'static str {
    const KNOWN: &[&str] = &["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    KNOWN.iter().find(|known| **known == method).copied().unwrap_or("other")
}
