//! The same answers however values are sent: twice, in any order, in batches of any size, by several at once, with a restart
//! in the middle, declared before or after.

use std::sync::Arc;

use tickmark_rig::{Cluster, Redis};
use tickmark_stats::{Calendar, Interval};
use tickmark_store::Store;

use super::model::Model;
use super::on_disk;
use crate::running::{Running, memory, open, redis};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];
const EVERYTHING: &str = "count=hours+days+weeks+months,sum=hours+days+weeks+months,average=hours+days+weeks+months,\
    standard_deviation=hours+days+weeks+months,linear_regression=hours+days+weeks+months";
const INTERVALS: [Interval; 4] = [Interval::Hours, Interval::Days, Interval::Weeks, Interval::Months];

/// Reproducible numbers, as even as the test needs.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, usize::try_from(self.below(end as u64 + 1)).unwrap());
        }
    }
}

/// Values around the days of 2014 on which the clocks of New York changed.
fn values(dice: &mut Dice) -> Model {
    let mut model = Model::default();
    for _ in 0..600 {
        let key = KEYS[usize::try_from(dice.below(4)).unwrap()];
        let start = [1_394_236_800, 1_414_713_600][usize::try_from(dice.below(2)).unwrap()];
        let micros = (start + dice.below(4 * 86_400)) * 1_000_000 + dice.below(3) * 250_000;
        model.values.insert((key.to_owned(), i64::try_from(micros).unwrap()), dice.below(2_001).cast_signed() - 1_000);
    }
    model
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory() {
    let store = memory();
    however_they_are_sent(1, async || Arc::clone(&store)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    however_they_are_sent(2, async || on_disk(&folder)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis() {
    let single = Redis::start().unwrap();
    let url = single.url();
    however_they_are_sent(3, async || redis(&url).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_cluster() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.url();
    however_they_are_sent(4, async || redis(&url).await).await;
}

async fn however_they_are_sent(seed: u64, reopen: impl AsyncFn() -> Arc<dyn Store>) {
    let mut dice = Dice(seed);
    let model = values(&mut dice);
    let mut lines: Vec<String> = model.values.iter().map(|((key, at), value)| Model::line(key, *at, *value)).collect();
    lines.extend(lines.clone());
    dice.shuffle(&mut lines);
    let (first, second) = lines.split_at(lines.len() / 2);
    let server = Running::start(open(), reopen().await).await;
    assert_eq!(server.client().put("/v1/projects/2", "{\"time_zone\":\"America/New_York\"}").await.status, 201);
    server.client().declare("d/keys/a", EVERYTHING).await;
    send(&server, first, &mut dice).await;

    // Stopped as an operator does; what is remembered is gone, what is stored is not.
    let store = Arc::clone(&server.store);
    server.stop().await;
    let server = if seed == 1 {
        Running::start(open(), store).await
    } else {
        store.close().await.unwrap();
        Running::start(open(), reopen().await).await
    };
    server.client().declare("d", EVERYTHING).await;
    send(&server, second, &mut dice).await;
    send(&server, &lines[..50], &mut dice).await;

    let calendar = Calendar::in_zone("America/New_York").unwrap();
    for key in KEYS {
        for interval in INTERVALS {
            model.check(&server.client(), key, interval, &calendar, "zero").await;
        }
    }
    let skip = "{\"time_zone\":\"America/New_York\",\"gaps\":\"skip\"}";
    assert_eq!(server.client().put("/v1/projects/2", skip).await.status, 200);
    for interval in INTERVALS {
        model.check(&server.client(), "b", interval, &calendar, "skip").await;
    }
    let zone = server.client().put("/v1/projects/2", "{\"time_zone\":\"UTC\"}").await;
    assert_eq!((zone.status.as_u16(), zone.problem().as_str()), (409, "project_has_values"));
    server.stop().await;
}

/// Sends lines in batches of any size, from four clients at once.
async fn send(server: &Running, lines: &[String], dice: &mut Dice) {
    let mut batches = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let size = usize::try_from(1 + dice.below(40)).unwrap().min(rest.len());
        let (batch, others) = rest.split_at(size);
        batches.push(batch.concat());
        rest = others;
    }
    let clients = (0..4).map(|number| {
        let client = server.client();
        let mine: Vec<_> = batches.iter().skip(number).step_by(4).cloned().collect();
        tokio::spawn(async move {
            for batch in mine {
                client.keep("2", &batch).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn a_later_value_replaces_an_earlier_one() {
    let server = Running::open().await;
    let client = server.client();
    client.declare("d", "count=days,sum=days").await;
    let line = |at: &str, value: &str| format!("{{\"dimension\":\"d\",\"key\":\"k\",\"at\":{at},\"value\":{value}}}\n");
    client.keep("2", &(line("0", "0.1") + &line("1", "0.2") + &line("0", "7"))).await;
    assert_eq!(client.result("d", "k/sum/days").await["values"]["1970-01-01"], 7.2);
    client.keep("2", &line("\"1970-01-01T00:00:00.000000Z\"", "0.1")).await;
    assert_eq!(client.result("d", "k/sum/days").await["values"]["1970-01-01"], 0.300_000_000_000_000_04);
    assert_eq!(client.result("d", "k/count/days").await["values"]["1970-01-01"], 2);
    client.keep("2", &(line("0.0000004", "3") + &line("0.000001", "4"))).await;
    assert_eq!(client.result("d", "k/count/days").await["values"]["1970-01-01"], 3);
    assert_eq!(client.result("d", "k/sum/days").await["values"]["1970-01-01"], 7.2);
}
