use serde_json::json;
use tickmark_store::{Account, Expiry, Key, Query};

use super::stores::{dump, on_each};
use crate::running::Running;

#[tokio::test]
async fn a_declaration_reads_back() {
    let server = Running::open().await;
    let client = server.client();
    let declaration = json!({
        "series": "a", "kind": "unique",
        "granularities": [
            {"name": "1min", "duration": 60, "ttl": 604_800, "group": 7_200},
            {"name": "week", "calendar": "week", "time_zone": "Europe/Berlin", "ttl": null},
        ],
    });
    let mut sent = declaration.clone();
    sent.as_object_mut().unwrap().remove("series");
    for status in [201, 200] {
        let answer = client.put("/v1/series/a", &sent.to_string()).await;
        assert_eq!((answer.status.as_u16(), answer.json()), (status, declaration.clone()));
    }
    assert_eq!(client.get("/v1/series/a").await.json(), declaration);
}

#[tokio::test]
async fn an_empty_series_may_become_another_kind_and_a_used_one_may_change_how_long_it_keeps() {
    let server = Running::open().await;
    let client = server.client();
    client.put("/v1/series/a", "{\"kind\":\"unique\"}").await;
    assert_eq!(client.put("/v1/series/a", "{}").await.status, 200);
    client.count("a", "{\"at\":0}").await;
    let longer =
        "{\"granularities\":[{\"name\":\"1sec\",\"duration\":1,\"ttl\":9},{\"name\":\"week\",\"calendar\":\"week\"}]}";
    assert_eq!(client.put("/v1/series/a", longer).await.status, 200);
    // The process remembers the old declaration; the guard finds out.
    client.count("a", "{\"at\":0}").await;
    assert_eq!(client.values("a", "1sec", 0, 0).await, [2.0]);
    assert_eq!(client.values("a", "week", 0, 0).await, [1.0]);
}

#[tokio::test]
async fn groups_expire_by_the_wall_clock_and_days_never() {
    let server = Running::open().await;
    server.client().count("a", "{\"at\":0}").await;
    let now_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    for (granularity, seconds) in
        [("1sec", Some(7_200)), ("1min", Some(604_800)), ("1hour", Some(5_184_000)), ("1day", None)]
    {
        let key = Key::from(format!("a:{granularity}:0"));
        let expiry = server.store.read(Account(0), vec![Query::Expiry { key }]).await.unwrap().remove(0);
        match (expiry.expiry().unwrap(), seconds) {
            (Expiry::AtMs(at), Some(seconds)) => {
                let left_ms = u128::from(at) - now_ms;
                assert!((seconds * 1_000 - 60_000..=seconds * 1_000 + 60_000).contains(&left_ms), "{granularity}");
            }
            (Expiry::Never, None) => {}
            other => panic!("{granularity}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_series_leaves_nothing_and_its_neighbours_all() {
    on_each(async |server| {
        let client = server.client();
        client.count("a:b", "{\"at\":0}").await;
        let neighbour = dump(&server.store).await;
        client.put("/v1/series/a", "{\"kind\":\"unique\"}").await;
        client.count("a", "{\"at\":0,\"member\":\"max\"}\n{\"at\":1700000000,\"member\":\"max\"}").await;
        assert_ne!(dump(&server.store).await, neighbour);
        assert_eq!(client.delete("/v1/series/a").await.status, 204);
        assert_eq!(dump(&server.store).await, neighbour);
        client.count("a", "{\"at\":0}").await;
        assert_eq!(client.get("/v1/series/a").await.json()["kind"], "count");
    })
    .await;
}

#[tokio::test]
async fn lists_go_page_by_page() {
    let server = Running::open().await;
    let client = server.client();
    let names = ["a", "ab", "ab:1", "ab:2", "ac", "b"];
    let lines: Vec<_> = names.iter().map(|name| format!("{{\"series\":\"{name}\",\"at\":0}}")).collect();
    client.ndjson("/v1/events", &lines.join("\n")).await;
    for (query, expected, next) in [
        ("", &names[..], json!(null)),
        ("?prefix=ab", &names[1..4], json!(null)),
        ("?prefix=ab&limit=2", &names[1..3], json!("ab:1")),
        ("?prefix=ab&limit=2&after=ab:1", &names[3..4], json!(null)),
        ("?after=b", &[], json!(null)),
        ("?prefix=zz", &[], json!(null)),
        ("?after=a&limit=1", &names[1..2], json!("ab")),
    ] {
        let page = client.get(&format!("/v1/series{query}")).await.json();
        let found: Vec<_> = page["series"].as_array().unwrap().iter().map(|series| series["series"].clone()).collect();
        assert_eq!((found, &page["next"]), (expected.iter().map(|name| json!(name)).collect(), &next), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_first_events_at_once_all_count() {
    on_each(async |server| {
        let client = server.client();
        let writers: Vec<_> = (0..20)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.ndjson("/v1/events", "{\"series\":\"new\",\"at\":0}").await })
            })
            .collect();
        for writer in writers {
            assert_eq!(writer.await.unwrap().status, 200);
        }
        assert_eq!(client.values("new", "1sec", 0, 0).await, [20.0]);
    })
    .await;
}
