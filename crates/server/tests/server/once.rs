use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::extract::FromRequestParts;
use tickmark_engine::{Name, updates};
use tickmark_server::once::{self, Once, Part, Plan, Written};
use tickmark_store::{
    Account, Atom, Batch, Cursor, Error, Guard, Key, KeyPage, Number, Op, Placement, Presence, Query, Reply, Result,
    Store, Subscription,
};

use crate::client::{Answer, Client, send};
use crate::running::{self, Running, memory, open};

async fn announce(client: &Client, key: &str, body: &str) -> Answer {
    let request = client.request("POST", "/v1/updates/repo").header("idempotency-key", key);
    send(request.body(body.to_owned())).await
}

async fn count(store: &dyn Store) -> u64 {
    updates::standing(store, Account(0), &Name::parse("repo").unwrap()).await.unwrap().count
}

#[tokio::test]
async fn the_same_key_is_answered_as_the_first_time() {
    let server = Running::open().await;
    let client = server.client();
    let first = announce(&client, "k1", "{}").await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (202, ""));
    let again = announce(&client, "k1", "{}").await;
    assert_eq!((again.status, &again.text, again.header("idempotency-replayed")), (first.status, &first.text, "true"));
    let other = announce(&client, "k1", "{\"other\":1}").await;
    assert_eq!((other.status.as_u16(), other.problem().as_str()), (409, "idempotency_conflict"));
    assert_eq!(count(&*server.store).await, 1);
    announce(&client, "k2", "{}").await;
    assert_eq!(count(&*server.store).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_at_once_count_once_on_the_embedded_store() {
    a_hundred_at_once(memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_at_once_count_once_on_redis() {
    let redis = tickmark_rig::Redis::start().unwrap();
    a_hundred_at_once(running::redis(&redis.url()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_at_once_count_once_on_a_cluster() {
    let cluster = tickmark_rig::Cluster::start().unwrap();
    a_hundred_at_once(running::redis(&cluster.url()).await).await;
}

async fn a_hundred_at_once(store: Arc<dyn Store>) {
    let server = Running::start(open(), store).await;
    let client = server.client();
    let attempts = (0..100).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { announce(&client, "same", "{}").await })
    });
    let mut replayed = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        let answer = attempt.await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (202, "{\"accepted\":1}"));
        replayed += usize::from(answer.header("idempotency-replayed") == "true");
    }
    assert_eq!((replayed, count(&*server.store).await), (99, 1));
}

#[tokio::test]
async fn a_key_belongs_to_its_account_and_path() {
    let server = Running::open().await;
    let (zero, one) = (server.bearer(0, "read,write").await, server.bearer(1, "read,write").await);
    announce(&zero, "k", "{}").await;
    assert_eq!(announce(&one, "k", "{\"other\":1}").await.status, 202);
    let elsewhere = zero.request("POST", "/v1/updates/another").header("idempotency-key", "k").body("x");
    assert_eq!(send(elsewhere).await.header("idempotency-replayed"), "");
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let server = Running::open().await;
    let request = |body: &'static str| {
        let request = server.client().request("POST", "/v1/tokens").header("idempotency-key", "k");
        send(request.header("content-type", "application/json").body(body))
    };
    assert_eq!(request("{}").await.status, 422);
    assert_eq!(request("{\"name\":\"x\",\"scopes\":[\"read\"]}").await.status, 201);
}

