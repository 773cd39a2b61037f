//! Values that continue a key are planned from memory, while those before them are still being written: with several clients, several
//! servers, late values, clocks that go back, and declarations in between, nothing is lost and nothing counted twice.

use std::sync::Arc;

use tickmark_rig::Redis;
use tickmark_stats::{Calendar, Interval};
use tickmark_store::Store;

use super::model::Model;
use super::on_disk;
use crate::running::{Running, memory, open, redis};

const EVERYTHING: &str = "count=minutes+hours+days,sum=minutes+hours+days,average=minutes+hours+days,\
    standard_deviation=minutes+hours+days,linear_regression=minutes+hours+days";
const KEYS: [&str; 3] = ["a", "b", "c"];
const BATCHES: i64 = 60;
const VALUES: i64 = 5;

/// Every 17 minutes from an hour before New York's clocks went back in 2014.
fn batch(number: i64, model: &mut Model) -> String {
    let mut lines = String::new();
    for key in KEYS {
        for value in number * VALUES..(number + 1) * VALUES {
            // Some come late: between those of the batch before.
            let seconds = 1_414_904_400 + value * 1_020 - if value % 11 == 0 { 6_000 } else { 0 };
            lines.push_str(&Model::line(key, seconds * 1_000_000, value * 7 - 100));
            model.values.insert((key.to_owned(), seconds * 1_000_000), value * 7 - 100);
        }
    }
    lines
}

async fn streams(store: Arc<dyn Store>) {
    let servers = [Running::start(open(), Arc::clone(&store)).await, Running::start(open(), Arc::clone(&store)).await];
    let client = servers[0].client();
    assert_eq!(client.put("/v1/projects/2", "{\"time_zone\":\"America/New_York\"}").await.status, 201);
    client.declare("d", "sum=hours").await;
    let mut model = Model::default();
    let batches: Vec<String> = (0..BATCHES).map(|number| batch(number, &mut model)).collect();
    // Most through one server, by two clients at once; now and then one through another.
    for (number, pair) in batches.chunks(2).enumerate() {
        if number == 10 {
            client.declare("d", EVERYTHING).await;
        }
        let other = usize::from(number % 7 == 6);
        let sends = [0, other].into_iter().zip(pair).map(|(server, lines)| {
            let (client, lines) = (servers[server].client(), lines.clone());
            tokio::spawn(async move { client.keep("2", &lines).await })
        });
        for send in sends.collect::<Vec<_>>() {
            send.await.unwrap();
        }
    }
    let calendar = Calendar::in_zone("America/New_York").unwrap();
    for key in KEYS {
        for interval in [Interval::Minutes, Interval::Hours, Interval::Days] {
            model.check(&client, key, interval, &calendar, "zero").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory() {
    streams(memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    streams(on_disk(&folder)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis() {
    let single = Redis::start().unwrap();
    streams(redis(&single.url()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_value_after_the_other_while_clocks_go_back() {
    let server = Running::open().await;
    let client = server.client();
    assert_eq!(client.put("/v1/projects/2", "{\"time_zone\":\"America/New_York\"}").await.status, 201);
    client.declare("d", "sum=minutes+hours,count=minutes").await;
    let mut model = Model::default();
    // From 01:00, which comes again after an hour.
    for number in 0..50 {
        let at = (1_414_904_400 + number * 900) * 1_000_000;
        model.values.insert(("k".to_owned(), at), number);
        client.keep("2", &Model::line("k", at, number)).await;
    }
    let calendar = Calendar::in_zone("America/New_York").unwrap();
    for (calculation, interval) in [("sum", Interval::Minutes), ("count", Interval::Minutes), ("sum", Interval::Hours)]
    {
        let expected = model.result("k", calculation, interval, &calendar, "zero");
        assert_eq!(client.result("d", &format!("k/{calculation}/{interval}")).await, expected);
    }
}
