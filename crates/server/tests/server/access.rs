use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tickmark_engine::accounts::Limits;
use tickmark_server::{AccessSettings, Openness, Settings};

use crate::client::send;
use crate::running::{self, Running, memory};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn open_until_there_is_a_token() {
    let server = Running::open().await;
    let anyone = server.client();
    assert_eq!(anyone.get("/v1/tokens").await.status, 200);
    let made = anyone.post("/v1/tokens", "{\"name\":\"first\",\"scopes\":[\"admin\"]}").await;
    assert_eq!(made.status, 201, "{made:?}");
    let refused = anyone.get("/v1/tokens").await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (401, "unauthenticated"));
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    let admin = anyone.with_token(made.json()["token"].as_str().unwrap());
    assert_eq!(admin.get("/v1/tokens").await.json()["tokens"][0]["name"], "first");
}

#[tokio::test]
async fn closed_stays_closed_without_tokens() {
    let access = AccessSettings { openness: Openness::Closed, jwt: None };
    let server = Running::start(Settings { access, ..Settings::default() }, memory()).await;
    assert_eq!(server.client().get("/v1/tokens").await.status, 401);
    assert_eq!(server.client().get("/health").await.status, 200);
}

#[tokio::test]
async fn scopes_allow_what_they_say_and_no_more() {
    let server = Running::open().await;
    for (scopes, method, path, status) in [
        ("read", "GET", "/v1/tokens", 403),
        ("read", "POST", "/v1/updates/x", 403),
        ("write", "POST", "/v1/updates/x", 202),
        ("write", "GET", "/v1/updates/x/live", 403),
        ("admin", "GET", "/v1/tokens", 200),
        ("admin", "POST", "/v1/updates/x", 403),
        ("read,write", "GET", "/metrics", 403),
        ("admin", "GET", "/metrics", 200),
    ] {
        let client = server.bearer(0, scopes).await;
        let answer = send(client.request(method, path)).await;
        assert_eq!(answer.status, status, "{scopes} {method} {path}");
    }
}

#[tokio::test]
async fn bad_tokens_are_refused() {
    let server = Running::open().await;
    let valid = server.token(0, "admin", Some(now() + 100), Limits::default()).await;
    let expired = server.token(0, "admin", Some(now() - 1), Limits::default()).await;
    let near_miss = format!("{}{}", &valid[..valid.len() - 1], if valid.ends_with('0') { '1' } else { '0' });
    for (token, status) in [
        (valid.as_str(), 200),
        (&expired, 401),
        (&near_miss, 401),
        (&valid[..20], 401),
        ("tm_", 401),
        ("x", 401),
        ("eyJhbGciOiJub25lIn0.e30.", 401),
    ] {
        let answer = server.client().with_token(token).get("/v1/tokens").await;
        assert_eq!(answer.status, status, "{token}");
    }
    let basic = server.client().request("GET", "/v1/tokens").header("authorization", "Basic eDp5");
    assert_eq!(send(basic).await.status, 401);
}

#[tokio::test]
async fn a_revoked_token_opens_nothing_from_then_on() {
    let server = Running::open().await;
    let admin = server.bearer(0, "admin").await;
    let made = admin.post("/v1/tokens", "{\"name\":\"x\",\"scopes\":[\"write\"]}").await.json();
    let bearer = server.client().with_token(made["token"].as_str().unwrap());
    assert_eq!(bearer.post("/v1/updates/x", "").await.status, 202);
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(admin.delete(&path).await.status, 204);
    assert_eq!(bearer.post("/v1/updates/x", "").await.status, 401);
    assert_eq!(admin.delete(&path).await.problem(), "unknown_token");
}

#[tokio::test]
async fn limits_answer_429_with_a_time_to_wait() {
    let server = Running::open().await;
    let limits = Limits { requests_per_second: Some(1), bytes_per_day: None };
    let hasty = server.client().with_token(&server.token(0, "write", None, limits).await);
    assert_eq!(hasty.post("/v1/updates/x", "").await.status, 202);
    let refused = hasty.post("/v1/updates/x", "").await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (429, "too_many_requests"));
    assert_eq!(refused.header("retry-after"), "1");

    let limits = Limits { requests_per_second: None, bytes_per_day: Some(10) };
    let wordy = server.client().with_token(&server.token(0, "write", None, limits).await);
    assert_eq!(wordy.post("/v1/updates/x", "12345678").await.status, 202);
    let refused = wordy.post("/v1/updates/x", "12345678").await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (429, "too_many_bytes"));
    assert!((1..=86_400).contains(&refused.header("retry-after").parse::<u32>().unwrap()));
}

