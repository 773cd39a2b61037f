//! The one trait that every reader must know.

use std::fmt;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{Batch, Cursor, Key, KeyPage, Query, Reply, Result};

/// Whose data. Database `n` on a single Redis, a prefix elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(pub u32);

/// Which keys one batch may touch, and so how keys are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Any keys: the store is in one place. Names are plain.
    Together,
    /// Keys that share a `{tag}`: the store is spread over nodes by it.
    ByTag,
}

impl Placement {
    /// The key whose parts are joined by `:`, with the part that must live together in braces where that matters:
    /// `before:{tag}:after`. Empty parts are left out.
    pub fn key(self, before: &str, tag: &str, after: &str) -> Key {
        let tag = match self {
            Self::Together => tag.to_owned(),
            Self::ByTag => format!("{{{tag}}}"),
        };
        let parts = [before, &tag, after];
        Key::from(parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":"))
    }
}

/// Keeps data structures by key, for many accounts.
///
/// Everything a store promises is in the conformance suite. In short: a commit is written whole or not at all, and
/// answered only when it is as durable as the store was told to make it; a read sees whole batches; an error of a
/// commit means that nothing was written, unless it says that it cannot know.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Which keys one batch may touch.
    fn placement(&self) -> Placement {
        Placement::Together
    }

    /// Whether others read and write the same keys. Where nobody else can, what only they would read need not be kept.
    fn is_shared(&self) -> bool;

    /// One reply an operation, in order.
    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>>;

    /// One reply a query, in order, all of one moment (on Cluster: one moment per slot).
    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>>;

    /// A page of the account's keys that start with a prefix; about `limit` of them, in no order.
    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage>;

    /// What is published on a channel from now on, by any process on this store.
    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription>;

    /// Whether the store would answer and accept writes.
    async fn ping(&self) -> Result<()>;

    /// Writes out what is pending and lets go of the store. Later calls answer [`crate::Error::Closed`].
    async fn close(&self) -> Result<()>;
}

/// What a subscriber hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Message(Box<[u8]>),
    /// Messages may have been missed: the subscriber was slow, or the connection was lost for a while. Read again.
    Gap,
}

/// A bounded queue of events. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscription {
    events: mpsc::Receiver<Event>,
}

/// Events a subscriber may lag behind before it hears of a [`Event::Gap`] instead.
pub const SUBSCRIPTION_EVENTS_MAX: usize = 256;

impl Subscription {
    pub fn new(events: mpsc::Receiver<Event>) -> Self {
        Self { events }
    }

    /// The next event, or `None` once the store is closed.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}
