//! A script for pages: whoever has the page open and in view is watching.

use axum::http::{HeaderName, header};
use axum::response::IntoResponse;

/// A script that sends heartbeats from a page.
///
/// `<script src="…/heartbeat.js" data-event="expo" data-user="u1" data-token="tm_…"></script>`
#[utoipa::path(get, path = "/heartbeat.js", tag = "audience", responses(
    (status = 200, body = String, content_type = "text/javascript"),
))]
pub(crate) async fn script() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
        // Other sites' pages are what it is for.
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    (headers, include_str!("heartbeat.js"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_small() {
        let script = include_str!("heartbeat.js");
        assert!(script.len() < 2_048, "{} bytes", script.len());
    }
}
