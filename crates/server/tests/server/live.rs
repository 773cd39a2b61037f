use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::{Value, json};
use tickmark_server::Bounds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, send};
use crate::process;
use crate::running::{self, Running, memory, open};

/// The events of one live connection.
struct Events {
    response: Response,
    buffer: String,
}

impl Events {
    async fn of(client: &Client, repo: &str) -> Self {
        let response = client.request("GET", &format!("/v1/updates/{repo}/live")).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new() }
    }

    /// The next event's name and data; `None` at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                let parsed = field("event").zip(field("data"));
                let parsed = parsed.map(|(name, data)| (name.to_owned(), serde_json::from_str(data).unwrap()));
                self.buffer = String::from(rest);
                if parsed.is_some() {
                    return parsed;
                }
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_secs(10), self.response.chunk()).await.unwrap();
            self.buffer.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    async fn until_count(&mut self, count: u64) -> usize {
        for seen in 1.. {
            let (name, data) = self.next().await.unwrap();
            assert_eq!(name, "change");
            if data["count"] == count {
                return seen;
            }
        }
        unreachable!("the loop has no end")
    }
}

#[tokio::test]
async fn first_a_snapshot_then_changes() {
    let server = Running::open().await;
    let client = server.client();
    let mut events = Events::of(&client, "repo").await;
    let (name, data) = events.next().await.unwrap();
    assert_eq!((name.as_str(), data), ("snapshot", json!({ "repo": "repo", "count": 0, "at": null })));
    client.post("/v1/updates/repo", "").await;
    let (name, data) = events.next().await.unwrap();
    assert_eq!((name.as_str(), &data["count"]), ("change", &json!(1)));
    let (name, data) = Events::of(&client, "repo").await.next().await.unwrap();
    assert_eq!((name.as_str(), &data["count"]), ("snapshot", &json!(1)));
}

#[tokio::test]
async fn many_changes_become_few() {
    let server = Running::open().await;
    let client = server.client();
    let mut events = Events::of(&client, "busy").await;
    events.next().await.unwrap();
    let started = Instant::now();
    for _ in 0..100 {
        client.post("/v1/updates/busy", "").await;
    }
    let seen = events.until_count(100).await;
    let allowed = 2 + started.elapsed().as_millis() / 250;
    assert!(seen as u128 <= allowed, "{seen} changes, {allowed} allowed");
}

#[tokio::test]
async fn servers_on_one_store_hear_each_other() {
    let store = memory();
    let one = Running::start(open(), Arc::clone(&store)).await;
    let two = Running::start(open(), store).await;
    let mut events = Events::of(&two.client(), "shared").await;
    events.next().await.unwrap();
    one.client().post("/v1/updates/shared", "").await;
    events.until_count(1).await;
}

#[tokio::test]
async fn servers_on_one_redis_hear_each_other() {
    let redis = tickmark_rig::Redis::start().unwrap();
    let one = Running::start(open(), running::redis(&redis.url()).await).await;
    let two = Running::start(open(), running::redis(&redis.url()).await).await;
    let mut events = Events::of(&two.client(), "shared").await;
    events.next().await.unwrap();
    one.client().post("/v1/updates/shared", "").await;
    events.until_count(1).await;
}

#[tokio::test]
async fn accounts_do_not_hear_each_other() {
    let server = Running::open().await;
    let (zero, one) = (server.bearer(0, "read,write").await, server.bearer(1, "read,write").await);
    let mut events = Events::of(&one, "repo").await;
    events.next().await.unwrap();
    zero.post("/v1/updates/repo", "").await;
    one.post("/v1/updates/repo", "").await;
    let (_, data) = events.next().await.unwrap();
    assert_eq!(data["count"], 1);
}

#[tokio::test]
async fn a_revoked_token_hears_nothing_more() {
    let server = Running::open().await;
    let admin = server.bearer(0, "read,write,admin").await;
    let made = admin.post("/v1/tokens", "{\"name\":\"x\",\"scopes\":[\"read\"]}").await.json();
    let mut events = Events::of(&server.client().with_token(made["token"].as_str().unwrap()), "repo").await;
    events.next().await.unwrap();
    admin.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    let publishing = tokio::spawn(async move {
        while Instant::now() < deadline {
            admin.post("/v1/updates/repo", "").await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    while let Some((name, _)) = events.next().await {
        assert!(name == "change" && Instant::now() < deadline, "still heard after ten seconds");
    }
    publishing.abort();
}

#[tokio::test]
async fn stopping_ends_every_stream() {
    let server = Running::open().await;
    let mut events = Events::of(&server.client(), "repo").await;
    events.next().await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), server.stop()).await.unwrap();
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn beyond_the_limit_listeners_are_refused() {
    let mut settings = open();
    settings.bounds = Bounds { listeners_max: 1, ..Bounds::default() };
    let server = Running::start(settings, memory()).await;
    let first = Events::of(&server.client(), "repo").await;
    let refused = server.client().get("/v1/updates/repo/live").await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (503, "too_many_listeners"));
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let response = server.client().request("GET", "/v1/updates/repo/live").send().await.unwrap();
        if response.status() == 200 {
            return;
        }
    }
    panic!("a place that was given back stayed taken");
}

/// What tests that run at the same time may take meanwhile.
const OTHERS_KIB: usize = 256 * 1_024;

/// Both ends of each connection are in this process, and most of them never read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_listeners_take_little_and_no_more_with_time() {
    let listeners = (process::open_files_max().saturating_sub(1_000) / 2).min(10_000);
    let server = Running::open().await;
    let client = server.client();
    let before_kib = process::resident_kib();
    let mut streams = Vec::new();
    for _ in 0..listeners {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /v1/updates/crowd/live HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let mut reader = Events::of(&client, "crowd").await;
    reader.next().await.unwrap();
    let joined_kib = process::resident_kib();
    let taken_kib = joined_kib.saturating_sub(before_kib);
    assert!(taken_kib <= OTHERS_KIB + 64 * listeners, "{taken_kib} KiB for {listeners} listeners");
    for count in 1..=8 {
        client.post("/v1/updates/crowd", "").await;
        reader.until_count(count).await;
    }
    let grown_kib = process::resident_kib().saturating_sub(joined_kib);
    assert!(grown_kib <= OTHERS_KIB + 8 * listeners, "{grown_kib} KiB more for {listeners} listeners");
}

#[tokio::test]
async fn a_closed_store_is_a_refusal_not_a_silence() {
    let server = Running::open().await;
    server.client().get("/v1/tokens").await;
    server.store.close().await.unwrap();
    let refused = send(server.client().request("GET", "/v1/updates/repo/live")).await;
    assert_eq!(refused.status, 503);
}