#[tokio::test]
async fn a_foreign_token_finds_nothing_anywhere() {
    walk(&Running::open().await).await;
}

#[tokio::test]
async fn a_foreign_token_finds_nothing_anywhere_on_redis() {
    let redis = tickmark_rig::Redis::start().unwrap();
    walk(&Running::start(running::open(), running::redis(&redis.url()).await).await).await;
}

/// Walks the document, so that a route added tomorrow is tested tomorrow.
async fn walk(server: &Running) {
    let owner = server.bearer(1, "read,write,admin").await;
    assert_eq!(owner.post("/v1/updates/secret", "").await.status, 202);
    assert_eq!(owner.post("/v1/series/secret/events", "{}").await.status, 200);
    assert_eq!(owner.post("/v1/audience/secret/heartbeats", r#"{"user":"u1","session":"keynote"}"#).await.status, 200);
    let value = "{\"dimension\":\"d\",\"key\":\"k\",\"value\":1}";
    assert_eq!(owner.post("/v1/projects/secret/values", value).await.status, 200);
    let token_id = owner.get("/v1/tokens").await.json()["tokens"][0]["id"].as_str().unwrap().to_owned();
    let reader = server.bearer(2, "read").await;
    let everything = server.bearer(2, "read,write,admin").await;
    let nobody = server.client();

    let document = server.client().get("/openapi.json").await.json();
    let mut walked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["security"].is_null() {
                assert!(is_public(path), "{path} needs no token");
                continue;
            }
            walked += 1;
            let filled = path.replace("{repo}", "secret").replace("{name}", "secret").replace("{id}", &token_id);
            let filled = filled.replace("{event}", "secret").replace("{session}", "keynote").replace("{user}", "u1");
            let filled = filled.replace("{project}", "secret").replace("{dimension}", "d").replace("{key}", "k");
            let filled = filled.replace("{calculation}", "count").replace("{interval}", "days").replace("{rule}", "r");
            assert!(!filled.contains('{'), "say here what a parameter of {path} is");
            let method = method.to_uppercase();
            let answer = send(nobody.request(&method, &filled)).await;
            assert_eq!(answer.status, 401, "{method} {path} without a token");
            if method != "GET" || path == "/metrics" {
                let answer = send(reader.request(&method, &filled)).await;
                assert!([403, 404].contains(&answer.status.as_u16()), "{method} {path}: {answer:?}");
            }
            if path.contains("{id}") {
                let answer = send(everything.request(&method, &filled)).await;
                assert_eq!(answer.status, 404, "{method} {path} of another account");
            }
        }
    }
    assert!(walked >= 5, "only {walked} operations take a token");

    let listed = everything.get("/v1/tokens").await.text;
    assert!(!listed.contains(&token_id), "{listed}");
    assert_eq!(everything.get("/v1/series/secret").await.status, 404, "found another account's series");
    assert!(everything.get("/v1/series").await.json()["series"].as_array().unwrap().is_empty());
    assert_eq!(owner.get("/v1/series/secret").await.status, 200, "the owner's series was deleted by a stranger");
    assert_eq!(everything.get("/v1/audience/secret/viewers/u1").await.status, 404, "found another account's viewer");
    assert_eq!(
        owner.get("/v1/audience/secret/viewers/u1").await.status,
        200,
        "the owner's event was deleted by a stranger"
    );
    assert_eq!(everything.get("/v1/projects/secret").await.status, 404, "found another account's project");
    assert!(everything.get("/v1/projects").await.json()["projects"].as_array().unwrap().is_empty());
    let key = owner.get("/v1/projects/secret/dimensions/d/keys/k").await;
    assert_eq!(key.json()["values"], 1, "the owner's values were deleted by a stranger");
    let mut live = everything.request("GET", "/v1/updates/secret/live").send().await.unwrap();
    let chunk = live.chunk().await.unwrap().unwrap();
    let data = std::str::from_utf8(&chunk).unwrap().lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap()["count"], 0, "heard of another account's update");
    assert_eq!(owner.get("/v1/tokens").await.status, 200, "the owner's token was revoked by a stranger");
}

fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/health" | "/ready" | "/openapi.json" | "/heartbeat.js") || path.starts_with("/docs")
}
