//! The one thread that writes.
//!
//! It takes whatever commits are waiting, applies them in order, appends one record to the log, syncs once, and answers
//! them all: the more there are, the less each costs. Between groups it keeps house: checkpoints, expiry, memory.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::View;
use super::channels::Channels;
use super::checkpoint::{Checkpoint, Checkpointer};
use super::expiry::Sweeper;
use super::keys::full_key;
use super::log::{Log, put_batch};
use super::options::{Clock, Durability, SYNC_INTERVAL};
use super::poison::Poison;
use super::records::Records;
use super::state::State;
use super::transaction::{Applied, Transaction};
use crate::{Account, Batch, Error, Op, Reply, Result};

/// How long the thread sleeps at most when there is nothing to write.
const TICK: Duration = Duration::from_millis(50);
/// After a group of several, the next waits this long for as many to come back: their tasks have just been answered
/// and will mostly have something more to write. One sync then serves them all instead of the first few.
const GATHER: Duration = Duration::from_micros(150);
/// Elements that one group takes on before it is written; a single larger batch is a group of its own.
const GROUP_ELEMENTS_MAX: usize = 200_000;
/// A log beyond this is cut by a checkpoint. It bounds how long recovery takes.
const LOG_BYTES_MAX: u64 = 32 * 1_024 * 1_024;
/// Shares of the budget for objects. Beyond the first, what is dirty is checkpointed once the log has grown to a part of
/// it: the same few objects changed again and again are not worth writing each time. Beyond the second it is
/// checkpointed whatever the log, and writers wait for the checkpoint before.
const DIRTY_SHARE: usize = 4;
const DIRTY_SHARE_HARD: usize = 2;
const LOG_TO_DIRTY_SHARE: usize = 4;

#[derive(Debug)]
pub(crate) enum Request {
    Commit(Commit),
    Close(oneshot::Sender<Result<()>>),
    /// Stop here and now, as a crash would.
    Abandon,
}

#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) account: Account,
    pub(crate) batch: Batch,
    /// Takes the batch back too: freeing a large one is work that the caller can do as well.
    pub(crate) answer: oneshot::Sender<Result<(Vec<Reply>, Batch)>>,
    /// A place in the queue, given back when the commit is answered.
    pub(crate) _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) state: Arc<RwLock<State>>,
    pub(crate) records: Arc<Records>,
    /// None for a store in memory.
    pub(crate) log: Option<Log>,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) channels: Arc<Channels>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) clock: Clock,
    pub(crate) durability: Durability,
    pub(crate) budget_bytes: usize,
    pub(crate) sweeper: Sweeper,
    /// The position that the checkpoint under way will have.
    pub(crate) flushing_position: u64,
    pub(crate) last_sync: Instant,
    /// Commits in the group before this one.
    pub(crate) last_group: usize,
}

/// A commit that was applied and waits for the log.
struct Waiting {
    commit: Commit,
    replies: Vec<Reply>,
    applied: Applied,
}

