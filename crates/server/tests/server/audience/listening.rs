use std::time::Duration;

use serde_json::{Value, json};

use super::now;
use crate::running::Running;

/// How long what must happen soon may take.
const PATIENCE: Duration = Duration::from_secs(20);

async fn until(live: &mut reqwest::Response, wanted: impl Fn(&Value) -> bool) -> Value {
    let waiting = async {
        let mut text = String::new();
        loop {
            let chunk = live.chunk().await.unwrap().expect("the stream goes on");
            text.push_str(std::str::from_utf8(&chunk).unwrap());
            let states =
                text.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
            if let Some(state) = states.filter(&wanted).last() {
                return state;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time")
}

#[tokio::test]
async fn comings_and_goings_are_heard() {
    let server = Running::open().await;
    let client = server.client();
    assert_eq!(client.put("/v1/audience/expo", "{\"threshold_seconds\":2}").await.status, 201);
    client.beat("expo", "{\"user\":\"a\",\"session\":\"s\",\"groups\":[\"staff\"]}").await;
    let mut event = client.request("GET", "/v1/audience/expo/live").send().await.unwrap();
    let mut session = client.request("GET", "/v1/audience/expo/sessions/s/live").send().await.unwrap();
    until(&mut event, |state| state["active"] == 1).await;
    client.beat("expo", &json!({ "user": "b", "session": "s", "at": now() }).to_string()).await;
    until(&mut event, |state| state["attended"] == 2).await;
    until(&mut session, |state| state["attended"] == 2).await;
    // Nobody sends anything, and still it is told that they left.
    for live in [&mut event, &mut session] {
        let state = until(live, |state| state["active"] == 0).await;
        assert_eq!((&state["attended"], &state["statistics"]["by_group"]), (&json!(2), &json!({})));
        assert!(state["peak"]["peak"].as_u64().unwrap() >= 1);
    }
}
