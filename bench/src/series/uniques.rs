//! Exact uniques: 1,000,000 events of 200,000 members in one series and one hour.

use std::fmt::Write;
use std::time::Duration;

use tickmark_rig::{Redis, Settings};

use super::{START, UNIQUE_GRANULARITIES, post};
use crate::measure::{line, rate, timed};
use crate::peer::{Peer, Pipe};
use crate::program::Program;

const EVENTS: usize = 1_000_000;
const MEMBERS: u32 = 200_000;
const REQUESTS: usize = 100;
const CLIENTS: usize = 2;

pub fn run() {
    let (ours, our_bytes) = tickmark();
    let (theirs, their_bytes) = seed();
    line("tickmark, NDJSON over HTTP, two clients, synced", EVENTS, ours);
    line("the seed's sorted sets, piped, no persistence", EVENTS, theirs);
    println!("  {:52} {:>12.1} times", "tickmark to that", rate(EVENTS, ours) / rate(EVENTS, theirs));
    println!("  {:52} {:>12} MiB", "tickmark, resident", our_bytes >> 20);
    println!("  {:52} {:>12} MiB", "Redis, used_memory", their_bytes >> 20);
    println!("  {:52} {:>12.2} of it", "tickmark's memory", our_bytes as f64 / their_bytes as f64);
}

fn events() -> impl Iterator<Item = (u64, u32)> {
    let mut rng = fastrand::Rng::with_seed(5);
    (0..EVENTS as u64).map(move |number| (START + number * 3_600 / EVENTS as u64, rng.u32(..MEMBERS)))
}

fn tickmark() -> (Duration, usize) {
    let directory = crate::store::directory();
    let program = Program::serve(&directory.path().join("store"), &["--memory", "96MiB"]);
    let mut bodies = vec![String::new(); REQUESTS];
    for (number, (at, member)) in events().enumerate() {
        let _ = writeln!(bodies[number * REQUESTS / EVENTS], "{{\"at\":{at},\"member\":\"user:{member}\"}}");
    }
    let url = program.url("/v1/series/visitors/events");
    let client = |first: usize| {
        bodies.iter().skip(first).step_by(CLIENTS).for_each(|body| post(&url, "application/x-ndjson", body.as_bytes()));
    };
    let all = || std::thread::scope(|scope| (0..CLIENTS).for_each(|first| drop(scope.spawn(move || client(first)))));
    let took = timed(all).0;
    let resident = program.resident_bytes();
    program.stop();
    (took, resident)
}

fn seed() -> (Duration, usize) {
    let redis = Redis::start_with(&Settings::default()).expect("a Redis");
    let mut peer = Peer::connect(redis.port());
    let mut pipe = Pipe::default();
    for (at, member) in events() {
        for (name, bucket, group, ttl) in UNIQUE_GRANULARITIES {
            let key = format!("visitors:{name}:{}", at / group * group);
            let score = at / bucket * bucket;
            pipe.command(&["ZADD", &key, &score.to_string(), &format!("{score}:user:{member}")]);
            if let Some(ttl) = ttl {
                pipe.command(&["EXPIRE", &key, &ttl.to_string()]);
            }
        }
    }
    let took = timed(|| peer.run(&pipe)).0;
    let info = redis.command(&["INFO", "memory"]).expect("an answer");
    let used = info.text().lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    (took, used.expect("Redis says what it uses"))
}
