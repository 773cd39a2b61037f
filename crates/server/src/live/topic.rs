//! The task behind a topic: hears that something changed, reads how things stand now, shows it to everyone.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tickmark_store::Subscription;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::frame::Frame;
use super::{TopicName, Topics};
use crate::flag::raised;
use crate::problem::Result;

/// At most four changes a second.
const BETWEEN_CHANGES: Duration = Duration::from_millis(250);
/// Between looks at whether anyone still listens.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

pub(super) struct Topic {
    pub(super) name: TopicName,
    pub(super) topics: Topics,
    pub(super) sender: watch::Sender<Arc<Frame>>,
    pub(super) subscription: Subscription,
}

impl Topic {
    pub(super) async fn run<S, F>(mut self, snapshot: S, mut stopping: watch::Receiver<bool>)
    where
        S: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Bytes>> + Send + 'static,
    {
        let mut shown_at = Instant::now();
        let mut stale = false;
        loop {
            let due = if stale { shown_at + BETWEEN_CHANGES } else { Instant::now() + BETWEEN_LOOKS };
            tokio::select! {
                // A message says that something changed, a gap that something may have: both are answered by reading.
                event = self.subscription.next() => match event {
                    Some(_) => stale = true,
                    None => break,
                },
                () = sleep_until(due) => {
                    if self.is_deserted() {
                        return;
                    }
                    if stale {
                        stale = !self.show(&snapshot).await;
                        shown_at = Instant::now();
                    }
                }
                () = raised(&mut stopping) => break,
            }
        }
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }

    /// Whether the state could be read. If not, it is read again at the next due time.
    async fn show<S, F>(&self, snapshot: &S) -> bool
    where
        S: Fn() -> F,
        F: Future<Output = Result<Bytes>>,
    {
        let Ok(state) = snapshot().await else { return false };
        self.sender.send_if_modified(|frame| {
            let changed = !frame.is(&state);
            if changed {
                *frame = Arc::new(Frame::new(frame.sequence + 1, &state));
            }
            changed
        });
        true
    }

    /// Checked and forgotten under the lock that joining takes, so that nobody joins a topic whose task has ended.
    fn is_deserted(&self) -> bool {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let deserted = self.sender.receiver_count() == 0;
        if deserted {
            topics.remove(&self.name);
        }
        deserted
    }
}
