use std::fmt::Write;

use serde_json::json;

use super::stores::on_each;
use crate::running::Running;

#[tokio::test]
async fn sums_take_the_coarsest_buckets_that_fit() {
    let server = Running::open().await;
    let client = server.client();
    client.count("a", "{\"at\":0}\n{\"at\":59,\"n\":-3}\n{\"at\":60,\"n\":0.5}\n{\"at\":90000,\"n\":10}").await;
    for (query, total) in [
        ("from=0&to=0", json!(1)),
        ("from=0&to=59", json!(-2)),
        ("from=0&to=60", json!(-1.5)),
        ("from=1&to=100000", json!(7.5)),
        ("granularity=1day&from=5&to=5", json!(-1.5)),
        ("", json!(8.5)),
    ] {
        assert_eq!(client.total("a", query).await, total, "{query}");
    }
}

#[tokio::test]
async fn the_total_of_uniques_is_a_union() {
    let server = Running::open().await;
    let client = server.client();
    let day = 86_400;
    let mut events = String::new();
    for (at, member) in [(0, "max"), (1, "hugo"), (day, "max"), (day + 5, "renata"), (9 * day, "kc"), (10 * day, "max")]
    {
        let _ = writeln!(events, "{{\"at\":{at},\"member\":\"{member}\"}}");
    }
    for kind in ["unique", "unique_approx"] {
        client.put(&format!("/v1/series/{kind}"), &format!("{{\"kind\":\"{kind}\"}}")).await;
        client.count(kind, &events).await;
        for (from, to, total) in [
            (0, 0, 1),
            (0, day - 1, 2),
            (0, 2 * day - 1, 3),
            (1, day, 2),
            (day, 10 * day, 3),
            (0, 20 * day, 4),
            (2 * day, 3 * day, 0),
        ] {
            assert_eq!(client.total(kind, &format!("from={from}&to={to}")).await, total, "{kind} {from} {to}");
        }
    }
}

/// Members of one day, sent in several bodies.
async fn send_members(server: &Running, series: &str, count: u32) {
    const BODY: u32 = 100_000;
    for start in (0..count).step_by(BODY as usize) {
        let mut events = String::new();
        for member in start..count.min(start + BODY) {
            let _ = writeln!(events, "{{\"at\":0,\"member\":\"user:{member}\"}}");
        }
        server.client().count(series, &events).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_members_of_one_day() {
    const EXACT: u32 = 200_000;
    let estimates = std::sync::Mutex::new(Vec::new());
    on_each(async |server| {
        let client = server.client();
        let day = "{\"name\":\"1day\",\"duration\":86400}";
        client.put("/v1/series/exact", &format!("{{\"kind\":\"unique\",\"granularities\":[{day}]}}")).await;
        send_members(server, "exact", EXACT).await;
        send_members(server, "exact", 1_000).await;
        assert_eq!(client.values("exact", "1day", 0, 0).await, [f64::from(EXACT)]);
        let mut found = Vec::new();
        for count in [100, 10_000, 1_000_000] {
            let name = format!("about{count}");
            let declaration = format!("{{\"kind\":\"unique_approx\",\"granularities\":[{day}]}}");
            client.put(&format!("/v1/series/{name}"), &declaration).await;
            send_members(server, &name, count).await;
            let estimate = client.values(&name, "1day", 0, 0).await[0];
            assert!((estimate / f64::from(count) - 1.0).abs() < 0.02, "{count} are estimated as {estimate}");
            found.push(estimate);
        }
        estimates.lock().unwrap().push(found);
    })
    .await;
    let estimates = estimates.into_inner().unwrap();
    assert!(estimates.iter().all(|found| *found == estimates[0]), "{estimates:?}");
}
