//! How fast bodies become items: `cargo run --release -p tickmark-server --example intake`.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Instant;

use serde::Deserialize;
use tickmark_server::intake::{Format, each};

const EVENTS: u64 = 1_000_000;

/// Shaped like an event of a series.
#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    series: Cow<'a, str>,
    at: u64,
    n: Option<f64>,
}

fn main() {
    let mut lines = String::new();
    for index in 0..EVENTS {
        let (series, at) = (index % 1_000, 1_700_000_000 + index % 3_600);
        let _ = writeln!(lines, "{{\"series\":\"purchases:item{series}\",\"at\":{at},\"n\":3}}");
    }
    let array = format!("[{}]", lines.trim_end().replace('\n', ","));
    for (name, text, format) in [("NDJSON", &lines, Format::Ndjson), ("JSON array", &array, Format::Json)] {
        let started = Instant::now();
        let mut sum = 0.0;
        let parsed = each(text, format, |_, event: Event<'_>| {
            sum += event.n.unwrap_or(1.0) + event.at as f64 * 1e-12 + event.series.len() as f64;
            Ok(())
        });
        let seconds = started.elapsed().as_secs_f64();
        let rate = EVENTS as f64 / seconds / 1e6;
        println!(
            "{name:>10}: {EVENTS} events, {} bytes, {seconds:.3} s, {rate:.1} M/s ({parsed:?}, {sum:.0})",
            text.len()
        );
    }
}
