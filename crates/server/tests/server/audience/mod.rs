//! Audiences as a client meets them.

mod browser;
mod counting;
mod keeping;
mod listening;
mod locating;
mod refusing;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::client::Client;

/// Now, in seconds.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

impl Client {
    /// Takes heartbeats, a line each.
    pub(super) async fn beat(&self, event: &str, lines: &str) {
        let answer = self.ndjson(&format!("/v1/audience/{event}/heartbeats"), lines).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// What is at a path of an audience.
    pub(super) async fn audience(&self, path: &str) -> Value {
        let slash = if path.is_empty() || path.starts_with('?') { "" } else { "/" };
        let answer = self.get(&format!("/v1/audience{slash}{path}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}
