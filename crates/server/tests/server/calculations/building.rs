//! Declared after the values came: complete, correct, and with a word on how far it is.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::json;
use tickmark_stats::{Calendar, Interval};
use tickmark_store::Store;

use super::model::Model;
use super::{declaration, hash, key, until};
use crate::running::{Running, memory, open};
use crate::series::stores::on_each;

const EVERYTHING: &str = "count=hours+days,sum=hours+days,average=hours+days,standard_deviation=hours+days,\
    linear_regression=hours+days";

/// More than are worked in while someone waits.
const MANY: i64 = 45_000;

fn lines(from: i64, to: i64, model: &mut Model) -> String {
    let mut lines = String::new();
    for number in from..to {
        let (at, value) = (number * 61_000_000, number * 7_919 % 1_009);
        lines.push_str(&Model::line("k", at, value));
        model.values.insert(("k".to_owned(), at), value);
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_key_on_every_store() {
    on_each(async |server| {
        let client = server.client();
        let mut model = Model::default();
        client.keep("2", &lines(0, MANY, &mut model)).await;
        client.declare("d/keys/k", EVERYTHING).await;
        // While it works, values change: replaced, new, and late.
        let mut changed = Model::default();
        for number in (0..MANY).step_by(997) {
            changed.values.insert(("k".to_owned(), number * 61_000_000), -number);
            changed.values.insert(("k".to_owned(), number * 61_000_000 + 1), number);
        }
        for ((of, at), value) in &changed.values {
            client.keep("2", &Model::line(of, *at, *value)).await;
        }
        model.values.extend(changed.values);
        finished(server).await;
        for interval in [Interval::Hours, Interval::Days] {
            model.check(&client, "k", interval, &Calendar::utc(), "zero").await;
        }
        until(async || {
            let store = &server.store;
            let found = hash(store, key(store, "hash", "2:d:k", "count:days")).await;
            if found.len() == 32 { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_was_cut_off_is_done_by_the_next_server() {
    let store = memory();
    let server = Running::start(open(), Arc::clone(&store)).await;
    let mut model = Model::default();
    server.client().keep("2", &lines(0, MANY, &mut model)).await;
    let answer = server.client().put("/v1/projects/2/dimensions/d/keys/k", &declaration(EVERYTHING)).await;
    assert_eq!(answer.status, 200);
    drop(server);
    let server = Running::start(open(), store).await;
    server.client().keep("2", &lines(MANY, MANY + 100, &mut model)).await;
    finished(&server).await;
    model.check(&server.client(), "k", Interval::Hours, &Calendar::utc(), "zero").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_far_it_is() {
    let server = Running::open().await;
    let client = server.client();
    // So many that it is not done before it can be asked.
    let many = 5 * MANY;
    client.keep("2", &lines(0, many, &mut Model::default())).await;
    client.declare("d/keys/k", EVERYTHING).await;
    let view = client.get("/v1/projects/2/dimensions/d/keys/k").await.json();
    assert_eq!((&view["values"], &view["building"]["total"]), (&json!(many), &json!(many)), "{view}");
    assert!(view["building"]["done"].as_i64().unwrap() <= many);
    finished(&server).await;
    assert_eq!(client.get("/v1/projects/2/dimensions/d/keys/k").await.json()["building"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declaration_for_a_dimension_reaches_every_key() {
    on_each(async |server| {
        let (client, store) = (server.client(), &server.store);
        let mut lines = String::new();
        for number in 0..450 {
            let _ = writeln!(lines, "{{\"dimension\":\"d\",\"key\":\"k{number}\",\"at\":{number},\"value\":{number}}}");
        }
        client.keep("2", &lines).await;
        client.declare("d", "sum=days").await;
        assert_eq!(client.result("d", "k449/sum/days").await, json!({ "values": { "1970-01-01": 449 } }));
        client.keep("2", "{\"dimension\":\"d\",\"key\":\"new\",\"at\":5,\"value\":8}").await;
        assert_eq!(client.result("d", "new/sum/days").await, json!({ "values": { "1970-01-01": 8 } }));
        until(async || {
            let found = hash(store, key(store, "hash", "2:d:k7", "sum:days")).await;
            if found == ["1970-01-01=7"] { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
        until(async || {
            let view = client.get("/v1/projects/2/dimensions/d").await.json();
            if view["building"].is_null() && view["keys"] == 451 { Ok(()) } else { Err(view.to_string()) }
        })
        .await;
    })
    .await;
}

async fn finished(server: &Running) {
    until(async || {
        let answer = server.client().get("/v1/projects/2/dimensions/d/keys/k/calculations/sum/hours").await;
        if answer.status == 503 {
            assert_eq!(answer.problem(), "still_building");
            assert!(!answer.header("retry-after").is_empty());
            return Err(answer.text);
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        Ok(())
    })
    .await;
}

/// The size that the contract names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_values() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = super::on_disk(&folder);
    let server = Running::start(open(), store).await;
    let mut model = Model::default();
    for start in (0..1_000_000).step_by(100_000) {
        server.client().keep("2", &lines(start, start + 100_000, &mut model)).await;
    }
    server.client().declare("d/keys/k", EVERYTHING).await;
    let view = server.client().get("/v1/projects/2/dimensions/d/keys/k").await.json();
    assert_eq!(view["building"]["total"], 1_000_000, "{view}");
    finished(&server).await;
    for interval in [Interval::Hours, Interval::Days] {
        model.check(&server.client(), "k", interval, &Calendar::utc(), "zero").await;
    }
}
