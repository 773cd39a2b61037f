//! Headers that every answer has, and those that let other pages in.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Answers are data unless a page says otherwise: nothing may be loaded, framed or guessed at.
const STRICT_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// What every answer has, unless it says otherwise itself.
pub(super) fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, STRICT_POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        // An answer of one account must not be kept for another.
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Nothing is allowed unless origins are configured; the browser then does the refusing.
pub(crate) fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| origin.parse().ok()))
    };
    let idempotency_key = HeaderName::from_static("idempotency-key");
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, header::CONTENT_ENCODING, idempotency_key])
            .expose_headers([header::RETRY_AFTER, HeaderName::from_static("idempotency-replayed")])
            .max_age(std::time::Duration::from_hours(1)),
    )
}