#[tokio::test]
async fn a_replay_never_shows_the_token_again() {
    let server = Running::open().await;
    let admin = server.bearer(0, "admin").await;
    let make = || {
        let request = admin.request("POST", "/v1/tokens").header("idempotency-key", "k");
        send(request.header("content-type", "application/json").body("{\"name\":\"x\",\"scopes\":[\"read\"]}"))
    };
    let (first, again) = (make().await.json(), make().await.json());
    assert!(first["token"].as_str().unwrap().starts_with("tm_"));
    assert_eq!((&again["id"], &again["token"]), (&first["id"], &serde_json::Value::Null));
    assert_eq!(admin.get("/v1/tokens").await.json()["tokens"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_request_of_several_parts_is_completed_when_sent_again() {
    // The second commit is lost before it happens, so the first request ends half-way.
    let store = Crashing { store: memory(), commits: AtomicUsize::new(0), crashes_at: 1, before: true };
    for (key, totals) in [(Some("k"), [1, 1, 1]), (None, [2, 1, 1])] {
        let store = Crashing { store: memory(), commits: AtomicUsize::new(0), ..store };
        let write = || {
            let mut request = axum::http::Request::builder().uri("/v1/many").body(()).unwrap();
            if let Some(key) = key {
                request.headers_mut().insert("idempotency-key", key.parse().unwrap());
            }
            let (mut parts, ()) = request.into_parts();
            let store = &store;
            async move {
                let once = Once::from_request_parts(&mut parts, &()).await.unwrap();
                let tags = ["a", "b", "c"].map(str::to_owned);
                let plan = async || {
                    let part = |tag: &String| Part { tag: tag.clone(), batch: Batch::new().op(increment(tag)) };
                    Ok(Plan { parts: tags.iter().map(part).collect(), answer: tickmark_server::once::Answer::empty() })
                };
                once::commit(store, Account(0), &once, &tags, plan).await
            }
        };
        let half_way = write().await.unwrap_err();
        assert_eq!(half_way.word().as_str(), "partly_applied");
        assert!(half_way.detail().starts_with("1 of 3 parts"), "{}", half_way.detail());
        assert!(matches!(write().await.unwrap(), Written::Now(_)));
        for (tag, total) in ["a", "b", "c"].iter().zip(totals) {
            let queries = vec![Query::Get { key: Key::from(format!("{{{tag}}}")) }];
            let value = store.read(Account(0), queries).await.unwrap().pop().unwrap().value().unwrap();
            assert_eq!(value, Some(Atom::from(total)), "{tag} with the key {key:?}");
        }
        if key.is_some() {
            assert!(matches!(write().await.unwrap(), Written::Before(_)));
        }
    }
}

fn increment(tag: &str) -> Op {
    Op::Increment { key: Key::from(format!("{{{tag}}}")), by: Number::Int(1) }
}

#[tokio::test]
async fn parts_are_one_where_the_store_is_in_one_place() {
    let store = memory();
    let (mut parts, ()) = axum::http::Request::builder().body(()).unwrap().into_parts();
    let once = Once::from_request_parts(&mut parts, &()).await.unwrap();
    let plan = async || {
        let fine = Part { tag: "a".into(), batch: Batch::new().op(increment("a")) };
        let overflow = Op::Increment { key: Key::from("{b}"), by: Number::Int(i64::MAX) };
        let failing = Part { tag: "b".into(), batch: Batch::new().op(increment("b")).op(overflow) };
        Ok(Plan { parts: vec![fine, failing], answer: tickmark_server::once::Answer::empty() })
    };
    let refused = once::commit(&*store, Account(0), &once, &["a".into(), "b".into()], plan).await.unwrap_err();
    assert_eq!(refused.word().as_str(), "overflow");
    let queries = vec![Query::Get { key: Key::from("{a}") }];
    assert_eq!(store.read(Account(0), queries).await.unwrap(), [Reply::Value(None)]);
}

#[tokio::test]
async fn a_plan_whose_guard_fails_is_made_again() {
    let store = memory();
    let (mut parts, ()) = axum::http::Request::builder().body(()).unwrap().into_parts();
    let once = Once::from_request_parts(&mut parts, &()).await.unwrap();
    let attempts = AtomicUsize::new(0);
    let plan = async || {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        let is = if attempt < 3 { Presence::Present } else { Presence::Absent };
        let batch = Batch::new().guard(Guard::Key { key: Key::from("x"), is }).op(increment("x"));
        Ok(Plan::one("x", batch, tickmark_server::once::Answer::empty()))
    };
    once::commit(&*store, Account(0), &once, &["x".to_owned()], plan).await.unwrap();
    assert_eq!(attempts.into_inner(), 4);
}

/// A store whose answers get lost: the write happens, but whoever asked never hears of it, as in a crash right after
/// the commit; or it does not happen at all, as in a crash right before.
#[derive(Debug)]
struct Crashing {
    store: Arc<dyn Store>,
    commits: AtomicUsize,
    crashes_at: usize,
    before: bool,
}

#[async_trait]
impl Store for Crashing {
    /// As on a Cluster, so that a request can end half-way.
    fn placement(&self) -> Placement {
        Placement::ByTag
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        let crashes = self.commits.fetch_add(1, Ordering::SeqCst) == self.crashes_at;
        if !(crashes && self.before) {
            let replies = self.store.commit(account, batch).await?;
            if !crashes {
                return Ok(replies);
            }
        }
        Err(Error::FateUnknown("the cable was pulled".into()))
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        self.store.read(account, queries).await
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        self.store.scan(account, prefix, cursor, limit).await
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        self.store.subscribe(account, channel).await
    }

    async fn ping(&self) -> Result<()> {
        self.store.ping().await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

#[tokio::test]
async fn a_crash_around_the_write_neither_loses_nor_doubles_it() {
    for before in [true, false] {
        let store = Arc::new(Crashing { store: memory(), commits: AtomicUsize::new(0), crashes_at: 0, before });
        let server = Running::start(open(), store).await;
        let client = server.client();
        let lost = announce(&client, "k", "{}").await;
        assert_eq!((lost.status.as_u16(), lost.problem().as_str()), (503, "fate_unknown"), "before: {before}");
        let again = announce(&client, "k", "{}").await;
        assert_eq!(again.status, 202, "before: {before}");
        assert_eq!(again.header("idempotency-replayed") == "true", !before, "before: {before}");
        assert_eq!(count(&*server.store).await, 1, "before: {before}");
    }
}
