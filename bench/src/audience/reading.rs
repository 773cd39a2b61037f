//! Asking who is watching, with 1,000 viewers and with 1,000,000.

use std::time::Duration;

use super::{Heartbeat, SESSIONS, now_ms};
use crate::measure::{median, timed};
use crate::program::Program;
use crate::series::post;

const REQUEST: u32 = 100_000;
const ASKED: usize = 500;

pub fn run() {
    let directory = crate::store::directory();
    let program = Program::serve(&directory.path().join("store"), &[]);
    for (event, viewers) in [("small", 1_000), ("large", 1_000_000)] {
        fill(&program, event, viewers);
    }
    let agent = ureq::agent();
    for path in ["viewers/active", "statistics/live", "viewers/attended", "viewers/peak"] {
        let urls = ["small", "large"].map(|event| program.url(&format!("/v1/audience/{event}/{path}")));
        // In turns, so that both are asked at the same moments of the machine.
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..ASKED {
            took.iter_mut().zip(&urls).for_each(|(took, url)| took.push(ask(&agent, url)));
        }
        let [small, large] = took.map(median);
        println!("  {:52} {small:>12.1?} at 1,000, {large:.1?} at 1,000,000", path);
    }
    program.stop();
}

fn fill(program: &Program, event: &str, viewers: u32) {
    let declaring = ureq::put(program.url(&format!("/v1/audience/{event}"))).header("content-type", "application/json");
    declaring.send("{\"threshold_seconds\":3600}").expect("an answer");
    let url = program.url(&format!("/v1/audience/{event}/heartbeats"));
    for first in (0..viewers).step_by(REQUEST as usize) {
        let mut body = String::new();
        for user in first..viewers.min(first + REQUEST) {
            Heartbeat { user, session: user % SESSIONS, at_ms: now_ms() - u64::from(user) % 60_000 }.line(&mut body);
        }
        post(&url, "application/x-ndjson", body.as_bytes());
    }
}

fn ask(agent: &ureq::Agent, url: &str) -> Duration {
    timed(|| agent.get(url).call().expect("an answer").body_mut().read_to_string().expect("text")).0
}
