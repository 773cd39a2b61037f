//! Opening a store of 10,000,000 fields, after a clean end and after a crash.

use tickmark_store::embedded::EmbeddedStore;
use tickmark_store::{Account, Atom, Batch, Key, Number, Op, Query, Store};

use crate::measure::{disk_bytes, timed};

const FIELDS: i64 = 10_000_000;
const FIELDS_PER_KEY: i64 = 300;
const KEYS_PER_BATCH: i64 = 100;

pub fn run() {
    let directory = super::directory();
    let path = directory.path().join("store");
    let runtime = super::runtime();
    let store = super::open_store(&path);
    runtime.block_on(fill(&store));
    runtime.block_on(store.close()).expect("a clean end");
    drop(store);
    println!("  {FIELDS} fields, {} MiB on disk", disk_bytes(&path) >> 20);

    let (took, store) = timed(|| super::open_store(&path));
    println!("  {:52} {took:>12.2?}", "opened after a clean end");
    runtime.block_on(check(&store));
    runtime.block_on(fill(&store));
    store.abandon();
    let log = disk_bytes(&path.join("log")) >> 20;
    let (took, store) = timed(|| super::open_store(&path));
    println!("  {:52} {took:>12.2?}", format!("opened after a crash, with {log} MiB of log"));
    drop(store);
}

async fn fill(store: &EmbeddedStore) {
    let mut rng = fastrand::Rng::with_seed(2);
    for first in (0..FIELDS / FIELDS_PER_KEY).step_by(usize::try_from(KEYS_PER_BATCH).expect("small")) {
        let op = |key: i64| Op::HashIncrement {
            key: name(key),
            fields: (0..FIELDS_PER_KEY)
                .map(|field| (Atom::Int(key * 300 + field), Number::Int(rng.i64(1..200))))
                .collect(),
        };
        let ops: Vec<Op> = (first..first + KEYS_PER_BATCH).map(op).collect();
        store.commit(Account(0), Batch::from(ops)).await.expect("a commit");
    }
}

async fn check(store: &EmbeddedStore) {
    let query = Query::HashLen { key: name(FIELDS / FIELDS_PER_KEY / 2) };
    let fields = store.read(Account(0), vec![query]).await.expect("an answer").remove(0).count().expect("a count");
    assert_eq!(fields, FIELDS_PER_KEY.cast_unsigned());
}

fn name(key: i64) -> Key {
    Key::from(format!("series:{}:1sec:{}", key % 1_000, key * 300))
}
