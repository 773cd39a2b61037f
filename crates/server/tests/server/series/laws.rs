//! What must hold for any events: together or one by one, in any order, read back or added up by hand.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::stores::dump;
use crate::running::Running;

#[derive(Clone, Debug)]
struct Event {
    series: usize,
    at: i64,
    n: i64,
}

impl Event {
    fn line(&self) -> String {
        format!("{{\"series\":\"s{}\",\"at\":{},\"n\":{}}}\n", self.series, self.at, self.n)
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..3_usize, prop_oneof![0..200_i64, 0..2_000_000_000_i64], -5..6_i64);
    prop::collection::vec(event.prop_map(|(series, at, n)| Event { series, at, n }), 1..25)
}

fn check(law: impl AsyncFn(Vec<Event>) -> Result<(), TestCaseError>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    runner.run(&events(), |events| runtime.block_on(law(events))).unwrap();
}

#[test]
fn a_batch_is_its_events_one_by_one_in_any_order() {
    check(async |events| {
        let (together, apart) = (Running::open().await, Running::open().await);
        let body: String = events.iter().map(Event::line).collect();
        let answer = together.client().ndjson("/v1/events", &body).await;
        prop_assert_eq!(answer.json()["accepted"].as_u64(), Some(events.len() as u64));
        for event in events.iter().rev() {
            apart.client().ndjson("/v1/events", &event.line()).await;
        }
        prop_assert_eq!(dump(&together.store).await, dump(&apart.store).await);
        Ok(())
    });
}

#[test]
fn lines_and_json_count_the_same() {
    check(async |events| {
        let (json, lines) = (Running::open().await, Running::open().await);
        let body: String = events.iter().map(Event::line).collect();
        json.client().ndjson("/v1/events", &body.replace("\"s", "\"s:").replace("\"s:eries", "\"series")).await;
        let mut text = String::new();
        for Event { series, at, n } in &events {
            let _ = writeln!(text, "s {series}={n}i {at}");
        }
        let request = lines.client().request("POST", "/write?precision=s").body(text);
        prop_assert_eq!(crate::client::send(request).await.status.as_u16(), 204);
        prop_assert_eq!(dump(&json.store).await, dump(&lines.store).await);
        Ok(())
    });
}

#[test]
fn what_is_read_is_what_adding_up_by_hand_gives() {
    check(async |events| {
        let server = Running::open().await;
        let client = server.client();
        let body: String = events.iter().map(Event::line).collect();
        client.ndjson("/v1/events", &body).await;
        for (granularity, seconds) in [("1sec", 1), ("1min", 60), ("1hour", 3_600), ("1day", 86_400)] {
            let mut sums: BTreeMap<(usize, i64), i64> = BTreeMap::new();
            for event in &events {
                *sums.entry((event.series, event.at / seconds * seconds)).or_default() += event.n;
            }
            for ((series, bucket), sum) in sums {
                let name = format!("s{series}");
                prop_assert_eq!(client.values(&name, granularity, bucket, bucket).await, [sum as f64]);
            }
        }
        let whole: i64 = events.iter().filter(|event| event.series == events[0].series).map(|event| event.n).sum();
        let name = format!("s{}", events[0].series);
        prop_assert_eq!(client.total(&name, "from=0&to=2000000000").await, json!(whole));
        Ok(())
    });
}
