//! 1,000,000 heartbeats of 200,000 viewers in 30 sessions: five rounds, half a minute apart. A viewer stays in a session
//! for a while and then goes to another.

use std::time::Duration;

use tickmark_rig::{Redis, Settings};

use super::{Heartbeat, SESSIONS, now_ms};
use crate::measure::{line, median, rate, timed};
use crate::peer::{Peer, Pipe};
use crate::program::Program;
use crate::series::post;

const VIEWERS: u32 = 200_000;
const ROUNDS: u32 = 5;
const HEARTBEATS: usize = (VIEWERS * ROUNDS) as usize;
/// Heartbeats a request.
const REQUEST: usize = 20_000;
const CLIENTS: usize = 3;
const RUNS: usize = 5;

pub fn run() {
    let (mut ours, mut theirs, mut our_bytes, mut their_bytes) = (Vec::new(), Vec::new(), 0, 0);
    // In turns, and the median of each: a run is short, and the machine is shared.
    for _ in 0..RUNS {
        let start_ms = now_ms() - u64::from(ROUNDS) * 30_000;
        let (took, bytes) = tickmark(start_ms);
        ours.push(took);
        our_bytes = bytes.max(our_bytes);
        let (took, bytes) = seed(start_ms);
        theirs.push(took);
        their_bytes = bytes.max(their_bytes);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    line("tickmark, NDJSON over HTTP, three clients, synced", HEARTBEATS, ours);
    line("the seed's commands, piped, no persistence", HEARTBEATS, theirs);
    println!("  {:52} {:>12.1} times", "tickmark to that", rate(HEARTBEATS, ours) / rate(HEARTBEATS, theirs));
    println!("  {:52} {:>12} MiB", "tickmark, resident, the most of all runs", our_bytes >> 20);
    println!("  {:52} {:>12} MiB", "Redis, used_memory", their_bytes >> 20);
    println!("  {:52} {:>12.2} of it", "tickmark's memory", our_bytes as f64 / their_bytes as f64);
    println!("  {:52} {:>12} bytes", "tickmark, resident, a viewer", our_bytes / VIEWERS as usize);
}

fn heartbeats(start_ms: u64) -> impl Iterator<Item = Heartbeat> {
    let mut rng = fastrand::Rng::with_seed(7);
    let phases: Vec<u64> = (0..VIEWERS).map(|_| rng.u64(..30_000)).collect();
    let mut sessions: Vec<u32> = (0..VIEWERS).map(|_| rng.u32(..SESSIONS)).collect();
    (0..ROUNDS).flat_map(move |round| {
        let mut beats: Vec<Heartbeat> = Vec::with_capacity(VIEWERS as usize);
        for user in 0..VIEWERS {
            if rng.f64() < 0.4 {
                sessions[user as usize] = rng.u32(..SESSIONS);
            }
            let at_ms = start_ms + u64::from(round) * 30_000 + phases[user as usize];
            beats.push(Heartbeat { user, session: sessions[user as usize], at_ms });
        }
        beats.sort_unstable_by_key(|beat| beat.at_ms);
        beats
    })
}

fn tickmark(start_ms: u64) -> (Duration, usize) {
    let directory = crate::store::directory();
    let program = Program::serve(&directory.path().join("store"), &[]);
    let mut bodies = vec![String::new(); HEARTBEATS.div_ceil(REQUEST)];
    for (number, beat) in heartbeats(start_ms).enumerate() {
        beat.line(&mut bodies[number / REQUEST]);
    }
    let url = program.url("/v1/audience/expo/heartbeats");
    let (url, bodies) = (&url, &bodies);
    let client = |first: usize| {
        bodies.iter().skip(first).step_by(CLIENTS).for_each(|body| post(url, "application/x-ndjson", body.as_bytes()));
    };
    let all = || std::thread::scope(|scope| (0..CLIENTS).for_each(|first| drop(scope.spawn(move || client(first)))));
    let took = timed(all).0;
    let resident = program.resident_bytes();
    program.stop();
    (took, resident)
}

fn seed(start_ms: u64) -> (Duration, usize) {
    let redis = Redis::start_with(&Settings::default()).expect("a Redis");
    let mut peer = Peer::connect(redis.port());
    let mut pipe = Pipe::default();
    for beat in heartbeats(start_ms) {
        let (user, session, at) = (format!("user:{}", beat.user), format!("session{}", beat.session), beat.at_ms.to_string());
        let member = format!("{user}#{}#{}#{}", beat.ip(), beat.group(), beat.country());
        let viewing = format!("expo#{session}#web#ViewingSession");
        pipe.command(&["ZADD", "expo#Event#Heartbeat", &at, &user]);
        pipe.command(&["ZADD", &format!("{session}#Session#Heartbeat"), &at, &user]);
        pipe.command(&["ZADD", &format!("{viewing}Start"), "NX", &at, &user]);
        pipe.command(&["ZADD", &format!("{viewing}End"), &at, &user]);
        pipe.command(&["ZADD", "expo#Event#Statistics", &at, &member]);
        pipe.command(&["ZADD", &format!("{session}#Session#Statistics"), &at, &member]);
        pipe.command(&["SADD", "expo#EventAttendedUsers", &user]);
        pipe.command(&["SADD", &format!("{session}#SessionAttendedUsers"), &user]);
    }
    let took = timed(|| peer.run(&pipe)).0;
    let info = redis.command(&["INFO", "memory"]).expect("an answer");
    let used = info.text().lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    (took, used.expect("Redis says what it uses"))
}
