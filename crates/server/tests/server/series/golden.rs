//! The two tables of the contract, on every store, for every way to keep them.

use serde_json::json;
use tickmark_store::{Account, Key, Placement, Query};

use super::stores::on_each;
use crate::running::Running;

const COUNTS: &str = "{\"at\":0}\n{\"at\":1}\n{\"at\":1}\n{\"at\":3}\n{\"at\":61}\n";
const MEMBERS: &str = "{\"at\":0,\"member\":\"user:max\"}\n{\"at\":0,\"member\":\"user:max\"}\n\
    {\"at\":1,\"member\":\"user:hugo\"}\n{\"at\":1,\"member\":\"user:renata\"}\n{\"at\":3,\"member\":\"user:hugo\"}\n\
    {\"at\":61,\"member\":\"user:kc\"}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_of_the_contract() {
    on_each(async |server| {
        undeclared_counts(server).await;
        every_kind(server).await;
        names_of_keys(server).await;
    })
    .await;
}

async fn undeclared_counts(server: &Running) {
    let client = server.client();
    let answer = client.ndjson("/v1/series/purchases:item1/events", COUNTS).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({ "accepted": 5 })), "{answer:?}");
    let points = client.get("/v1/series/purchases:item1/points?granularity=1min&from=59&to=121.5").await;
    let expected = json!({
        "series": "purchases:item1", "kind": "count", "granularity": "1min",
        "points": [{"timestamp": 0, "value": 4}, {"timestamp": 60, "value": 1}, {"timestamp": 120, "value": 0}],
    });
    assert_eq!(points.json(), expected);
    assert_eq!(client.total("purchases:item1", "from=0&to=59").await, 4);
}

async fn every_kind(server: &Running) {
    let client = server.client();
    for (name, declaration, events, minutes) in [
        ("hashes", "{}", COUNTS, [4.0, 1.0, 0.0]),
        ("strings", "{\"layout\":\"string\"}", COUNTS, [4.0, 1.0, 0.0]),
        ("plays", "{\"kind\":\"unique\"}", MEMBERS, [3.0, 1.0, 0.0]),
        ("estimates", "{\"kind\":\"unique_approx\"}", MEMBERS, [3.0, 1.0, 0.0]),
    ] {
        assert_eq!(client.put(&format!("/v1/series/{name}"), declaration).await.status, 201);
        client.count(name, events).await;
        assert_eq!(client.values(name, "1sec", 0, 4).await, [1.0, 2.0, 0.0, 1.0, 0.0], "{name}");
        assert_eq!(client.values(name, "1min", 0, 120).await, minutes, "{name}");
    }
    let many = client.get("/v1/points?series=plays&series=hashes&granularity=1min&from=0&to=0").await.json();
    assert_eq!((&many["series"][0]["points"][0]["value"], &many["series"][1]["series"]), (&json!(3), &json!("hashes")));
    let names: Vec<_> = client.get("/v1/series").await.json()["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["series"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["estimates", "hashes", "plays", "purchases:item1", "strings"]);
}

/// What other programs read, under the names they know.
async fn names_of_keys(server: &Running) {
    let placement = server.store.placement();
    let key = |name: &str, rest: &str| match placement {
        Placement::Together => Key::from(format!("{name}:{rest}")),
        Placement::ByTag => Key::from(format!("{{{name}}}:{rest}")),
    };
    let queries = vec![
        Query::HashGet { key: key("hashes", "1sec:0"), field: 1.into() },
        Query::HashGet { key: key("hashes", "1min:0"), field: 60.into() },
        Query::HashGet { key: key("hashes", "1day:0"), field: 0.into() },
        Query::Get { key: key("strings", "1min:60") },
        Query::SortedScores { key: key("plays", "1min:0"), members: vec!["60:user:kc".into()] },
        Query::HllCount { keys: vec![key("estimates", "1hour:0")] },
    ];
    let replies = server.store.read(Account(0), queries).await.unwrap();
    let found: Vec<_> = replies.into_iter().map(|reply| format!("{reply:?}")).collect();
    let expected =
        ["Value(Some(2))", "Value(Some(1))", "Value(Some(5))", "Value(Some(1))", "Scores([Some(60.0)])", "Count(4)"];
    assert_eq!(found, expected);
}
