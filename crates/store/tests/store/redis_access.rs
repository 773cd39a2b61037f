//! Who may connect to a Redis, how, and to which of its databases.

use std::time::Duration;

use tickmark_rig::{Redis, Settings};
use tickmark_store::redis::{Options, RedisStore};
use tickmark_store::{Account, Batch, Error, Guard, Key, Op, Presence, Store};

fn set(key: &str) -> Batch {
    Batch::from(vec![Op::Set { key: Key::from(key), value: 1.into() }])
}

fn hasty() -> Options {
    Options { patience: Duration::from_secs(2), ..Options::default() }
}

async fn refused(url: &str, options: Options) -> Error {
    match RedisStore::connect(url, options).await {
        Ok(_) => panic!("{url} was accepted"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_password_is_needed_and_never_told() {
    let redis = Redis::start_with(&Settings { password: Some("s3cret/@:".to_owned()), ..Settings::default() }).unwrap();
    let at = |credentials: &str| format!("redis://{credentials}127.0.0.1:{}", redis.port());
    let store = RedisStore::connect(&at(":s3cret%2F%40%3A@"), hasty()).await.unwrap();
    store.commit(Account(1), set("a")).await.unwrap();
    assert!(!format!("{store:?}").contains("s3cret"));
    for wrong in ["", ":wr0ng@", "default:wr0ng@", "ann:wr0ng@"] {
        let error = refused(&at(wrong), hasty()).await;
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert!(!error.to_string().contains("wr0ng"), "{error}");
    }
}

#[tokio::test]
async fn a_user_is_told_at_once_what_it_may_not_do() {
    let users = vec![
        "user ann on >secret ~* &* +@all -@dangerous +restore".to_owned(),
        "user bob on >secret ~* &* +@all -hset -zadd".to_owned(),
        "user eve on >secret ~* &news* +@all".to_owned(),
    ];
    let redis = Redis::start_with(&Settings { users, ..Settings::default() }).unwrap();
    let at = |user: &str| format!("redis://{user}:secret@127.0.0.1:{}", redis.port());
    let ann = RedisStore::connect(&at("ann"), hasty()).await.unwrap();
    ann.commit(Account(0), set("a")).await.unwrap();
    ann.ping().await.unwrap();
    let error = refused(&at("bob"), hasty()).await.to_string();
    assert!(error.contains("hset, zadd"), "{error}");

    let eve = RedisStore::connect(&at("eve"), hasty()).await.unwrap();
    let publish = |channel: &str| Op::Publish { channel: Key::from(channel), message: (*b"m").into() };
    let forbidden = Batch::from(vec![Op::Set { key: "b".into(), value: 1.into() }, publish("private")]);
    let error = eve.commit(Account(0), forbidden).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    let absent = Batch::new().guard(Guard::Key { key: "b".into(), is: Presence::Absent }).op(publish("news"));
    eve.commit(Account(0), absent).await.unwrap();
}

#[tokio::test]
async fn tls_with_a_private_authority() {
    let redis = Redis::start_with(&Settings { tls: true, ..Settings::default() }).unwrap();
    let url = format!("rediss://127.0.0.1:{}", redis.tls_port());
    let root_certificate_pem = redis.certificate().map(str::to_owned);
    let store = RedisStore::connect(&url, Options { root_certificate_pem, ..hasty() }).await.unwrap();
    store.commit(Account(0), set("a")).await.unwrap();
    let mut subscription = store.subscribe(Account(0), "c".into()).await.unwrap();
    let publish = Op::Publish { channel: "c".into(), message: (*b"m").into() };
    store.commit(Account(0), Batch::from(vec![publish])).await.unwrap();
    assert!(subscription.next().await.is_some());
    let error = refused(&url, hasty()).await;
    assert!(matches!(error, Error::Unavailable(_)), "an unknown authority: {error:?}");
}

#[tokio::test]
async fn there_are_as_many_accounts_as_databases() {
    let redis = Redis::start_with(&Settings { databases: 5, ..Settings::default() }).unwrap();
    let store = RedisStore::connect(&redis.url(), hasty()).await.unwrap();
    store.commit(Account(4), set("a")).await.unwrap();
    for account in [5, 6, 1_000, u32::MAX] {
        for error in [
            store.commit(Account(account), set("a")).await.unwrap_err(),
            store.scan(Account(account), "".into(), None, 10).await.unwrap_err(),
        ] {
            let as_it_is = matches!(error, Error::NoSuchAccount { account: named, databases: 5 } if named == account);
            assert!(as_it_is, "{error:?}");
        }
    }
    assert_eq!(redis.command(&["INFO", "keyspace"]).unwrap().text().matches("keys=1").count(), 1);
}

#[tokio::test]
async fn nobody_there() {
    let mut redis = Redis::start().unwrap();
    redis.kill().unwrap();
    let options = Options { patience: Duration::from_millis(300), ..Options::default() };
    for scheme in ["redis", "redis+cluster"] {
        let error = refused(&format!("{scheme}://127.0.0.1:{}", redis.port()), options.clone()).await;
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
    let error = refused("redis://127.0.0.1/7", options).await;
    assert!(matches!(error, Error::BadUrl { .. }), "{error:?}");
}

#[tokio::test]
async fn a_single_redis_is_no_cluster() {
    let redis = Redis::start().unwrap();
    let error = refused(&format!("redis+cluster://127.0.0.1:{}", redis.port()), hasty()).await;
    assert!(error.to_string().contains("Cluster") || error.to_string().contains("cluster"), "{error}");
}
