//! Live updates as Server-Sent Events.
//!
//! A topic is a channel of an account and a way to read where things stand. However many listen, a server holds one
//! subscription and one task per topic: it reads again when something was published, at most four times a second, and puts
//! the result where every connection sees it. A connection has a slot, not a queue: one that is slow finds the newest state
//! in it and has skipped what was between. Servers on the same store hear each other through the store's channels.

mod frame;
mod guest;
mod stream;
mod topic;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use bytes::Bytes;
use tickmark_store::{Account, Key, Store};
use tokio::sync::{Semaphore, watch};

use crate::access::{Access, Identity};
use crate::problem::{Problem, Result, Word};
use frame::Frame;
use guest::Guest;
use topic::Topic;

/// An account, a channel, and what is looked at when the channel tells of something.
type TopicName = (Account, Key, Box<str>);
type Topics = Arc<Mutex<HashMap<TopicName, watch::Sender<Arc<Frame>>>>>;

/// All topics that someone on this server listens to.
#[derive(Debug)]
pub struct Live {
    store: Arc<dyn Store>,
    access: Arc<Access>,
    topics: Topics,
    listeners: Arc<Semaphore>,
    listeners_max: usize,
    /// Becomes true when the server stops: then every stream ends.
    stopping: watch::Sender<bool>,
}

impl Live {
    pub(crate) fn new(store: Arc<dyn Store>, access: Arc<Access>, listeners_max: usize) -> Self {
        Self {
            store,
            access,
            topics: Topics::default(),
            listeners: Arc::new(Semaphore::new(listeners_max.min(Semaphore::MAX_PERMITS))),
            listeners_max,
            stopping: watch::Sender::new(false),
        }
    }

    /// Answers with the state of a channel of the listener's account, now and whenever it changes, for as long as the
    /// listener would be let in.
    ///
    /// `snapshot` returns JSON without line breaks. Everyone on a topic is served by the snapshot of whoever came first, so
    /// it must depend on the account and the channel alone.
    pub async fn listen<S, F>(&self, identity: Identity, channel: Key, snapshot: S) -> Result<Response>
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Bytes>> + Send + 'static,
    {
        self.listen_to(identity, channel, "", snapshot).await
    }

    /// The same where one channel tells of several things to look at: `snapshot` may depend on the view too.
    pub async fn listen_to<S, F>(&self, identity: Identity, channel: Key, view: &str, snapshot: S) -> Result<Response>
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Bytes>> + Send + 'static,
    {
        let permit = Arc::clone(&self.listeners).try_acquire_owned().map_err(|_| {
            let detail = format!("All {} live connections are taken.", self.listeners_max);
            Problem::new(Word::TooManyListeners, detail).retry_after_s(5)
        })?;
        let account = identity.account;
        let topic = (account, channel, view.into());
        let slot = match self.joined(&topic) {
            Some(slot) => slot,
            None => self.open(topic, snapshot).await?,
        };
        let guest = Guest::new(identity, Arc::clone(&self.access), permit);
        Ok(stream::response(slot, self.stopping.subscribe(), guest))
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    fn joined(&self, topic: &TopicName) -> Option<watch::Receiver<Arc<Frame>>> {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.get(topic).map(watch::Sender::subscribe)
    }

    async fn open<S, F>(&self, name: TopicName, snapshot: S) -> Result<watch::Receiver<Arc<Frame>>>
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Bytes>> + Send + 'static,
    {
        // Subscribed before read, so that no change falls between the two.
        let subscription = self.store.subscribe(name.0, name.1.clone()).await?;
        let first = Arc::new(Frame::new(0, &snapshot().await?));
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = topics.get(&name) {
            return Ok(sender.subscribe());
        }
        let (sender, slot) = watch::channel(first);
        topics.insert(name.clone(), sender.clone());
        let topic = Topic { name, topics: Arc::clone(&self.topics), sender, subscription };
        tokio::spawn(topic.run(snapshot, self.stopping.subscribe()));
        Ok(slot)
    }
}
