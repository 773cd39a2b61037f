//! A Redis that fails: what was written is known, or said to be unknown, and never written twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tickmark_rig::{Fsync, Redis, Settings};
use tickmark_store::redis::{Options, RedisStore};
use tickmark_store::{Account, Atom, Batch, Error, Event, Key, Kind, Number, Op, Query, Store};
use tokio::task::JoinSet;

const ACCOUNT: Account = Account(0);

async fn connect(redis: &Redis, options: Options) -> Arc<RedisStore> {
    Arc::new(RedisStore::connect(&redis.url(), options).await.unwrap())
}

fn increment() -> Batch {
    Batch::from(vec![Op::Increment { key: "n".into(), by: Number::Int(1) }])
}

async fn counter(store: &RedisStore) -> i64 {
    let replies = store.read(ACCOUNT, vec![Query::Get { key: "n".into() }]).await.unwrap();
    replies.into_iter().next().unwrap().value().unwrap().and_then(|value| value.as_int()).unwrap_or(0)
}

/// Waits until a condition of the server holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {what}");
}

/// Waits until the store has found its server again; between two attempts it pauses longer and longer.
async fn until_it_answers(store: &RedisStore) {
    for _ in 0..100 {
        if store.ping().await.is_ok() {
            return;
        }
    }
    panic!("the server is back, but the store does not find it");
}

