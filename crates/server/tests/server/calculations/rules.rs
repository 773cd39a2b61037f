//! Rules: one alert a crossing, listed, live, and posted with a signature until it is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use tickmark_server::{Settings, WebhookReach};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{hash, key, until};
use crate::client::Client;
use crate::running::{Running, memory, open};
use crate::series::stores::on_each;

/// Keeps a value and waits until the results show it.
async fn keep(server: &Running, of: &str, at: i64, value: i64, sum: i64) {
    let (client, store) = (server.client(), &server.store);
    client.keep("2", &format!("{{\"dimension\":\"d\",\"key\":\"{of}\",\"at\":{at},\"value\":{value}}}")).await;
    until(async || {
        let found = hash(store, key(store, "hash", &format!("2:d:{of}"), "sum:days")).await;
        let newest = found.last().cloned().unwrap_or_default();
        if newest.ends_with(&format!("={sum}")) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

async fn alerts(client: &Client) -> Vec<Value> {
    client.get("/v1/projects/2/alerts").await.json()["alerts"].as_array().unwrap().clone()
}

async fn declare(client: &Client, name: &str, rule: &Value) {
    let answer = client.put(&format!("/v1/projects/2/rules/{name}"), &rule.to_string()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_alert_a_crossing() {
    on_each(async |server| {
        let client = server.client();
        client.declare("d", "sum=days,average=days").await;
        let rule = json!({ "dimension": "d", "calculation": "sum", "interval": "days", "operator": ">", "threshold": 9 });
        declare(&client, "busy", &rule).await;
        let low = json!({ "dimension": "d", "key": "k", "calculation": "average", "interval": "days", "field": "average",
            "operator": "<=", "threshold": -1, "webhook": null });
        declare(&client, "low", &low).await;
        // Up to nine is not beyond; then beyond twice, back, beyond again.
        for (at, value, sum) in [(0, 9, 9), (1, 1, 10), (2, 5, 15), (3, -7, 8), (4, 2, 10)] {
            keep(server, "k", at, value, sum).await;
        }
        keep(server, "other", 0, 20, 20).await;
        keep(server, "k", 86_400, -100, -100).await;
        until(async || {
            let found = alerts(&client).await;
            if found.len() == 4 { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
        let found = alerts(&client).await;
        let busy: Vec<_> = found.iter().filter(|alert| alert["rule"] == "busy").collect();
        let values: Vec<_> = busy.iter().rev().map(|alert| (alert["key"].as_str(), alert["value"].as_f64())).collect();
        assert_eq!(values, [(Some("k"), Some(10.0)), (Some("k"), Some(10.0)), (Some("other"), Some(20.0))]);
        assert_eq!((&busy[0]["operator"], &busy[0]["threshold"], &busy[0]["field"]), (&json!(">"), &json!(9.0), &json!("latest")));
        assert_eq!(found[0]["rule"], "low");
        assert_eq!(found[0]["value"], -45.0);
        let page = client.get("/v1/projects/2/alerts?limit=1").await.json();
        assert_eq!(page["alerts"][0], found[0]);
        let next = client.get(&format!("/v1/projects/2/alerts?limit=1000&before={}", page["next"])).await.json();
        assert_eq!(next["alerts"].as_array().unwrap().len(), 3, "{next}");
        assert_eq!(client.get("/v1/projects/2/rules").await.json()["rules"].as_array().unwrap().len(), 2);
        assert_eq!(client.delete("/v1/projects/2/rules/low").await.status, 204);
        assert_eq!(client.get("/v1/projects/2/rules/low").await.problem(), "unknown_rule");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_and_a_restart_make_no_second_alert() {
    let store = memory();
    let servers = [Running::start(open(), Arc::clone(&store)).await, Running::start(open(), Arc::clone(&store)).await];
    let client = servers[0].client();
    client.declare("d", "sum=days,average=days").await;
    let rule = json!({ "dimension": "d", "calculation": "sum", "interval": "days", "operator": ">=", "threshold": 5 });
    declare(&client, "busy", &rule).await;
    for (number, at) in (0..20).enumerate() {
        let line = format!("{{\"dimension\":\"d\",\"key\":\"k\",\"at\":{at},\"value\":1}}");
        servers[number % 2].client().keep("2", &line).await;
    }
    until(async || {
        let found = hash(&store, key(&store, "hash", "2:d:k", "sum:days")).await;
        if found == ["1970-01-01=20"] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    drop(servers);
    let server = Running::start(open(), Arc::clone(&store)).await;
    keep(&server, "k", 100, 1, 21).await;
    until(async || if alerts(&server.client()).await.is_empty() { Err("none".into()) } else { Ok(()) }).await;
    assert_eq!(alerts(&server.client()).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live() {
    let server = Running::open().await;
    let client = server.client();
    client.declare("d", "sum=days").await;
    let rule = json!({ "dimension": "d", "calculation": "sum", "interval": "days", "operator": ">", "threshold": 0 });
    declare(&client, "any", &rule).await;
    let mut live = client.request("GET", "/v1/projects/2/alerts/live").send().await.unwrap();
    assert!(String::from_utf8(live.chunk().await.unwrap().unwrap().to_vec()).unwrap().contains("\"alerts\":[]"));
    client.keep("2", "{\"dimension\":\"d\",\"key\":\"k\",\"at\":0,\"value\":1}").await;
    let change = String::from_utf8(live.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(change.starts_with("event: change\n") && change.contains("\"rule\":\"any\""), "{change}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posted_until_it_is_taken_and_signed() {
    let settings = Settings { webhooks: WebhookReach::Everywhere, ..open() };
    let server = Running::start(settings, memory()).await;
    let client = server.client();
    client.declare("d", "sum=days").await;
    let (port, mut posts) = receiver().await;
    let mut rule = json!({ "dimension": "d", "calculation": "sum", "interval": "days", "operator": ">", "threshold": 0,
        "webhook": format!("http://127.0.0.1:{port}/hook") });
    let made = client.put("/v1/projects/2/rules/posted", &rule.to_string()).await;
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    assert_eq!(secret.len(), 64);
    assert!(!client.get("/v1/projects/2/rules/posted").await.text.contains(&secret));
    client.keep("2", "{\"dimension\":\"d\",\"key\":\"k\",\"at\":0,\"value\":1}").await;
    // The first is answered 500, so there is a second, the same to the byte.
    let (first, second) = (posts.recv().await.unwrap(), posts.recv().await.unwrap());
    let body = |post: &str| post.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&first), body(&second));
    let signature = second.lines().find_map(|line| line.strip_prefix("x-tickmark-signature: sha256=")).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let expected: Vec<_> =
        hmac::sign(&key, body(&second).as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(signature, expected.concat());
    assert_eq!(serde_json::from_str::<Value>(&body(&second)).unwrap()["rule"], "posted");
    until(async || {
        let found = alerts(&client).await;
        if found[0]["webhook"] == "delivered" { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;

    rule["secret"] = json!("mine");
    let given = client.put("/v1/projects/2/rules/posted", &rule.to_string()).await;
    assert_eq!((given.status.as_u16(), &given.json()["secret"]), (200, &json!(null)));
}

#[tokio::test]
async fn rules_that_cannot_be() {
    let server = Running::open().await;
    let client = server.client();
    client.declare("d", "sum=days").await;
    let good = json!({ "dimension": "d", "calculation": "sum", "interval": "days", "operator": ">", "threshold": 0 });
    for (field, value, word) in [
        ("dimension", json!("a:b"), "bad_name"),
        ("calculation", json!("mode"), "unknown_calculation"),
        ("interval", json!("fortnights"), "unknown_interval"),
        ("field", json!("2014"), "bad_time"),
        ("operator", json!("!="), "bad_rule"),
        ("threshold", json!("9"), "rule_broken"),
        ("webhook", json!("ftp://example.com"), "bad_rule"),
        ("webhook", json!("http://169.254.169.254/latest"), "bad_rule"),
        ("webhook", json!("http://127.0.0.1:1/"), "bad_rule"),
        ("secret", json!("alone"), "bad_rule"),
        ("colour", json!("red"), "rule_broken"),
    ] {
        let mut rule = good.clone();
        rule[field] = value;
        let answer = client.put("/v1/projects/2/rules/r", &rule.to_string()).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (422, word), "{rule}: {answer:?}");
    }
    let answer = client.put("/v1/projects/3/rules/r", &good.to_string()).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (404, "unknown_project"));
}

/// Takes posts, the first with an error.
async fn receiver() -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, posts) = mpsc::channel(10);
    let count = AtomicUsize::new(0);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut buffer = [0; 4_096];
            while !is_whole(&request) {
                match socket.read(&mut buffer).await {
                    Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
                    _ => break,
                }
            }
            let status = if count.fetch_add(1, Ordering::Relaxed) == 0 { "500 No" } else { "204 Yes" };
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            let _ = socket.write_all(answer.as_bytes()).await;
            if sender.send(String::from_utf8(request).unwrap()).await.is_err() {
                return;
            }
        }
    });
    (port, posts)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}
