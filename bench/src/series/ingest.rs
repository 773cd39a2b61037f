//! 1,000,000 events over 1,000 series in an hour, as InfluxDB line protocol over HTTP, acknowledged when synced.

use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tickmark_rig::{Fsync, Redis, Settings};

use super::{COUNT_GRANULARITIES, START, post};
use crate::measure::{line, median_of, rate, timed};
use crate::peer::{Peer, Pipe, settings};
use crate::program::Program;

const EVENTS: usize = 1_000_000;
const SERIES: usize = 1_000;
/// The seed sends seven commands an event; a fifth of the events is enough to know its rate.
const SEED_EVENTS: usize = EVENTS / 5;

pub fn run() {
    let body = lines();
    let ours = median_of(3, || {
        let directory = crate::store::directory();
        let program = Program::serve(&directory.path().join("store"), &[]);
        let took = timed(|| post(&program.url("/write"), "text/plain", body.as_bytes())).0;
        program.stop();
        took
    });
    line("tickmark, one POST, synced", EVENTS, ours);
    let none = seed(&Settings::default());
    let always = seed(&settings(Fsync::Always));
    for (name, took) in [("no persistence", none), ("appendfsync always", always)] {
        line(&format!("the seed's hashes piped into Redis, {name}"), SEED_EVENTS, took);
        println!("  {:52} {:>12.1} times", "tickmark to that", rate(EVENTS, ours) / rate(SEED_EVENTS, took));
    }
    match victoria_metrics(&body) {
        Some(took) => {
            line("VictoriaMetrics, one POST to /write, not synced", EVENTS, took);
            println!("  {:52} {:>12.1} times", "tickmark to that", took.as_secs_f64() / ours.as_secs_f64());
        }
        None => println!("  VictoriaMetrics is not installed (Debian: victoria-metrics)"),
    }
}

/// Which series, and when.
fn events() -> impl Iterator<Item = (usize, u64)> {
    let mut rng = fastrand::Rng::with_seed(4);
    (0..EVENTS as u64).map(move |number| (rng.usize(..SERIES), START * 1_000 + number * 3_600_000 / EVENTS as u64))
}

fn lines() -> String {
    let mut body = String::with_capacity(EVENTS * 40);
    for (series, at_ms) in events() {
        let _ = writeln!(body, "ev,s=item{series} n=1 {at_ms}000000");
    }
    body
}

fn seed(settings: &Settings) -> Duration {
    let redis = Redis::start_with(settings).expect("a Redis");
    let mut peer = Peer::connect(redis.port());
    let mut pipe = Pipe::default();
    for (series, at_ms) in events().step_by(EVENTS / SEED_EVENTS) {
        let at = at_ms / 1_000;
        for (name, bucket, group, ttl) in COUNT_GRANULARITIES {
            let key = format!("ev:s=item{series}:n:{name}:{}", at / group * group);
            pipe.command(&["HINCRBY", &key, &(at / bucket * bucket).to_string(), "1"]);
            if let Some(ttl) = ttl {
                pipe.command(&["EXPIRE", &key, &ttl.to_string()]);
            }
        }
    }
    timed(|| peer.run(&pipe)).0
}

struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn victoria_metrics(body: &str) -> Option<Duration> {
    let directory = crate::store::directory();
    let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let child = Command::new("victoria-metrics")
        .arg(format!("-storageDataPath={}", directory.path().display()))
        .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
        .args(["-retentionPeriod=100y", "-loggerLevel=ERROR"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let _stopped = Stopped(child);
    let start = Instant::now();
    while ureq::get(format!("http://127.0.0.1:{port}/health")).call().is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "VictoriaMetrics does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(timed(|| post(&format!("http://127.0.0.1:{port}/write"), "text/plain", body.as_bytes())).0)
}
