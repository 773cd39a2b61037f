//! The embedded engine: one process, one directory, nothing to install.
//!
//! Objects live in memory within a budget. A commit is applied there and appended to the log; now and then a checkpoint
//! writes what changed into fjall and cuts the log. `memory:` is the same engine without log and directory.

mod answer;
mod apply;
mod channels;
mod checkpoint;
mod codec;
mod collection;
mod committer;
mod cursor;
mod entry;
mod expiry;
mod keys;
mod log;
mod options;
mod poison;
mod records;
mod recovery;
mod scan;
mod state;
mod transaction;

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};

use crate::limits::{check_batch, check_queries};
use crate::{Account, Batch, Cursor, Error, Key, KeyPage, Query, Reply, Result, Store, Subscription};
use answer::View;
use channels::Channels;
use committer::{Commit, Request};
pub use options::{Clock, Durability, MEMORY_BYTES_DEFAULT, MEMORY_BYTES_MIN, Options};
use poison::Poison;
use records::{Records, is_would_block};
use state::State;

/// Bytes in commits that wait to be written; who comes when it is full waits for a place.
const QUEUE_BYTES_MAX: usize = 512 * 1_024 * 1_024;
/// Elements of a large collection that are looked for on an async thread.
const BRIEF_MAX: usize = 64;
/// How often a reader lets others go first before it waits for a writer on a thread of its own: most writes take less time than
/// going to another thread and back.
const PATIENCE: usize = 4;

pub struct EmbeddedStore {
    /// None once closed: then nothing holds on to the directory.
    shared: RwLock<Option<Arc<Shared>>>,
    requests: Mutex<Option<Sender<Request>>>,
    places: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What readers need; the rest belongs to the committer.
#[derive(Debug)]
struct Shared {
    state: Arc<RwLock<State>>,
    records: Arc<Records>,
    channels: Arc<Channels>,
    poison: Arc<Poison>,
    clock: Clock,
}

impl EmbeddedStore {
    /// Opens the store in a directory, or makes one there.
    pub fn open(directory: &Path, options: &Options) -> Result<Self> {
        Self::start(Some(directory), options)
    }

    /// A store that keeps nothing beyond the process.
    pub fn in_memory(options: &Options) -> Result<Self> {
        Self::start(None, options)
    }

