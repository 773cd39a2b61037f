//! Counts and uniques as a client meets them.

mod declaring;
mod disk;
mod golden;
mod laws;
mod lines;
mod listening;
mod others;
mod refusing;
mod statsd;
pub(crate) mod stores;
mod totals;

use crate::client::{Answer, Client, send};

impl Client {
    pub(crate) async fn put(&self, path: &str, body: &str) -> Answer {
        send(self.request("PUT", path).header("content-type", "application/json").body(body.to_owned())).await
    }

    pub(crate) async fn ndjson(&self, path: &str, body: &str) -> Answer {
        send(self.request("POST", path).header("content-type", "application/x-ndjson").body(body.to_owned())).await
    }

    /// The values of a series from one time to another.
    pub(crate) async fn values(&self, series: &str, granularity: &str, from: i64, to: i64) -> Vec<f64> {
        let path = format!("/v1/series/{series}/points?granularity={granularity}&from={from}&to={to}");
        let answer = self.get(&path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let points = answer.json()["points"].as_array().unwrap().clone();
        points.iter().map(|point| point["value"].as_f64().unwrap()).collect()
    }

    pub(crate) async fn total(&self, series: &str, query: &str) -> serde_json::Value {
        let answer = self.get(&format!("/v1/series/{series}/total?{query}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["total"].clone()
    }

    pub(crate) async fn count(&self, series: &str, events: &str) {
        let answer = self.ndjson(&format!("/v1/series/{series}/events"), events).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}
