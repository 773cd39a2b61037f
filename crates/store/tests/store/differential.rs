//! The same random batches and queries to the embedded engine and to a real Redis: every reply, every error and the
//! full contents must be equal, also after the embedded store was closed, or crashed, and opened again.
//!
//! Only sums with decimals may differ in their last bits: Redis adds those in extended precision.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tickmark_rig::Redis;
use tickmark_store::embedded::{EmbeddedStore, MEMORY_BYTES_MIN, Options};
use tickmark_store::redis::{self, RedisStore};
use tickmark_store::{Account, Atom, Error, Expiry, Op, Query, Reply, Result, Store};

use crate::dump::{dump, sorted, sorted_members};
use crate::random::{Random, SOON_MS};

/// Batches hold about four operations each, and as many elements again.
const BATCHES: u32 = 40_000;
const REOPEN_EVERY: u32 = 4_000;
const COMPARE_EVERY: u32 = 8_000;
/// Batches that may make keys expire in a moment; after each the test waits that moment.
const EXPIRING_EVERY: u32 = 400;

fn options() -> Options {
    Options { memory_bytes: MEMORY_BYTES_MIN, ..Options::default() }
}

fn open(directory: &Path) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(directory, &options()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_engine_answers_as_redis_does() {
    let seed = crate::seed();
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let server = Redis::start().unwrap();
    let oracle = RedisStore::connect(&server.url(), redis::Options::default()).await.unwrap();
    let mut embedded = open(directory.path());
    let mut operations = 0;

    for round in 0..BATCHES {
        random.expiring = round % EXPIRING_EVERY == 0;
        let batch = random.batch(now_ms());
        operations += batch.ops.len();
        let (ours, theirs) =
            tokio::join!(embedded.commit(Account(0), batch.clone()), oracle.commit(Account(0), batch.clone()));
        assert_same_outcome(&ours, &theirs, || format!("seed {seed}, batch {round}: {batch:#?}"));
        if random.expiring && batch.ops.iter().any(|op| matches!(op, Op::ExpireAt { .. })) {
            tokio::time::sleep(Duration::from_millis(SOON_MS + 10)).await;
        }

        let queries: Vec<Query> = (0..random.rng.usize(..4)).map(|_| random.query()).collect();
        let (ours, theirs) =
            tokio::join!(embedded.read(Account(0), queries.clone()), oracle.read(Account(0), queries.clone()));
        let ours = ours.map(|replies| comparable(&queries, replies));
        let theirs = theirs.map(|replies| comparable(&queries, replies));
        assert_same_outcome(&ours, &theirs, || format!("seed {seed}, queries {round}: {queries:#?}"));

        if round % REOPEN_EVERY == REOPEN_EVERY - 1 {
            let store = Arc::into_inner(embedded).unwrap();
            if random.rng.bool() {
                store.close().await.unwrap();
                drop(store);
            } else {
                store.abandon();
            }
            embedded = open(directory.path());
        }
        if round % COMPARE_EVERY == COMPARE_EVERY - 1 {
            compare_contents(&*embedded, &oracle, seed).await;
        }
    }
    println!("{BATCHES} batches, {operations} operations");
    compare_contents(&*embedded, &oracle, seed).await;
}

async fn compare_contents(embedded: &dyn Store, oracle: &dyn Store, seed: u64) {
    let (ours, theirs) = tokio::join!(dump(embedded, Account(0)), dump(oracle, Account(0)));
    let (our_keys, their_keys): (Vec<_>, Vec<_>) = (ours.keys().collect(), theirs.keys().collect());
    assert_eq!(our_keys, their_keys, "seed {seed}");
    for ((key, ours), (_, theirs)) in ours.into_iter().zip(theirs) {
        assert_eq!(ours.0, theirs.0, "seed {seed}, key {key}");
        assert!(same_expiry(ours.1, theirs.1), "seed {seed}, key {key}: {:?} and {:?}", ours.1, theirs.1);
        let (ours, theirs) = (sorted_unless_list(ours.0, ours.2), sorted_unless_list(theirs.0, theirs.2));
        assert!(same_reply(&ours, &theirs), "seed {seed}, key {key}: {ours:?} and {theirs:?}");
    }
}

fn sorted_unless_list(kind: tickmark_store::Kind, reply: Reply) -> Reply {
    if kind == tickmark_store::Kind::List { reply } else { sorted_members(reply) }
}

fn comparable(queries: &[Query], replies: Vec<Reply>) -> Vec<Reply> {
    let order = |(query, reply): (&Query, Reply)| match query {
        Query::SetAll { .. } => sorted_members(reply),
        _ => sorted(reply),
    };
    queries.iter().zip(replies).map(order).collect()
}

fn assert_same_outcome(ours: &Result<Vec<Reply>>, theirs: &Result<Vec<Reply>>, what: impl Fn() -> String) {
    let same = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same_reply(ours, theirs))
        }
        (Err(ours), Err(theirs)) => same_error(ours, theirs),
        _ => false,
    };
    assert!(same, "embedded: {ours:?}\nredis: {theirs:?}\n{}", what());
}

/// Errors name the same thing. The spelling of a decimal in them may differ, as sums may.
fn same_error(ours: &Error, theirs: &Error) -> bool {
    match (ours, theirs) {
        (Error::Overflow { key, field, .. }, Error::Overflow { key: their_key, field: their_field, .. }) => {
            key == their_key && field == their_field
        }
        _ => ours.to_string() == theirs.to_string(),
    }
}

fn same_reply(ours: &Reply, theirs: &Reply) -> bool {
    match (ours, theirs) {
        (Reply::Value(ours), Reply::Value(theirs)) => same_option(ours.as_ref(), theirs.as_ref()),
        (Reply::Values(ours), Reply::Values(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| same_option(ours.as_ref(), theirs.as_ref()))
        }
        (Reply::Fields(ours), Reply::Fields(theirs)) => {
            let same = |((field, value), (their_field, their_value)): (&(Atom, Atom), &(Atom, Atom))| {
                field == their_field && same_atom(value, their_value)
            };
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
        }
        (Reply::Expiry(ours), Reply::Expiry(theirs)) => same_expiry(*ours, *theirs),
        _ => ours == theirs,
    }
}

fn same_option(ours: Option<&Atom>, theirs: Option<&Atom>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => same_atom(ours, theirs),
        _ => ours == theirs,
    }
}

fn same_atom(ours: &Atom, theirs: &Atom) -> bool {
    if ours == theirs {
        return true;
    }
    match (ours.as_decimal(), theirs.as_decimal()) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-12 * ours.abs().max(theirs.abs()),
        _ => false,
    }
}

/// The two stores hear "an hour from now" a moment apart.
fn same_expiry(ours: Expiry, theirs: Expiry) -> bool {
    match (ours, theirs) {
        (Expiry::AtMs(ours), Expiry::AtMs(theirs)) => ours.abs_diff(theirs) < 2_000,
        _ => ours == theirs,
    }
}

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}
