//! A store that counts what is asked of it, whichever engine it is.
//!
//! What only an engine knows (syncs, sizes of logs and caches, expired keys) it counts itself, through the same facade.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use metrics::{Counter, Histogram};
use tickmark_store::{
    Account, Batch, Cursor, Error, Key, KeyPage, Placement, Query, Reply, Result, Store, Subscription,
};

#[derive(Debug)]
pub(crate) struct Metered {
    store: Arc<dyn Store>,
    guards_failed: Counter,
    commit_operations: Histogram,
    commit_seconds: Histogram,
    read_seconds: Histogram,
}

impl Metered {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            guards_failed: metrics::counter!("tickmark_commit_guards_failed_total"),
            commit_operations: metrics::histogram!("tickmark_commit_operations"),
            commit_seconds: metrics::histogram!("tickmark_commit_seconds"),
            read_seconds: metrics::histogram!("tickmark_read_seconds"),
        }
    }

    fn note<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            if matches!(error, Error::GuardFailed { .. }) {
                self.guards_failed.increment(1);
            } else {
                metrics::counter!("tickmark_store_errors_total", "error" => name(error)).increment(1);
            }
        }
        outcome
    }
}

#[async_trait]
impl Store for Metered {
    fn placement(&self) -> Placement {
        self.store.placement()
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        let (ops, started) = (batch.ops.len(), Instant::now());
        let outcome = self.store.commit(account, batch).await;
        if outcome.is_ok() {
            self.commit_operations.record(ops as f64);
            self.commit_seconds.record(started.elapsed());
        }
        self.note(outcome)
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        let started = Instant::now();
        let outcome = self.store.read(account, queries).await;
        self.read_seconds.record(started.elapsed());
        self.note(outcome)
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        self.note(self.store.scan(account, prefix, cursor, limit).await)
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        self.note(self.store.subscribe(account, channel).await)
    }

    async fn ping(&self) -> Result<()> {
        self.note(self.store.ping().await)
    }

    async fn close(&self) -> Result<()> {
        self.note(self.store.close().await)
    }
}

/// All that [`name`] says.
pub(super) const ERRORS: &[&str] =
    &["unavailable", "fate_unknown", "poisoned", "closed", "corrupt", "io", "defect", "no_such_account", "refused"];

/// What input got wrong is one kind; what can be wrong with a store is several.
fn name(error: &Error) -> &'static str {
    match error {
        Error::Unavailable(_) => "unavailable",
        Error::FateUnknown(_) => "fate_unknown",
        Error::Poisoned(_) => "poisoned",
        Error::Closed => "closed",
        Error::Corrupt(_) | Error::Format { .. } => "corrupt",
        Error::Io { .. } => "io",
        Error::CrossSlot { .. } | Error::Shape { .. } => "defect",
        Error::NoSuchAccount { .. } => "no_such_account",
        _ => "refused",
    }
}
