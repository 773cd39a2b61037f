//! Publications within the process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Sender, channel};

use crate::store::SUBSCRIPTION_EVENTS_MAX;
use crate::{Account, Event, Key, Subscription};

type Subscribers = HashMap<(Account, Key), Vec<Sender<Event>>>;

#[derive(Debug, Default)]
pub(crate) struct Channels {
    subscribers: Mutex<Subscribers>,
}

impl Channels {
    pub(crate) fn subscribe(&self, account: Account, channel_name: Key) -> Subscription {
        let (sender, events) = channel(SUBSCRIPTION_EVENTS_MAX);
        let mut subscribers = self.lock();
        // Channels come and go with their listeners; whoever joins sweeps up after those who left.
        subscribers.retain(|_, senders| {
            senders.retain(|sender| !sender.is_closed());
            !senders.is_empty()
        });
        subscribers.entry((account, channel_name)).or_default().push(sender);
        Subscription::new(events)
    }

    pub(crate) fn publish(&self, account: Account, channel_name: &Key, message: &[u8]) {
        let mut subscribers = self.lock();
        let Some(senders) = subscribers.get_mut(&(account, channel_name.clone())) else { return };
        senders.retain(|sender| {
            // The last place is for saying that messages are missing. Once that is said, more may go missing: whoever
            // hears it reads again, and sees what they were about.
            let event = match sender.capacity() {
                0 => return !sender.is_closed(),
                1 => Event::Gap,
                _ => Event::Message(message.into()),
            };
            sender.try_send(event).is_ok()
        });
    }

    /// Ends every subscription.
    pub(crate) fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