impl Committer {
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        loop {
            let close = match requests.recv_timeout(TICK) {
                Ok(Request::Commit(first)) => self.commit_group(first, requests),
                Ok(Request::Close(answer)) => Some(answer),
                Ok(Request::Abandon) => return,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.finish();
                    return;
                }
            };
            if let Some(answer) = close {
                let _ = answer.send(self.finish());
                // Who came too late was not written, and is told so.
                while let Ok(Request::Commit(commit)) = requests.try_recv() {
                    let _ = commit.answer.send(Err(Error::Closed));
                }
                return;
            }
            if let Err(error) = self.keep_house() {
                self.poison.set(&error);
            }
        }
    }

    /// Writes everything that waits. Answers a request to close, if it came upon one.
    fn commit_group(&mut self, first: Commit, requests: &Receiver<Request>) -> Option<oneshot::Sender<Result<()>>> {
        let mut group = vec![first];
        let mut elements = weight(&group[0].batch);
        let mut close = None;
        let gather_until = Instant::now() + GATHER;
        while elements < GROUP_ELEMENTS_MAX {
            let next = match requests.try_recv() {
                Err(TryRecvError::Empty) if group.len() < self.last_group => {
                    let left = gather_until.saturating_duration_since(Instant::now());
                    requests.recv_timeout(left).map_err(|_| TryRecvError::Empty)
                }
                next => next,
            };
            match next {
                Ok(Request::Commit(commit)) => {
                    elements += weight(&commit.batch);
                    group.push(commit);
                }
                Ok(Request::Close(answer)) => {
                    close = Some(answer);
                    break;
                }
                Ok(Request::Abandon) | Err(_) => break,
            }
        }
        self.last_group = group.len();
        self.write_group(group);
        close
    }

    fn write_group(&mut self, group: Vec<Commit>) {
        let now_ms = self.clock.now_ms();
        let mut record = Vec::new();
        let mut waiting = Vec::with_capacity(group.len());
        let shared = Arc::clone(&self.state);
        let Ok(mut state) = shared.write() else { return };
        for commit in group {
            if let Some(why) = self.poison.get() {
                let _ = commit.answer.send(Err(Error::Poisoned(why.into())));
                continue;
            }
            match apply(&mut state, &self.records, &commit, now_ms) {
                Ok((replies, applied)) => {
                    if commit.batch.ops.iter().any(|op| op.key().is_some()) {
                        put_batch(&mut record, commit.account, now_ms, &commit.batch.ops);
                    }
                    waiting.push(Waiting { commit, replies, applied });
                }
                Err(error) => {
                    let _ = commit.answer.send(Err(error));
                }
            }
        }
        drop(state);
        match self.append(&record) {
            Ok(()) => self.acknowledge(waiting),
            Err(failure) => self.refuse(waiting, &failure),
        }
    }

    fn append(&mut self, record: &[u8]) -> Result<(), Failure> {
        let Some(log) = self.log.as_mut().filter(|_| !record.is_empty()) else { return Ok(()) };
        log.append(record).map_err(Failure::NotWritten)?;
        metrics::gauge!("tickmark_store_log_bytes").set(log.bytes() as f64);
        match self.durability {
            Durability::Always => sync(log).map_err(Failure::NotSynced),
            Durability::Interval | Durability::Os => Ok(()),
        }
    }

    fn acknowledge(&self, waiting: Vec<Waiting>) {
        let operations: usize = waiting.iter().map(|waiting| waiting.commit.batch.ops.len()).sum();
        metrics::counter!("tickmark_store_commits_total").increment(1);
        metrics::histogram!("tickmark_store_batch_operations").record(operations as f64);
        for Waiting { commit, replies, applied } in waiting {
            if applied.removed_something()
                && let Ok(mut state) = self.state.write()
            {
                applied.keep(&mut state);
            }
            for op in &commit.batch.ops {
                if let Op::Publish { channel, message } = op {
                    self.channels.publish(commit.account, channel, message);
                }
            }
            let _ = commit.answer.send(Ok((replies, commit.batch)));
        }
    }

    /// The log did not take the group: nobody shall see it, and nothing more is written.
    fn refuse(&self, waiting: Vec<Waiting>, failure: &Failure) {
        let (Failure::NotWritten(error) | Failure::NotSynced(error)) = failure;
        self.poison.set(error);
        let Ok(mut state) = self.state.write() else { return };
        for Waiting { commit, applied, .. } in waiting.into_iter().rev() {
            let _ = applied.take_back(&mut state, &self.records, &commit.batch.ops);
            let _ = commit.answer.send(Err(match failure {
                Failure::NotWritten(error) => Error::Poisoned(error.to_string()),
                Failure::NotSynced(error) => Error::FateUnknown(error.to_string()),
            }));
        }
    }

    fn keep_house(&mut self) -> Result<()> {
        if let Some(outcome) = self.checkpointer.poll() {
            self.finish_checkpoint(outcome)?;
        }
        if self.poison.get().is_some() {
            return Ok(());
        }
        if self.durability == Durability::Interval && self.last_sync.elapsed() >= SYNC_INTERVAL {
            self.sync()?;
        }
        if self.sweeper.is_due() {
            let expired = self.sweeper.sweep(&self.state, &self.records, self.clock.now_ms())?;
            if !expired.is_empty() {
                self.log_expired(&expired)?;
            }
        }
        self.make_room()
    }

    /// Expired keys are removed through the log, so that replaying it never depends on the clock of the day. They are
    /// logged at time zero, when they had not expired yet.
    fn log_expired(&mut self, expired: &[(Account, Vec<Op>)]) -> Result<()> {
        let mut record = Vec::new();
        for (account, ops) in expired {
            put_batch(&mut record, *account, 0, ops);
        }
        self.append(&record).map_err(|(Failure::NotWritten(error) | Failure::NotSynced(error))| error)
    }

    /// Checkpoints when much is dirty, and waits for the last checkpoint when too much is.
    fn make_room(&mut self) -> Result<()> {
        let (dirty_bytes, bytes) = match self.state.read() {
            Ok(state) => (state.dirty_bytes(), state.bytes()),
            Err(_) => return Err(Error::Corrupt("a defect stopped a writer halfway".into())),
        };
        metrics::gauge!("tickmark_store_cache_bytes").set(bytes as f64);
        let log_bytes = self.log.as_ref().map_or(0, Log::bytes);
        if self.checkpointer.is_busy() && dirty_bytes > self.budget_bytes / DIRTY_SHARE_HARD {
            let outcome = self.checkpointer.wait();
            outcome.map_or(Ok(()), |outcome| self.finish_checkpoint(outcome))?;
        }
        let worthwhile =
            dirty_bytes > self.budget_bytes / DIRTY_SHARE && log_bytes > (dirty_bytes / LOG_TO_DIRTY_SHARE) as u64;
        let needed = dirty_bytes > self.budget_bytes / DIRTY_SHARE_HARD || log_bytes > LOG_BYTES_MAX;
        if (worthwhile || needed) && !self.checkpointer.is_busy() {
            self.start_checkpoint()?;
        }
        if bytes > self.budget_bytes
            && let Ok(mut state) = self.state.write()
        {
            state.evict();
        }
        Ok(())
    }

    fn start_checkpoint(&mut self) -> Result<()> {
        let mut position = 0;
        if let Some(log) = &mut self.log {
            log.rotate()?;
            position = log.position();
        }
        let Ok(mut state) = self.state.write() else {
            return Err(Error::Corrupt("a defect stopped a writer halfway".into()));
        };
        let checkpoint = Checkpoint::take(&mut state, self.sweeper.take_used_hints(), position);
        drop(state);
        metrics::counter!("tickmark_store_checkpoints_total").increment(1);
        self.flushing_position = position;
        self.checkpointer.write(checkpoint);
        Ok(())
    }

    fn finish_checkpoint(&mut self, outcome: Result<()>) -> Result<()> {
        outcome?;
        if let Ok(mut state) = self.state.write() {
            state.end_flush();
        }
        self.sweeper.start_over();
        match &mut self.log {
            Some(log) => log.remove_through(self.flushing_position),
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.last_sync = Instant::now();
        self.log.as_mut().map_or(Ok(()), sync)
    }

    /// Leaves everything in the records and nothing in the log.
    fn finish(&mut self) -> Result<()> {
        let finished = self.write_out();
        self.channels.close();
        finished
    }

    fn write_out(&mut self) -> Result<()> {
        let outcome = self.checkpointer.wait();
        outcome.map_or(Ok(()), |outcome| self.finish_checkpoint(outcome))?;
        if let Some(why) = self.poison.get() {
            return Err(Error::Poisoned(why.into()));
        }
        if self.log.is_some() && self.state.read().is_ok_and(|state| state.is_dirty()) {
            self.start_checkpoint()?;
            let outcome = self.checkpointer.wait();
            outcome.map_or(Ok(()), |outcome| self.finish_checkpoint(outcome))?;
        }
        Ok(())
    }
}

