//! Subscribers and their queues.
//!
//! The last place in a queue is kept for a [`Event::Gap`]: when the others are taken, the gap goes in and messages are
//! dropped until there is room again. So a slow subscriber always finds the gap, also if nothing is published after it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::{PushInfo, PushKind, Value};
use tokio::sync::{Notify, mpsc};

use crate::store::{Event, SUBSCRIPTION_EVENTS_MAX, Subscription};

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) id: u64,
    pub(super) events: mpsc::Sender<Event>,
    /// A gap is the last thing in the queue.
    gap_is_last: bool,
}

impl Listener {
    pub(super) fn new(id: u64) -> (Self, Subscription) {
        let (events, received) = mpsc::channel(SUBSCRIPTION_EVENTS_MAX + 1);
        (Self { id, events, gap_is_last: false }, Subscription::new(received))
    }

    pub(super) fn message(&mut self, message: &[u8]) {
        if self.events.capacity() <= 1 {
            self.gap();
        } else if self.events.try_send(Event::Message(message.into())).is_ok() {
            self.gap_is_last = false;
        }
    }

    pub(super) fn gap(&mut self) {
        // Two in a row tell no more than one; and if the last was taken out, the queue is empty and has room.
        let still_there = self.gap_is_last && self.events.capacity() <= SUBSCRIPTION_EVENTS_MAX;
        if !still_there && self.events.try_send(Event::Gap).is_ok() {
            self.gap_is_last = true;
        }
    }
}

/// Everybody who listens, by the channel's name on the server.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_channel: Mutex<HashMap<Vec<u8>, Vec<Listener>>>,
    /// Told when the connection is lost.
    pub(super) lost: Notify,
}

impl Listeners {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Vec<Listener>>> {
        self.by_channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remove(&self, channel: &[u8], id: u64) {
        let mut by_channel = self.lock();
        if let Some(listeners) = by_channel.get_mut(channel) {
            listeners.retain(|listener| listener.id != id);
            if listeners.is_empty() {
                by_channel.remove(channel);
            }
        }
    }

    pub(super) fn hear(&self, push: &PushInfo) {
        match (&push.kind, push.data.as_slice()) {
            (PushKind::Message, [Value::BulkString(channel), Value::BulkString(message)]) => {
                for listener in self.lock().get_mut(channel).into_iter().flatten() {
                    listener.message(message);
                }
            }
            (PushKind::Disconnection, _) => self.lost.notify_one(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_subscriber_finds_a_gap_where_messages_are_missing() {
        let (mut listener, mut subscription) = Listener::new(0);
        for n in 0..SUBSCRIPTION_EVENTS_MAX + 10 {
            listener.message(&n.to_be_bytes());
        }
        for n in 0..SUBSCRIPTION_EVENTS_MAX {
            assert_eq!(subscription.next().await, Some(Event::Message(Box::new(n.to_be_bytes()))));
        }
        assert_eq!(subscription.next().await, Some(Event::Gap));
        listener.message(b"after");
        assert_eq!(subscription.next().await, Some(Event::Message((*b"after").into())));
        listener.gap();
        listener.gap();
        listener.message(b"more");
        assert_eq!(subscription.next().await, Some(Event::Gap));
        assert_eq!(subscription.next().await, Some(Event::Message((*b"more").into())));
        listener.gap();
        assert_eq!(subscription.next().await, Some(Event::Gap));
    }
}
