//! 1,000,000 hash increments in batches of 10,000 over 1,000 keys, each batch acknowledged when the disk has it.

use std::time::{Duration, Instant};

use tickmark_rig::{Fsync, Redis};
use tickmark_store::{Account, Atom, Batch, Key, Number, Op, Store};

use crate::measure::{line, median_of, ratio, timed};
use crate::peer::{Peer, Pipe};

const INCREMENTS: usize = 1_000_000;
const BATCH: usize = 10_000;
const KEYS: usize = 1_000;

struct Shape {
    name: &'static str,
    /// How many fields each hash has.
    fields: i64,
}

/// A group of a series has at most 300 buckets; a large hash is kept field by field.
const SHAPES: [Shape; 2] =
    [Shape { name: "300 fields a hash", fields: 300 }, Shape { name: "10,000 fields a hash", fields: 10_000 }];

pub fn run() {
    for shape in &SHAPES {
        println!(" {}", shape.name);
        let ours = median_of(3, || embedded(shape));
        line("embedded, always", INCREMENTS, ours);
        for (name, fsync) in [("always", Fsync::Always), ("everysec", Fsync::EverySecond)] {
            let theirs = piped(shape, fsync);
            line(&format!("Redis, piped, appendfsync {name}"), INCREMENTS, theirs);
            ratio(&format!("embedded to Redis {name}"), ours, theirs);
        }
    }
}

fn random_increments(shape: &Shape) -> impl Iterator<Item = (usize, i64)> {
    let mut rng = fastrand::Rng::with_seed(1);
    let fields = shape.fields;
    std::iter::repeat_with(move || (rng.usize(..KEYS), 1_700_000_000 + rng.i64(0..fields))).take(INCREMENTS)
}

fn embedded(shape: &Shape) -> Duration {
    let directory = super::directory();
    let store = super::open_store(&directory.path().join("store"));
    let increments: Vec<_> = random_increments(shape).collect();
    // What a capability does before it commits: one operation a key.
    let batches: Vec<Batch> = increments
        .chunks(BATCH)
        .map(|chunk| {
            let mut keys = vec![Vec::new(); KEYS];
            chunk.iter().for_each(|(key, field)| keys[*key].push((Atom::Int(*field), Number::Int(1))));
            let ops = keys.into_iter().enumerate().filter(|(_, fields)| !fields.is_empty());
            Batch::from(ops.map(|(key, fields)| Op::HashIncrement { key: name(key), fields }).collect::<Vec<_>>())
        })
        .collect();
    super::runtime().block_on(async {
        let start = Instant::now();
        for batch in batches {
            store.commit(Account(0), batch).await.expect("a commit");
        }
        let took = start.elapsed();
        store.close().await.expect("a clean end");
        took
    })
}

fn piped(shape: &Shape, fsync: Fsync) -> Duration {
    let redis = Redis::start_with(&crate::peer::settings(fsync)).expect("a Redis");
    let increments: Vec<_> = random_increments(shape).collect();
    let pipes: Vec<Pipe> = increments
        .chunks(BATCH)
        .map(|chunk| {
            let mut pipe = Pipe::default();
            for (key, field) in chunk {
                pipe.command(&["HINCRBY", &format!("series:{key}:1sec:1700000000"), &field.to_string(), "1"]);
            }
            pipe
        })
        .collect();
    let mut peer = Peer::connect(redis.port());
    timed(|| pipes.iter().for_each(|pipe| peer.run(pipe))).0
}

fn name(key: usize) -> Key {
    Key::from(format!("series:{key}:1sec:1700000000"))
}