fn info(redis: &Redis, line: &str) -> String {
    let info = redis.command(&["INFO", "everything"]).unwrap();
    info.text().lines().find_map(|text| text.strip_prefix(line)).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_script_is_loaded_again() {
    let redis = Redis::start().unwrap();
    let store = connect(&redis, Options::default()).await;
    for n in 1..=20 {
        store.commit(ACCOUNT, increment()).await.unwrap();
        assert_eq!(counter(&store).await, n);
        redis.command(&["SCRIPT", "FLUSH"]).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_under_load_loses_and_repeats_nothing() {
    let settings = Settings { append_only: Some(Fsync::Always), ..Settings::default() };
    let mut redis = Redis::start_with(&settings).unwrap();
    let store = connect(&redis, Options::default()).await;
    let (acknowledged, unknown) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let stop = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (store, acknowledged, unknown, stop) =
                (Arc::clone(&store), Arc::clone(&acknowledged), Arc::clone(&unknown), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    match store.commit(ACCOUNT, increment()).await {
                        Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                        Err(Error::FateUnknown(_)) => unknown.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Unavailable(_)) => 0,
                        Err(error) => panic!("{error:?}"),
                    };
                }
            })
        })
        .collect();
    for round in 1..=5 {
        let enough = acknowledged.load(Ordering::Relaxed) + 200;
        until("more commits", || acknowledged.load(Ordering::Relaxed) > enough).await;
        redis.kill().unwrap();
        redis.restart().unwrap();
        println!("round {round}: {acknowledged:?} acknowledged, {unknown:?} unknown");
    }
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    let written = counter(&store).await;
    let (acknowledged, unknown) = (acknowledged.load(Ordering::Relaxed), unknown.load(Ordering::Relaxed));
    assert!((acknowledged..=acknowledged + unknown).contains(&written), "{acknowledged} {written} {unknown}");
    assert!(unknown > 0, "the server was killed between commits only");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_in_flight_when_the_server_dies_has_an_unknown_fate() {
    let mut redis = Redis::start().unwrap();
    let options = Options { patience: Duration::from_millis(500), ..Options::default() };
    let store = connect(&redis, options).await;
    store.commit(ACCOUNT, increment()).await.unwrap();
    redis.command(&["CLIENT", "PAUSE", "60000", "WRITE"]).unwrap();
    let before = Arc::clone(&store);
    let in_flight = tokio::spawn(async move { before.commit(ACCOUNT, increment()).await });
    until("the commit to arrive", || info(&redis, "blocked_clients:") == "1").await;
    redis.kill().unwrap();
    assert!(matches!(in_flight.await.unwrap(), Err(Error::FateUnknown(_))));
    // Nothing can be sent to a server that is gone, and that is known.
    assert!(matches!(store.commit(ACCOUNT, increment()).await, Err(Error::Unavailable(_))));
    assert!(store.ping().await.is_err());
    redis.restart().unwrap();
    until_it_answers(&store).await;
    assert_eq!(counter(&store).await, 0);
    store.commit(ACCOUNT, increment()).await.unwrap();
    assert_eq!(counter(&store).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_not_answered_in_time_has_an_unknown_fate() {
    let redis = Redis::start().unwrap();
    let options = Options { response_timeout: Duration::from_millis(100), ..Options::default() };
    let store = connect(&redis, options).await;
    redis.command(&["CLIENT", "PAUSE", "60000", "WRITE"]).unwrap();
    assert!(matches!(store.commit(ACCOUNT, increment()).await, Err(Error::FateUnknown(_))));
    redis.command(&["CLIENT", "UNPAUSE"]).unwrap();
    store.commit(ACCOUNT, increment()).await.unwrap();
    assert!((1..=2).contains(&counter(&store).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_bounded() {
    let redis = Redis::start().unwrap();
    let options = Options { in_flight_max: 2, patience: Duration::from_millis(200), ..Options::default() };
    let store = connect(&redis, options).await;
    redis.command(&["CLIENT", "PAUSE", "60000", "WRITE"]).unwrap();
    let mut commits: JoinSet<_> = (0..3)
        .map(|_| {
            let store = Arc::clone(&store);
            async move { store.commit(ACCOUNT, increment()).await }
        })
        .collect();
    // Two are waiting for the server, so the one that comes back is the third.
    let third = commits.join_next().await.unwrap().unwrap();
    assert!(matches!(third, Err(Error::Unavailable(_))), "{third:?}");
    redis.command(&["CLIENT", "UNPAUSE"]).unwrap();
    while let Some(commit) = commits.join_next().await {
        commit.unwrap().unwrap();
    }
    assert_eq!(counter(&store).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_not_write_writes_nothing() {
    let redis = Redis::start().unwrap();
    let options = Options { patience: Duration::from_millis(200), ..Options::default() };
    let store = connect(&redis, options).await;
    let set = |key: &str| Op::Set { key: Key::from(key), value: "x".into() };
    store.commit(ACCOUNT, Batch::from(vec![set("a")])).await.unwrap();
    // Redis would let the deletion through and stop at the second operation.
    let batch = Batch::from(vec![Op::Delete { key: "a".into() }, set("b")]);
    let states = [
        (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
        (["REPLICAOF", "127.0.0.1", "1", ""], ["REPLICAOF", "NO", "ONE", ""]),
        (["CONFIG", "SET", "min-replicas-to-write", "1"], ["CONFIG", "SET", "min-replicas-to-write", "0"]),
    ];
    for (bad, good) in states {
        let words = |words: [&'static str; 4]| words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        redis.command(&words(bad)).unwrap();
        let refused = store.commit(ACCOUNT, batch.clone()).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{bad:?}: {refused:?}");
        assert!(store.ping().await.is_err(), "{bad:?}");
        redis.command(&words(good)).unwrap();
        let kinds = vec![Query::Kind { key: "a".into() }, Query::Kind { key: "b".into() }];
        let kinds = store.read(ACCOUNT, kinds).await.unwrap();
        let kinds: Vec<_> = kinds.into_iter().map(|reply| reply.kind().unwrap()).collect();
        assert_eq!(kinds, [Some(Kind::String), None], "{bad:?}");
        store.ping().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_hear_of_a_lost_connection_and_then_go_on() {
    let mut redis = Redis::start().unwrap();
    let store = connect(&redis, Options::default()).await;
    let mut subscription = store.subscribe(ACCOUNT, "c".into()).await.unwrap();
    let publish = || Batch::from(vec![Op::Publish { channel: "c".into(), message: (*b"m").into() }]);
    for round in 0..2 {
        if round == 0 {
            redis.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).unwrap();
        } else {
            redis.kill().unwrap();
            redis.restart().unwrap();
        }
        assert_eq!(subscription.next().await, Some(Event::Gap));
        store.commit(ACCOUNT, publish()).await.unwrap();
        assert_eq!(subscription.next().await, Some(Event::Message((*b"m").into())));
    }
    drop(subscription);
    until("the channel to be left", || info(&redis, "pubsub_channels:") == "0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_answers_that_it_is() {
    let redis = Redis::start().unwrap();
    let store = connect(&redis, Options::default()).await;
    let mut subscription = store.subscribe(ACCOUNT, "c".into()).await.unwrap();
    store.commit(ACCOUNT, increment()).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(subscription.next().await, None);
    assert!(matches!(store.commit(ACCOUNT, increment()).await, Err(Error::Closed)));
    assert!(matches!(store.commit(ACCOUNT, Batch::new()).await, Err(Error::Closed)));
    assert!(matches!(store.read(ACCOUNT, vec![]).await, Err(Error::Closed)));
    assert!(matches!(store.scan(ACCOUNT, "".into(), None, 1).await, Err(Error::Closed)));
    assert!(matches!(store.subscribe(ACCOUNT, "c".into()).await, Err(Error::Closed)));
    assert!(matches!(store.ping().await, Err(Error::Closed)));
    let ours = || redis.command(&["CLIENT", "LIST"]).unwrap().text().lines().count() == 1;
    until("the connections to end", ours).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_that_are_not_ours_are_named() {
    let redis = Redis::start().unwrap();
    let store = connect(&redis, Options::default()).await;
    redis.command(&["XADD", "n", "*", "f", "v"]).unwrap();
    let errors = [
        store.commit(ACCOUNT, increment()).await.unwrap_err(),
        store.read(ACCOUNT, vec![Query::Get { key: "n".into() }]).await.unwrap_err(),
        store.read(ACCOUNT, vec![Query::Kind { key: "n".into() }]).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, Error::ForeignType { found, .. } if found == "stream"), "{error:?}");
    }
    redis.command(&["SET", "n", "41"]).unwrap();
    store.commit(ACCOUNT, increment()).await.unwrap();
    assert_eq!(redis.command(&["GET", "n"]).unwrap().text(), Atom::from(42).to_string());
}
