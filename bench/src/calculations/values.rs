//! 1,000,000 values over 1,000 keys in batches of 10,000, three calculations over two intervals, acknowledged when synced.
//!
//! Beside it what one would do by hand in Redis: the value, and the count and the sum of its hour and its day. (That counts a value
//! twice that is sent twice, rounds every sum, and leaves averages and lines to whoever asks.)

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tickmark_rig::{Fsync, Redis, Settings};

use crate::measure::{line, median_of, rate, timed};
use crate::peer::{Peer, Pipe, settings};
use crate::program::Program;
use crate::series::{START, post};

const VALUES: usize = 1_000_000;
const KEYS: usize = 1_000;
const BATCH: usize = 10_000;
/// Seconds between two values of a key.
const EVERY: u64 = 60;
/// Batches under way at once.
const CLIENTS: usize = 2;
const MEMORY: &str = "1GiB";
/// Five commands a value; a fifth of the values is enough to know the rate.
const BY_HAND: usize = VALUES / 5;

const DECLARATION: &str = "{\"calculations\":{\"count\":[\"hours\",\"days\"],\"average\":[\"hours\",\"days\"],\
    \"linear_regression\":[\"hours\",\"days\"]}}";

pub fn run() {
    let bodies = bodies();
    // All values take more memory than the store holds objects in by default; with less it writes them out as it goes.
    for (memory, clients) in [("256MiB", CLIENTS), (MEMORY, 1)] {
        let took = median_of(3, || ours(&bodies, memory, clients));
        line(&format!("tickmark, synced, {memory}, {clients} clients at once"), VALUES, took);
    }
    let ours = median_of(3, || ours(&bodies, MEMORY, CLIENTS));
    line(&format!("tickmark, synced, {MEMORY}, {CLIENTS} clients at once"), VALUES, ours);
    for (name, settings) in [("no persistence", Settings::default()), ("appendfsync always", settings(Fsync::Always))] {
        let took = by_hand(&settings);
        line(&format!("by hand, piped into Redis, {name}"), BY_HAND, took);
        println!("  {:52} {:>12.1} times", "tickmark to that", rate(VALUES, ours) / rate(BY_HAND, took));
    }
}

fn ours(bodies: &[String], memory: &str, clients: usize) -> Duration {
    let directory = crate::store::directory();
    let program = Program::serve(&directory.path().join("store"), &["--memory", memory]);
    let put = ureq::put(program.url("/v1/projects/2/dimensions/jobs")).header("content-type", "application/json");
    assert!(put.send(DECLARATION).expect("an answer").status().is_success());
    let (next, url) = (AtomicUsize::new(0), program.url("/v1/projects/2/values"));
    let took = timed(|| {
        std::thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                        post(&url, "application/x-ndjson", body.as_bytes());
                    }
                });
            }
        });
    });
    program.stop();
    took.0
}

/// Each batch is ten values of every key, one a minute.
fn bodies() -> Vec<String> {
    let values = values().collect::<Vec<_>>();
    let body = |batch: &[(usize, u64, u32)]| {
        let mut body = String::with_capacity(BATCH * 70);
        for (key, at, value) in batch {
            let _ = writeln!(body, "{{\"dimension\":\"jobs\",\"key\":\"key{key}\",\"at\":{at},\"value\":{value}}}");
        }
        body
    };
    values.chunks(BATCH).map(body).collect()
}

/// Which key, when, and how much.
fn values() -> impl Iterator<Item = (usize, u64, u32)> {
    let mut rng = fastrand::Rng::with_seed(5);
    (0..VALUES).map(move |number| (number % KEYS, START + (number / KEYS) as u64 * EVERY, rng.u32(..1_000)))
}

fn by_hand(settings: &Settings) -> Duration {
    let redis = Redis::start_with(settings).expect("a Redis");
    let mut peer = Peer::connect(redis.port());
    let mut pipe = Pipe::default();
    for (key, at, value) in values().take(BY_HAND) {
        let (key, at, value) = (format!("hash:2:jobs:key{key}"), at.to_string(), value.to_string());
        let (hour, day) = (at.parse::<u64>().unwrap_or(0) / 3_600, at.parse::<u64>().unwrap_or(0) / 86_400);
        pipe.command(&["HSET", &format!("{key}:values"), &format!("2023-11-15 00:00:00 +0000 {at}"), &value]);
        for (interval, number) in [("hours", hour.to_string()), ("days", day.to_string())] {
            pipe.command(&["HINCRBY", &format!("{key}:count:{interval}"), &number, "1"]);
            pipe.command(&["HINCRBYFLOAT", &format!("{key}:sum:{interval}"), &number, &value]);
        }
    }
    // HINCRBYFLOAT is answered with a bulk: two lines.
    pipe.expect_lines(BY_HAND * 7);
    timed(|| peer.run(&pipe)).0
}
