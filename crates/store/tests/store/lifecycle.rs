//! Opening, expiring and ending an embedded store, at any time of day.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tickmark_store::embedded::{Clock, Durability, EmbeddedStore, MEMORY_BYTES_MIN, Options};
use tickmark_store::{
    Account, AddWhen, Atom, Batch, Error, Event, Expiry, Key, Kind, Number, Op, Order, Query, Reply, ScoreRange, Store,
};

const ACCOUNT: Account = Account(0);

fn options(clock: Clock) -> Options {
    Options { memory_bytes: MEMORY_BYTES_MIN, clock, ..Options::default() }
}

fn key(number: u64) -> Key {
    Key::from(format!("key:{number}"))
}

async fn kind(store: &EmbeddedStore, number: u64) -> Option<Kind> {
    store.read(ACCOUNT, vec![Query::Kind { key: key(number) }]).await.unwrap().remove(0).kind().unwrap()
}

#[tokio::test]
async fn a_killed_process_loses_nothing_whatever_the_durability() {
    for durability in [Durability::Always, Durability::Interval, Durability::Os] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { durability, ..options(Clock::System) };
        let store = EmbeddedStore::open(directory.path(), &options).unwrap();
        for number in 0..100 {
            let op = Op::Increment { key: key(number % 7), by: Number::Int(1) };
            store.commit(ACCOUNT, Batch::new().op(op)).await.unwrap();
        }
        store.abandon();
        let store = EmbeddedStore::open(directory.path(), &options).unwrap();
        let queries = (0..7).map(|number| Query::Get { key: key(number) }).collect();
        let counts = store.read(ACCOUNT, queries).await.unwrap().into_iter();
        let counts: i64 = counts.map(|count| count.value().unwrap().unwrap().as_int().unwrap()).sum();
        assert_eq!(counts, 100, "{durability:?}");
    }
}

/// Opens the store with the clock at a time.
fn open_at(path: &Path, clock: &Arc<AtomicU64>, now_ms: u64) -> EmbeddedStore {
    clock.store(now_ms, Ordering::SeqCst);
    EmbeddedStore::open(path, &options(Clock::Manual(Arc::clone(clock)))).unwrap()
}

#[tokio::test]
async fn what_has_expired_is_unseen_at_once_and_swept_soon() {
    const KEYS: u64 = 300;
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let store = open_at(directory.path(), &clock, 1_000);
    for number in 0..KEYS {
        let batch = Batch::new()
            .op(Op::Set { key: key(number), value: Atom::from("x") })
            .op(Op::ExpireIn { key: key(number), ms: 500 });
        store.commit(ACCOUNT, batch).await.unwrap();
    }
    // Every third lives on, every ninth for ever.
    for number in (0..KEYS).step_by(3) {
        let op = if number % 9 == 0 {
            Op::Persist { key: key(number) }
        } else {
            Op::ExpireIn { key: key(number), ms: 9_000 }
        };
        store.commit(ACCOUNT, Batch::new().op(op)).await.unwrap();
    }
    store.close().await.unwrap();

    let store = open_at(directory.path(), &clock, 1_499);
    assert_eq!(kind(&store, 1).await, Some(Kind::String));
    clock.store(1_500, Ordering::SeqCst);
    for number in 0..KEYS {
        assert_eq!(kind(&store, number).await.is_some(), number % 3 == 0, "key {number}");
    }
    assert_eq!(crate::dump::keys(&store, ACCOUNT, "").await.len() as u64, KEYS / 3);

    // With the clock back, only what was not swept is seen: in the end, what had not expired.
    let mut waited = Duration::ZERO;
    loop {
        clock.store(1_000, Ordering::SeqCst);
        let left = crate::dump::keys(&store, ACCOUNT, "").await.len() as u64;
        clock.store(1_500, Ordering::SeqCst);
        if left == KEYS / 3 {
            break;
        }
        assert!(waited < Duration::from_secs(20), "{left} keys are left");
        tokio::time::sleep(Duration::from_millis(50)).await;
        waited += Duration::from_millis(50);
    }

    // Sweeping went through the log: a crash does not bring anything back.
    store.abandon();
    let store = open_at(directory.path(), &clock, 1_000);
    assert_eq!(crate::dump::keys(&store, ACCOUNT, "").await.len() as u64, KEYS / 3);
    let expiry = store.read(ACCOUNT, vec![Query::Expiry { key: key(9) }, Query::Expiry { key: key(3) }]).await.unwrap();
    let expiry: Vec<Expiry> = expiry.into_iter().map(|reply| reply.expiry().unwrap()).collect();
    assert_eq!(expiry, [Expiry::Never, Expiry::AtMs(10_000)]);
}

