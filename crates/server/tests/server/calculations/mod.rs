//! Declared statistics as a client meets them.

mod building;
mod declaring;
mod golden;
mod laws;
mod model;
mod refreshing;
mod refusing;
mod removing;
mod rules;
mod streams;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tickmark_store::embedded::{EmbeddedStore, Options};
use tickmark_store::{Account, Key, Placement, Query, Store};

use crate::client::Client;
use crate::running::Running;

/// A store on disk, for as long as the folder is there.
fn on_disk(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::open(folder.path(), &Options::default()).unwrap())
}

/// A key of the schema, with braces where the store wants them.
fn key(store: &Arc<dyn Store>, before: &str, tag: &str, after: &str) -> Key {
    match store.placement() {
        Placement::Together => Key::from(format!("{before}:{tag}:{after}")),
        Placement::ByTag => Key::from(format!("{before}:{{{tag}}}:{after}")),
    }
}

/// What a hash of the store says, in order.
async fn hash(store: &Arc<dyn Store>, key: Key) -> Vec<String> {
    let fields = store.read(Account(0), vec![Query::HashAll { key }]).await.unwrap().remove(0).fields().unwrap();
    let mut fields: Vec<_> = fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
    fields.sort();
    fields
}

async fn set(store: &Arc<dyn Store>, key: Key) -> Vec<String> {
    let members = store.read(Account(0), vec![Query::SetAll { key }]).await.unwrap().remove(0).members().unwrap();
    let mut members: Vec<_> = members.iter().map(ToString::to_string).collect();
    members.sort();
    members
}

/// Looks until something is so. The deadline is for a test that fails, not for one that is slow.
async fn until<F: AsyncFn() -> Result<(), String>>(look: F) {
    let start = Instant::now();
    loop {
        match look().await {
            Ok(()) => return,
            Err(why) => assert!(start.elapsed() < Duration::from_mins(1), "{why}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Client {
    async fn keep(&self, project: &str, values: &str) {
        let answer = self.ndjson(&format!("/v1/projects/{project}/values"), values).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// The result of a calculation: `python/count/months` of a dimension.
    async fn result(&self, dimension: &str, rest: &str) -> Value {
        let (key, rest) = rest.split_once('/').unwrap();
        let path = format!("/v1/projects/2/dimensions/{dimension}/keys/{key}/calculations/{rest}");
        let answer = self.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    async fn declare(&self, path: &str, calculations: &str) {
        let answer = self.put(&format!("/v1/projects/2/dimensions/{path}"), &declaration(calculations)).await;
        assert!(answer.status.is_success(), "{answer:?}");
    }
}

/// `count=months+weeks,sum=days` as a body.
fn declaration(calculations: &str) -> String {
    let mut of = serde_json::Map::new();
    for part in calculations.split(',').filter(|part| !part.is_empty()) {
        let (calculation, intervals) = part.split_once('=').unwrap();
        of.insert(calculation.to_owned(), intervals.split('+').collect::<Vec<_>>().into());
    }
    serde_json::json!({ "calculations": of }).to_string()
}

/// What a counter of `/metrics` shows.
async fn metric(server: &Running, name: &str) -> f64 {
    let text = server.client().get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap_or("0");
    line.parse().unwrap()
}
