//! A store that tells when a write was handed to it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use tickmark_store::{Account, Batch, Cursor, Key, KeyPage, Placement, Query, Reply, Result, Store, Subscription};

use super::turns::Turn;

/// Ends a turn as soon as the first commit is on its way: a store that is in one place writes in the order it was asked.
#[derive(Debug)]
pub(crate) struct Handing {
    store: Arc<dyn Store>,
    turn: Mutex<Option<Turn>>,
}

impl Handing {
    pub(crate) fn new(store: Arc<dyn Store>, turn: Turn) -> Self {
        Self { store, turn: Mutex::new(Some(turn)) }
    }
}

#[async_trait]
impl Store for Handing {
    fn placement(&self) -> Placement {
        self.store.placement()
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        let mut commit = pin!(self.store.commit(account, batch));
        let first = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context))).await;
        drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner).take());
        match first {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => commit.await,
        }
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        self.store.read(account, queries).await
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        self.store.scan(account, prefix, cursor, limit).await
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        self.store.subscribe(account, channel).await
    }

    async fn ping(&self) -> Result<()> {
        self.store.ping().await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