fn sync(log: &mut Log) -> Result<()> {
    let start = Instant::now();
    let synced = log.sync();
    metrics::histogram!("tickmark_store_sync_seconds").record(start.elapsed());
    synced
}

enum Failure {
    NotWritten(Error),
    NotSynced(Error),
}

/// Checks the guards and applies the operations, or leaves everything as it was.
fn apply(state: &mut State, records: &Records, commit: &Commit, now_ms: u64) -> Result<(Vec<Reply>, Applied)> {
    let Commit { account, batch, .. } = commit;
    for (index, guard) in batch.guards.iter().enumerate() {
        state.load(&full_key(*account, guard.key().as_bytes()), records)?;
        if !(View { state, records, account: *account, now_ms }).holds(guard)? {
            return Err(Error::GuardFailed { index });
        }
    }
    apply_ops(state, records, *account, now_ms, &batch.ops)
}

pub(crate) fn apply_ops(
    state: &mut State,
    records: &Records,
    account: Account,
    now_ms: u64,
    ops: &[Op],
) -> Result<(Vec<Reply>, Applied)> {
    let mut transaction = Transaction::new(state, records, account, now_ms);
    let mut replies = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        match transaction.apply(index, op) {
            Ok(reply) => replies.push(reply),
            Err(error) => {
                transaction.roll_back(ops)?;
                return Err(error);
            }
        }
    }
    Ok((replies, transaction.finish()))
}

/// About how much work a batch is.
fn weight(batch: &Batch) -> usize {
    batch.ops.iter().map(Op::elements).sum::<usize>() + batch.guards.len()
}
