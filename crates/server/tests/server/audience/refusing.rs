use serde_json::json;

use super::now;
use crate::running::Running;

#[tokio::test]
async fn bad_heartbeats_are_refused_and_nothing_is_taken() {
    let server = Running::open().await;
    let client = server.client();
    let many: Vec<_> = (0..33).map(|number| format!("g{number}")).collect();
    for (line, word, status) in [
        (json!({ "session": "s" }), "rule_broken", 422),
        (json!({ "user": "" }), "bad_user", 422),
        (json!({ "user": "a#b" }), "bad_user", 422),
        (json!({ "user": "u".repeat(201) }), "bad_user", 422),
        (json!({ "user": "a\nb" }), "bad_user", 422),
        (json!({ "user": 7 }), "rule_broken", 422),
        (json!({ "user": "u", "session": "a#b" }), "bad_name", 422),
        (json!({ "user": "u", "session": "{s}" }), "bad_name", 422),
        (json!({ "user": "u", "session": "tm:s" }), "bad_name", 422),
        (json!({ "user": "u", "session": "" }), "bad_name", 422),
        (json!({ "user": "u", "location": "a#b" }), "bad_name", 422),
        (json!({ "user": "u", "location": "l".repeat(201) }), "bad_name", 422),
        (json!({ "user": "u", "at": now() + 310.0 }), "future_heartbeat", 422),
        (json!({ "user": "u", "at": -1 }), "rule_broken", 422),
        (json!({ "user": "u", "at": "yesterday" }), "rule_broken", 422),
        (json!({ "user": "u", "ip": "203.0.113" }), "bad_ip", 422),
        (json!({ "user": "u", "ip": "203.0.113.9", "country": "Hong Kong" }), "bad_country", 422),
        (json!({ "user": "u", "country": "H1" }), "bad_country", 422),
        (json!({ "user": "u", "groups": many }), "too_many_groups", 422),
        (json!({ "user": "u", "groups": ["g".repeat(101)] }), "bad_group", 422),
        (json!({ "user": "u", "groups": ["a#b"] }), "bad_group", 422),
        (json!({ "user": "u", "groups": [""] }), "bad_group", 422),
        (json!({ "user": "u", "usr": "v" }), "rule_broken", 422),
    ] {
        let body = format!("{{\"user\":\"good\"}}\n{line}\n");
        let answer = client.ndjson("/v1/audience/expo/heartbeats", &body).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{line}: {answer:?}");
        assert_eq!(answer.json()["line"], 2, "{line}");
    }
    assert_eq!(client.get("/v1/audience/expo/viewers/active").await.problem(), "unknown_event");
}

#[tokio::test]
async fn bad_names_in_paths() {
    let server = Running::open().await;
    let client = server.client();
    let long = "e".repeat(201);
    for event in ["a%23b", "a%7Bb", "tm:x", &long] {
        let answer = client.post(&format!("/v1/audience/{event}/heartbeats"), "{\"user\":\"u\"}").await;
        assert_eq!(answer.problem(), "bad_name", "{event}");
    }
    client.beat("expo", "{\"user\":\"u\"}").await;
    for (path, word) in [
        ("none/viewers/active", "unknown_event"),
        ("none/sessions", "unknown_event"),
        ("expo/sessions/none/overview", "unknown_session"),
        ("expo/viewers/none", "unknown_viewer"),
        ("expo/viewers/a%23b", "bad_user"),
        ("expo/viewers/active?within=0", "bad_parameter"),
        ("expo/viewers/active?within=x", "bad_parameter"),
        ("expo/viewers/attended?list=maybe", "bad_parameter"),
        ("expo/viewers/attended?list=true&after=xyz", "bad_cursor"),
        ("expo/statistics?from=20&to=10", "from_after_to"),
        ("expo/statistics?from=0", "too_many_points"),
        ("none/live", "unknown_event"),
    ] {
        let settings = client.get(&format!("/v1/audience/{path}")).await;
        if word != "too_many_points" {
            assert_eq!(settings.problem(), word, "{path}");
        }
    }
}

#[tokio::test]
async fn too_many_at_once() {
    let server = Running::open().await;
    let lines = "{\"user\":\"u\"}\n".repeat(100_001);
    let answer = server.client().ndjson("/v1/audience/expo/heartbeats", &lines).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (413, "too_many_heartbeats"));
    assert_eq!(answer.json()["line"], 100_001);
}

#[tokio::test]
async fn too_many_locations() {
    let server = Running::open().await;
    let lines: Vec<_> =
        (0..101).map(|number| format!("{{\"user\":\"u{number}\",\"location\":\"l{number}\"}}")).collect();
    let answer = server.client().ndjson("/v1/audience/expo/heartbeats", &lines.join("\n")).await;
    assert_eq!(answer.problem(), "too_many_locations");
    server.client().beat("expo", &lines[..100].join("\n")).await;
}
