//! How fast lines become increments, on one core: 1,000,000 events over 1,000 series in one hour.
//!
//! `cargo run --release -p tickmark-server --example line_protocol`

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use tickmark_engine::series::{Catalog, Memory};
use tickmark_server::line_protocol::{Defaults, Precision, Strings, tally};
use tickmark_store::Account;
use tickmark_store::embedded::{EmbeddedStore, Options};

const EVENTS: u64 = 1_000_000;
const SERIES: u64 = 1_000;
const ROUNDS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let text = lines();
    let store = Arc::new(EmbeddedStore::in_memory(&Options::default()).expect("a store in memory opens"));
    let catalog = Catalog::new(store);
    println!("{EVENTS} lines, {} bytes", text.len());
    for _ in 0..ROUNDS {
        let defaults = Defaults { precision: Precision::Nanoseconds, now: 0, strings: Strings::Count };
        let begun = Instant::now();
        let tally = tally(&text, defaults).expect("every line is right");
        let parsed = begun.elapsed();
        let closing = Instant::now();
        let tallied = tally.close().expect("every sum fits");
        let sorted = closing.elapsed();
        let planning = Instant::now();
        let writing = catalog.count(Account(0), &tallied, Memory::Trusted).await.expect("the store answers");
        let planned = planning.elapsed();
        let whole = begun.elapsed();
        let ops: usize = writing.parts.iter().map(|part| part.batch.ops.len()).sum();
        let rate = EVENTS as f64 / whole.as_secs_f64() / 1e6;
        println!(
            "parsed {parsed:?}, sorted {sorted:?}, rolled up {planned:?}: {rate:.2} million events a second ({ops} operations)"
        );
    }
}

/// Series and times in no order, from a fixed seed.
fn lines() -> String {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for _ in 0..EVENTS {
        let (series, second, nanosecond) = (random(SERIES), random(3_600), random(1_000_000_000));
        let _ = writeln!(text, "ev,s=item{series} n=1i {}{nanosecond:09}", 1_700_000_000 + second);
    }
    text
}
