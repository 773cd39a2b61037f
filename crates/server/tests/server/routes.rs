use serde_json::json;

use crate::client::send;
use crate::running::Running;

#[tokio::test]
async fn alive_and_ready() {
    let server = Running::open().await;
    let client = server.client();
    assert_eq!(client.get("/health").await.json(), json!({ "status": "alive" }));
    assert_eq!(client.get("/ready").await.json(), json!({ "status": "ready" }));
    server.store.close().await.unwrap();
    assert_eq!(client.get("/health").await.status, 200);
    let unready = client.get("/ready").await;
    assert_eq!((unready.status.as_u16(), unready.problem().as_str()), (503, "store_unavailable"));
    assert_eq!(unready.header("retry-after"), "1");
}

#[tokio::test]
async fn unknown_routes_and_methods() {
    let server = Running::open().await;
    let client = server.client();
    let unknown = client.get("/v1/nothing").await;
    assert_eq!((unknown.status.as_u16(), unknown.problem().as_str()), (404, "unknown_route"));
    let wrong = client.delete("/v1/tokens").await;
    assert_eq!((wrong.status.as_u16(), wrong.problem().as_str()), (405, "method_not_allowed"));
    assert_eq!(wrong.header("allow"), "GET,HEAD,POST");
}

#[tokio::test]
async fn metrics_count_refusals_by_reason() {
    let server = Running::open().await;
    let client = server.client();
    client.get("/v1/nothing").await;
    client.post("/v1/updates/x", "").await;
    let metrics = client.get("/metrics").await;
    assert!(metrics.header("content-type").starts_with("text/plain; version=0.0.4"));
    for line in [
        "tickmark_refusals_total{reason=\"unknown_route\"} ",
        "tickmark_refusals_total{reason=\"body_too_large\"} ",
        "tickmark_requests_total{method=\"GET\",route=\"unknown\",status=\"404\"} ",
        "tickmark_request_seconds_bucket{method=\"GET\",route=\"unknown\",le=\"0.001\"} ",
        "tickmark_requests_in_flight ",
        "# TYPE tickmark_live_skipped_total counter",
        "tickmark_live_skipped_total ",
        "tickmark_refusals_total{reason=\"headers_too_large\"} ",
        "tickmark_store_errors_total{error=\"unavailable\"} ",
        "tickmark_commit_guards_failed_total ",
        "tickmark_commit_operations_bucket{le=\"10\"} ",
        "tickmark_commit_seconds_count ",
    ] {
        assert!(metrics.text.contains(line), "{line} is not in\n{}", metrics.text);
    }
}

#[tokio::test]
async fn pages_load_nothing_from_elsewhere() {
    let server = Running::open().await;
    let client = server.client();
    assert_eq!(client.get("/").await.header("location"), "/docs");
    let page = client.get("/docs").await;
    assert!(page.header("content-security-policy").contains("script-src 'self'"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    for (path, kind) in [("/docs/page.js", "text/javascript"), ("/docs/page.css", "text/css")] {
        let part = client.get(path).await;
        assert!(part.header("content-type").starts_with(kind) && !part.text.is_empty());
        assert!(page.text.contains(path) && !part.text.contains("https://"), "{path}");
    }
}

#[tokio::test]
async fn other_origins_are_let_in_only_where_configured() {
    let preflight = |server: &Running| {
        let request = server.client().request("OPTIONS", "/v1/tokens").header("origin", "https://app.example");
        send(request.header("access-control-request-method", "POST"))
    };
    let closed = Running::open().await;
    assert_eq!(preflight(&closed).await.header("access-control-allow-origin"), "");
    let mut settings = crate::running::open();
    settings.cors_origins = vec!["https://app.example".into()];
    let open = Running::start(settings, crate::running::memory()).await;
    assert_eq!(preflight(&open).await.header("access-control-allow-origin"), "https://app.example");
}

#[tokio::test]
async fn the_document_says_what_every_operation_may_refuse() {
    let server = Running::open().await;
    let document = server.client().get("/openapi.json").await.json();
    let create = &document["paths"]["/v1/tokens"]["post"];
    assert_eq!(create["security"], json!([{ "token": [] }]));
    for status in ["201", "400", "401", "403", "408", "409", "413", "415", "422", "429", "503"] {
        assert!(create["responses"][status].is_object(), "{status}");
    }
    assert!(document["paths"]["/health"]["get"]["security"].is_null());
    assert!(document["components"]["schemas"]["Problem"].is_object());
}
