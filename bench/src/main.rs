//! Side by side: Tickmark and what a user would otherwise run, in one run on one machine.
//!
//! `cargo xtask bench` runs everything, `cargo xtask bench NAME` one. Figures are rates of this machine at this moment;
//! only the ratios between them mean anything elsewhere.

mod audience;
mod calculations;
mod measure;
mod peer;
mod program;
mod series;
mod store;

use std::process::{Command, ExitCode};

/// The program's own, so that what is measured of a store in this process is what it costs there.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Everything there is to measure. Each runs in a process of its own, so that memory is its own.
const BENCHES: &[(&str, fn(), &str)] = &[
    ("store-increments", store::increments::run, "hash increments in batches, synced, beside piped Redis"),
    ("store-commits", store::commits::run, "single operations from 64 tasks, synced, beside Redis"),
    ("store-open", store::open::run, "opening a store of 10,000,000 fields"),
    ("store-memory", store::memory::run, "resident memory while a store outgrows its budget tenfold"),
    (
        "series-ingest",
        series::ingest::run,
        "1M events of line protocol over HTTP, beside the seed's commands and VictoriaMetrics",
    ),
    ("series-disk", series::disk::run, "a day of one event a second: growth on disk"),
    ("series-fetch", series::fetch::run, "86,400 points, beside the seed's MULTI and HGET"),
    ("audience-heartbeats", audience::heartbeats::run, "1M heartbeats over HTTP, beside the seed's commands"),
    ("audience-reading", audience::reading::run, "who is watching, at 1,000 viewers and at 1,000,000"),
    (
        "calculations-values",
        calculations::values::run,
        "1M values in batches of 10,000 over HTTP, beside the same kept by hand in Redis",
    ),
    ("series-uniques", series::uniques::run, "exact uniques, beside the seed's sorted sets"),
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let [name] = &names[..]
        && let Some((_, run, _)) = BENCHES.iter().find(|(known, ..)| known == name)
    {
        run();
        return ExitCode::SUCCESS;
    }
    if !names.is_empty() {
        eprintln!("usage: cargo xtask bench [NAME]\n");
        BENCHES.iter().for_each(|(name, _, what)| eprintln!("  {name:20} {what}"));
        return ExitCode::from(2);
    }
    let program = std::env::current_exe().expect("this program has a path");
    for (name, _, what) in BENCHES {
        println!("\n{name}: {what}");
        let ended = Command::new(&program).arg(name).status().expect("this program runs again");
        if !ended.success() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
