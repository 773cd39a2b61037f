//! A Cluster that changes: slots move, masters die, replicas take over.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tickmark_rig::{Cluster, Settings};
use tickmark_store::redis::{Options, RedisStore};
use tickmark_store::{Account, Batch, Cursor, Error, Event, Key, Number, Op, Query, Store};

const ACCOUNT: Account = Account(0);
const PATIENCE: Duration = Duration::from_secs(30);

async fn connect(url: &str) -> Arc<RedisStore> {
    let options = Options { patience: PATIENCE, ..Options::default() };
    Arc::new(RedisStore::connect(url, options).await.unwrap())
}

fn increment(key: &str) -> Batch {
    Batch::from(vec![Op::Increment { key: Key::from(key), by: Number::Int(1) }])
}

async fn counter(store: &RedisStore, key: &str) -> i64 {
    let replies = store.read(ACCOUNT, vec![Query::Get { key: Key::from(key) }]).await.unwrap();
    replies.into_iter().next().unwrap().value().unwrap().and_then(|value| value.as_int()).unwrap_or(0)
}

async fn all_keys(store: &RedisStore, mut cursor: Option<Cursor>) -> Result<HashSet<Key>, Error> {
    let mut keys = HashSet::new();
    loop {
        let page = store.scan(ACCOUNT, "".into(), cursor, 10).await?;
        keys.extend(page.keys);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(keys);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_slots_are_not_one_batch() {
    let cluster = Cluster::start().unwrap();
    let store = connect(&cluster.url()).await;
    let set = |key: &str| Op::Set { key: Key::from(key), value: 1.into() };
    let batch = Batch::from(vec![set("{a}1"), set("{a}2"), set("{b}1"), set("{c}1")]);
    let error = store.commit(ACCOUNT, batch).await.unwrap_err();
    let named = matches!(&error, Error::CrossSlot { first, second }
        if *first == Key::from("{a}1") && *second == Key::from("{b}1"));
    assert!(named, "{error:?}");
    assert_eq!(all_keys(&store, None).await.unwrap(), HashSet::new());
    let single = RedisStore::connect(&cluster.nodes()[0].url(), Options::default()).await;
    assert!(matches!(single, Err(Error::BadUrl { .. })), "{single:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_is_followed() {
    let cluster = Cluster::start().unwrap();
    let store = connect(&cluster.url()).await;
    let key = "{moving}n";
    let from = cluster.master_of(key).unwrap();
    let to = (0..10).map(|n| cluster.master_of(&format!("{n}")).unwrap()).find(|to| *to != from).unwrap();
    let (source, target) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    let slot = match source.command(&["CLUSTER", "KEYSLOT", key]).unwrap() {
        tickmark_rig::Answer::Int(slot) => slot.to_string(),
        other => panic!("{other:?}"),
    };
    let id = |node: &tickmark_rig::Redis| node.command(&["CLUSTER", "MYID"]).unwrap().text().to_owned();
    let first: Cursor = store.scan(ACCOUNT, "".into(), None, 1).await.unwrap().next.unwrap();

    target.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source)]).unwrap();
    source.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target)]).unwrap();
    for n in 1..=5 {
        store.commit(ACCOUNT, increment(key)).await.unwrap();
        assert_eq!(counter(&store, key).await, n);
    }
    let twice = vec![Query::Get { key: key.into() }, Query::Kind { key: key.into() }];
    store.read(ACCOUNT, twice).await.unwrap();
    for node in [target, source] {
        node.command(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(target)]).unwrap();
    }
    for n in 6..=10 {
        store.commit(ACCOUNT, increment(key)).await.unwrap();
        assert_eq!(counter(&store, key).await, n);
    }
    assert_eq!(cluster.master_of(key).unwrap(), to);
    let stale = all_keys(&store, Some(first)).await;
    assert!(matches!(stale, Err(Error::BadCursor)), "{stale:?}");
    // While the servers still tell each other, a scan may have to be started again.
    let keys = loop {
        match all_keys(&store, None).await {
            Err(Error::BadCursor) => tokio::time::sleep(Duration::from_millis(20)).await,
            keys => break keys.unwrap(),
        }
    };
    assert_eq!(keys, [Key::from(key)].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_resume_after_a_failover() {
    let settings = Settings { password: Some("secret".to_owned()), ..Settings::default() };
    let mut cluster = Cluster::start_with(&settings).unwrap();
    let url = cluster.url().replace("://", "://:secret@");
    let store = connect(&url).await;
    for n in 0..100 {
        store.commit(ACCOUNT, increment(&n.to_string())).await.unwrap();
    }
    let mut subscription = store.subscribe(ACCOUNT, "c".into()).await.unwrap();
    cluster.wait_until_replicated().unwrap();
    let dead = cluster.master_of("7").unwrap();
    cluster.node_mut(dead).kill().unwrap();

    // The first may have been in flight; every later one waits for the replica.
    let mut unknown = 0;
    loop {
        match store.commit(ACCOUNT, increment("7")).await {
            Ok(_) => break,
            Err(Error::FateUnknown(_)) => unknown += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(unknown <= 1, "{unknown}");
    assert!((1..=3).contains(&counter(&store, "7").await));
    assert_ne!(cluster.master_of("7").unwrap(), dead);
    let many: Vec<_> = (0..100).map(|n| Query::Get { key: Key::from(n.to_string()) }).collect();
    assert_eq!(store.read(ACCOUNT, many).await.unwrap().len(), 100);
    let keys = all_keys(&store, None).await.unwrap();
    assert_eq!(keys.len(), 100);
    store.ping().await.unwrap();

    let publish = Batch::from(vec![Op::Publish { channel: "c".into(), message: (*b"m").into() }]);
    loop {
        store.commit(ACCOUNT, publish.clone()).await.unwrap();
        match tokio::time::timeout(Duration::from_millis(200), subscription.next()).await {
            Ok(Some(Event::Message(_))) => break,
            Ok(Some(Event::Gap)) | Err(_) => {}
            Ok(None) => panic!("the subscription ended"),
        }
    }
}