#[tokio::test]
async fn a_closed_store_lets_go_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path(), &options(Clock::System)).unwrap();
    let mut heard = store.subscribe(ACCOUNT, Key::from("news")).await.unwrap();
    let batch = Batch::new()
        .op(Op::Set { key: key(0), value: Atom::from("x") })
        .op(Op::Publish { channel: Key::from("news"), message: b"x".as_slice().into() });
    store.commit(ACCOUNT, batch.clone()).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(heard.next().await, Some(Event::Message(b"x".as_slice().into())));
    assert_eq!(heard.next().await, None);
    assert!(matches!(store.commit(ACCOUNT, batch).await, Err(Error::Closed)));
    assert!(matches!(store.read(ACCOUNT, vec![Query::Kind { key: key(0) }]).await, Err(Error::Closed)));
    assert!(matches!(store.ping().await, Err(Error::Closed)));
    assert!(matches!(store.close().await, Err(Error::Closed)));
    let again = EmbeddedStore::open(directory.path(), &options(Clock::System)).unwrap();
    assert_eq!(kind(&again, 0).await, Some(Kind::String));
}

/// More members than memory may hold, changed at random, through checkpoints and crashes.
#[tokio::test]
async fn a_set_larger_than_memory_keeps_every_member_through_crashes() {
    const MEMBERS: u32 = 60_000;
    let directory = tempfile::tempdir().unwrap();
    let options = options(Clock::System);
    let mut store = EmbeddedStore::open(directory.path(), &options).unwrap();
    let (mut rng, mut model) = (fastrand::Rng::with_seed(3), BTreeMap::new());
    let sorted = || Key::from("sorted");
    for round in 0..40 {
        let members: Vec<_> = (0..5_000).map(|_| (rng.u32(..MEMBERS), f64::from(rng.u32(..1_000)))).collect();
        let gone: Vec<_> = (0..500).map(|_| rng.u32(..MEMBERS)).collect();
        model.extend(members.iter().copied());
        for member in &gone {
            model.remove(member);
        }
        let name = |member: u32| Atom::from(format!("viewer:{member}"));
        let added = members.into_iter().map(|(member, score)| (name(member), score)).collect();
        let batch = Batch::new()
            .op(Op::SortedAdd { key: sorted(), when: AddWhen::Always, members: added })
            .op(Op::SortedRemove { key: sorted(), members: gone.into_iter().map(name).collect() });
        store.commit(ACCOUNT, batch).await.unwrap();
        if round % 9 == 8 {
            store.abandon();
            store = EmbeddedStore::open(directory.path(), &options).unwrap();
        }
    }
    store.close().await.unwrap();
    drop(store);

    let store = EmbeddedStore::open(directory.path(), &options).unwrap();
    let range = ScoreRange::inclusive(250.0, 499.0);
    let queries = vec![
        Query::SortedLen { key: sorted() },
        Query::SortedCount { key: sorted(), range },
        Query::SortedRange {
            key: sorted(),
            range: ScoreRange::ALL,
            order: Order::Ascending,
            offset: 0,
            limit: u64::MAX,
        },
    ];
    let mut replies = store.read(ACCOUNT, queries).await.unwrap().into_iter();
    assert_eq!(replies.next(), Some(Reply::Count(model.len() as u64)));
    let within = model.values().filter(|score| range.contains(**score)).count();
    assert_eq!(replies.next(), Some(Reply::Count(within as u64)));
    let mut expected: Vec<_> = model.into_iter().map(|(member, score)| (format!("viewer:{member}"), score)).collect();
    expected.sort_by(|(a, a_score), (b, b_score)| a_score.total_cmp(b_score).then_with(|| a.cmp(b)));
    let expected: Vec<_> = expected.into_iter().map(|(member, score)| (Atom::from(member), score)).collect();
    assert_eq!(replies.next(), Some(Reply::Scored(expected)));
}
