//! What every engine must do, whatever it keeps its data in.
//!
//! An engine passes by calling [`run`] on an open store from a test of about twenty lines. Each case works on keys of
//! its own, under one hash tag, so that the cases neither meet each other nor what was there before, and a Redis
//! Cluster can be held to them too. A case that fails is named, and the others still run.

mod accounts;
mod atomicity;
mod concurrency;
mod expiry;
mod guards;
mod hashes;
mod hyperloglogs;
mod input;
mod lists;
mod pubsub;
mod scans;
mod sets;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod subject;
mod types;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;

use crate::Store;
use subject::Subject;

/// One promise of the vocabulary.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    run: fn(Subject) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Names functions as the cases of a file.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        pub(super) const CASES: &[super::Case] = &[$(super::Case {
            name: concat!(module_path!(), "::", stringify!($case)),
            run: |subject| Box::pin($case(subject)),
        }),+];
    };
}
use cases;

/// A value that must look like this.
macro_rules! assert_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)? $(, $($why:tt)+)?) => {
        match $value {
            $pattern $(if $guard)? => {}
            other => panic!("expected {}, got {other:?}{}", stringify!($pattern), assert_matches!(@why $($($why)+)?)),
        }
    };
    (@why) => { String::new() };
    (@why $($why:tt)+) => { format!(": {}", format_args!($($why)+)) };
}
use assert_matches;

const AREAS: &[&[Case]] = &[
    strings::CASES,
    hashes::CASES,
    sets::CASES,
    sorted_sets::CASES,
    sorted_ranges::CASES,
    lists::CASES,
    hyperloglogs::CASES,
    expiry::CASES,
    guards::CASES,
    types::CASES,
    atomicity::CASES,
    scans::CASES,
    pubsub::CASES,
    input::CASES,
    accounts::CASES,
    concurrency::CASES,
];

/// Runs every case on an open store. Panics at the end with the names of those that failed.
pub async fn run(store: Arc<dyn Store>) {
    let mut failed = Vec::new();
    let mut count = 0;
    let start = Instant::now();
    for case in AREAS.iter().copied().flatten() {
        let name = case.name.rsplit("conformance::").next().unwrap_or(case.name);
        let subject = Subject::new(Arc::clone(&store), name);
        count += 1;
        if AssertUnwindSafe((case.run)(subject)).catch_unwind().await.is_err() {
            eprintln!("failed: {name}");
            failed.push(name);
        }
    }
    println!("{count} cases in {:?}", start.elapsed());
    assert!(failed.is_empty(), "{} of {count} cases failed: {}", failed.len(), failed.join(", "));
}
