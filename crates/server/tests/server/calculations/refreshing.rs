//! The hashes of results follow the values, soon and not too often.

use std::fmt::Write;
use std::sync::Arc;

use super::{hash, key, metric, until};
use crate::running::{Running, memory, open};

const BURST: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_into_one_key_is_a_handful_of_refreshes() {
    let server = Running::start(open(), memory()).await;
    let (client, store) = (server.client(), &server.store);
    client.declare("d", "count=days,sum=minutes,average=hours").await;
    let before = metric(&server, "tickmark_calculation_results_total").await;
    let mut sent = 0;
    while sent < BURST {
        let mut lines = String::new();
        for second in sent..sent + 1_000 {
            let _ = writeln!(lines, "{{\"dimension\":\"d\",\"key\":\"k\",\"at\":{second},\"value\":1}}");
        }
        client.keep("2", &lines).await;
        sent += 1_000;
    }
    until(async || {
        let found = hash(store, key(store, "hash", "2:d:k", "count:days")).await;
        if found == ["1970-01-01=86400", "1970-01-02=13600"] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    let minutes = hash(store, key(store, "hash", "2:d:k", "sum:minutes")).await;
    assert_eq!(minutes.len(), BURST.div_ceil(60));
    assert!(minutes[..minutes.len() - 1].iter().all(|field| field.ends_with("=60")));
    let average = hash(store, key(store, "hash", "2:d:k", "average:hours")).await;
    assert_eq!(average, [format!("average={:?}", BURST as f64 / 28.0)]);
    // Three results, each a few times a second for as long as a slow machine takes; other tests add theirs.
    let recomputed = metric(&server, "tickmark_calculation_results_total").await - before;
    assert!(recomputed < BURST as f64 / 100.0, "{recomputed} results were computed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_server_leaves_another_takes_up() {
    let store = memory();
    let first = Running::start(open(), Arc::clone(&store)).await;
    first.client().declare("d", "sum=days").await;
    first.client().keep("2", "{\"dimension\":\"d\",\"key\":\"k\",\"at\":5,\"value\":8}").await;
    // Gone before it could show the result.
    drop(first);
    let _second = Running::start(open(), Arc::clone(&store)).await;
    until(async || {
        let found = hash(&store, key(&store, "hash", "2:d:k", "sum:days")).await;
        if found == ["1970-01-01=8"] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}