    fn start(directory: Option<&Path>, options: &Options) -> Result<Self> {
        let committer = recovery::recover(directory, options)?;
        let shared = Arc::new(Shared {
            state: Arc::clone(&committer.state),
            records: Arc::clone(&committer.records),
            channels: Arc::clone(&committer.channels),
            poison: Arc::clone(&committer.poison),
            clock: committer.clock.clone(),
        });
        let (requests, accepted) = channel();
        let thread = std::thread::Builder::new()
            .name("tickmark-commit".into())
            .spawn(move || committer.run(&accepted))
            .map_err(|source| Error::Io { doing: "starting a thread".into(), source })?;
        Ok(Self {
            shared: RwLock::new(Some(shared)),
            requests: Mutex::new(Some(requests)),
            places: Arc::new(Semaphore::new(QUEUE_BYTES_MAX)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Lets go of the directory without a checkpoint and leaves the log as it is, as a crash would. For tests of
    /// recovery.
    pub fn abandon(self) {
        let _ = self.send(Request::Abandon);
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::Closed)
    }

    fn send(&self, request: Request) -> Result<()> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.as_ref().and_then(|requests| requests.send(request).ok()).ok_or(Error::Closed)
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn is_shared(&self) -> bool {
        false
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        let bytes = check_batch(&batch)?;
        self.shared()?.poison.check()?;
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let places = u32::try_from(bytes.clamp(1, QUEUE_BYTES_MAX)).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.places).acquire_many_owned(places).await.map_err(|_| Error::Closed)?;
        let (answer, answered) = oneshot::channel();
        self.send(Request::Commit(Commit { account, batch, answer, _place: place }))?;
        let answer = answered.await.map_err(|_| Error::FateUnknown("the writer ended".into()))?;
        answer.map(|(replies, _written)| replies)
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        check_queries(&queries)?;
        let shared = self.shared()?;
        for _ in 0..PATIENCE {
            match shared.read_at_once(account, &queries) {
                AtOnce::Read(replies) => return replies,
                AtOnce::Busy => tokio::task::yield_now().await,
                AtOnce::Blocks => break,
            }
        }
        blocking(move || shared.read(account, &queries)).await
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        let shared = self.shared()?;
        blocking(move || {
            let now_ms = shared.clock.now_ms();
            scan::scan(&*shared.state()?, &shared.records, account, &prefix, cursor.as_ref(), limit, now_ms)
        })
        .await
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        Ok(self.shared()?.channels.subscribe(account, channel))
    }

    async fn ping(&self) -> Result<()> {
        self.shared()?.poison.check()
    }

    async fn close(&self) -> Result<()> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Close(answer))?;
        let closed = answered.await.map_err(|_| Error::Closed)?;
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        let shared = self.shared.write().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        blocking(move || {
            drop(shared);
            thread.map_or(Ok(()), JoinHandle::join).map_err(|_| Error::Poisoned("the writer panicked".into()))
        })
        .await?;
        closed
    }
}

/// What comes of reading without waiting.
enum AtOnce {
    Read(Result<Vec<Reply>>),
    /// Someone is writing.
    Busy,
    /// Something is on disk, or it is too much.
    Blocks,
}

impl Shared {
    /// Answers if everything asked for is in memory and nobody is writing: a disk is nothing for an async thread to wait for.
    fn read_at_once(&self, account: Account, queries: &[Query]) -> AtOnce {
        let Ok(state) = self.state.try_read() else { return AtOnce::Busy };
        let is_missing = |query: &Query| query.keys().iter().any(|key| is_missing(&state, account, key));
        let is_much = |query: &Query| !is_brief(query) && query.keys().iter().any(|key| is_large(&state, account, key));
        if queries.iter().any(|query| is_missing(query) || is_much(query)) {
            return AtOnce::Blocks;
        }
        match self.answer(&state, &Records::OutOfReach, account, queries) {
            Err(error) if is_would_block(&error) => AtOnce::Blocks,
            answered => AtOnce::Read(answered),
        }
    }

    fn read(&self, account: Account, queries: &[Query]) -> Result<Vec<Reply>> {
        let state = self.state()?;
        if !queries.iter().flat_map(Query::keys).any(|key| is_missing(&state, account, key)) {
            return self.answer(&state, &self.records, account, queries);
        }
        drop(state);
        let mut state = self.state.write().map_err(|_| stopped())?;
        state.evict();
        for key in queries.iter().flat_map(Query::keys) {
            state.load(&keys::full_key(account, key.as_bytes()), &self.records)?;
        }
        self.answer(&RwLockWriteGuard::downgrade(state), &self.records, account, queries)
    }

    fn answer(&self, state: &State, records: &Records, account: Account, queries: &[Query]) -> Result<Vec<Reply>> {
        let view = View { state, records, account, now_ms: self.clock.now_ms() };
        queries.iter().map(|query| view.answer(query)).collect()
    }

    fn state(&self) -> Result<RwLockReadGuard<'_, State>> {
        self.state.read().map_err(|_| stopped())
    }
}

fn is_missing(state: &State, account: Account, key: &Key) -> bool {
    state.resident(&keys::full_key(account, key.as_bytes())).is_none()
}

fn is_large(state: &State, account: Account, key: &Key) -> bool {
    let slot = state.resident(&keys::full_key(account, key.as_bytes()));
    slot.and_then(|slot| slot.entry()).is_some_and(|entry| entry.object.large().is_some())
}

/// Whether a question has a short answer however large the collection is.
fn is_brief(query: &Query) -> bool {
    match query {
        Query::HashGetMany { fields: asked, .. } | Query::SortedScores { members: asked, .. } => {
            asked.len() <= BRIEF_MAX
        }
        Query::SortedRange { limit, .. } => *limit <= BRIEF_MAX as u64,
        Query::HashGet { .. } | Query::HashLen { .. } | Query::SortedCount { .. } => true,
        _ => false,
    }
}

fn stopped() -> Error {
    Error::Corrupt("a defect stopped a writer halfway; restart to recover from the log".into())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|failed| Err(Error::Corrupt(format!("a reader failed: {failed}"))))
}

impl std::fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedStore").finish_non_exhaustive()
    }
}

/// A store that is dropped without being closed is closed all the same.
impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}
