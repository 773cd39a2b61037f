//! Fetching a day of seconds: 86,400 points.

use std::fmt::Write;

use tickmark_rig::{Redis, Settings};

use super::{COUNT_GRANULARITIES, START, post};
use crate::measure::{median_of, ratio, timed};
use crate::peer::{Peer, Pipe};
use crate::program::Program;

const POINTS: u64 = 86_400;

pub fn run() {
    let directory = crate::store::directory();
    let program = Program::serve(&directory.path().join("store"), &[]);
    let mut body = String::new();
    for at in START..START + POINTS {
        let _ = writeln!(body, "day n={} {at}", at % 7 + 1);
    }
    post(&program.url("/write?precision=s"), "text/plain", body.as_bytes());
    let url = program.url(&format!("/v1/series/day:n/points?granularity=1sec&from={START}&to={}", START + POINTS - 1));
    let ours = median_of(5, || {
        let (took, answer) = timed(|| {
            ureq::get(&url).call().expect("an answer").body_mut().with_config().limit(1 << 30).read_to_string()
        });
        let answer = answer.expect("points");
        assert_eq!(answer.matches("timestamp").count() as u64, POINTS);
        took
    });
    program.stop();
    let theirs = seed();
    println!("  {:52} {ours:>12.2?}", "tickmark, JSON over HTTP");
    println!("  {:52} {theirs:>12.2?}", "the seed's MULTI and HGET, piped");
    ratio("tickmark to that", ours, theirs);
}

fn seed() -> std::time::Duration {
    let redis = Redis::start_with(&Settings::default()).expect("a Redis");
    let mut peer = Peer::connect(redis.port());
    let (name, bucket, group, _) = COUNT_GRANULARITIES[0];
    let key = |at: u64| format!("day:n:{name}:{}", at / group * group);
    let mut write = Pipe::default();
    let mut read = Pipe::default();
    read.command(&["MULTI"]);
    for at in START..START + POINTS {
        let field = (at / bucket * bucket).to_string();
        write.command(&["HINCRBY", &key(at), &field, &(at % 7 + 1).to_string()]);
        read.command(&["HGET", &key(at), &field]);
    }
    read.command(&["EXEC"]);
    // The transaction's answer: a line of its own, and two for each value.
    read.expect_lines(1 + POINTS as usize + 1 + 2 * POINTS as usize);
    peer.run(&write);
    median_of(5, || timed(|| peer.run(&read)).0)
}
