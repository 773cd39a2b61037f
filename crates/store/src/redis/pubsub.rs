//! Channels: one connection for all subscriptions of a store.
//!
//! A task owns the connection. It subscribes and unsubscribes on request, and when the connection is lost it finds a
//! server again, subscribes to everything, and tells every subscriber of the gap. Messages go from the connection
//! straight into the subscribers' queues, so that there is no other queue to overflow.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult};
use tokio::sync::{mpsc, oneshot, watch};

use super::client;
use super::link::{self, Backoff};
use super::listener::{Listener, Listeners};
use super::url::Node;
use super::wire::Wire;
use crate::store::Subscription;
use crate::{Error, Result};

/// Requests to subscribe or unsubscribe that may wait.
const REQUESTS_MAX: usize = 256;
/// A connection on which nothing happens is asked this often whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(10);
/// While there is no server, it is looked for in rounds of this length, for as long as the store is open.
const ROUND: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Hub {
    wire: Arc<Wire>,
    listeners: Arc<Listeners>,
    task: Mutex<Option<Way>>,
    next_id: AtomicU64,
}

/// The way to the task. When it is dropped, everything that waits for something else ends too.
#[derive(Debug)]
struct Way {
    requests: mpsc::Sender<Request>,
    open: watch::Sender<()>,
}

#[derive(Debug)]
enum Request {
    Subscribe {
        channel: Vec<u8>,
        done: oneshot::Sender<Result<()>>,
    },
    /// Nobody may be listening any more.
    Tidy {
        channel: Vec<u8>,
    },
}

impl Hub {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        let listeners = Arc::default();
        Self { wire, listeners, task: Mutex::default(), next_id: AtomicU64::new(0) }
    }

    /// Returns when the server has confirmed it, so that nothing published later is missed.
    pub(super) async fn subscribe(&self, channel: Vec<u8>) -> Result<Subscription> {
        let (requests, mut open) = self.way()?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (listener, subscription) = Listener::new(id);
        let events = listener.events.clone();
        self.listeners.lock().entry(channel.clone()).or_default().push(listener);
        let (done, confirmed) = oneshot::channel();
        let asked = async {
            requests.send(Request::Subscribe { channel: channel.clone(), done }).await.map_err(|_| Error::Closed)?;
            confirmed.await.map_err(|_| Error::Closed)?
        };
        let subscribed = match tokio::time::timeout(self.wire.options.patience, asked).await {
            Ok(result) => result,
            Err(_) => Err(Error::Unavailable("no server confirmed the subscription".to_owned())),
        };
        if let Err(error) = subscribed {
            self.listeners.remove(&channel, id);
            let _ = requests.try_send(Request::Tidy { channel });
            return Err(error);
        }
        let listeners = Arc::clone(&self.listeners);
        tokio::spawn(async move {
            tokio::select! {
                () = events.closed() => {
                    listeners.remove(&channel, id);
                    let _ = requests.send(Request::Tidy { channel }).await;
                }
                // An error: whoever could send has gone.
                _ = open.changed() => {}
            }
        });
        Ok(subscription)
    }

    /// Ends every subscription.
    pub(super) fn close(&self) {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.listeners.lock().clear();
        self.listeners.lost.notify_one();
    }

    /// The task is started by the first who needs it.
    fn way(&self) -> Result<(mpsc::Sender<Request>, watch::Receiver<()>)> {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        self.wire.check_open()?;
        let way = task.get_or_insert_with(|| {
            let (requests, received) = mpsc::channel(REQUESTS_MAX);
            let (open, _) = watch::channel(());
            let (wire, listeners) = (Arc::clone(&self.wire), Arc::clone(&self.listeners));
            tokio::spawn(Task { wire, listeners, requests: received, server: 0 }.run());
            Way { requests, open }
        });
        Ok((way.requests.clone(), way.open.subscribe()))
    }
}

struct Task {
    wire: Arc<Wire>,
    listeners: Arc<Listeners>,
    requests: mpsc::Receiver<Request>,
    /// Which server to try next.
    server: usize,
}

type Connection = (MultiplexedConnection, Arc<AtomicBool>);

impl Task {
    async fn run(mut self) {
        let mut connection = None;
        while self.wire.check_open().is_ok() {
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.answer(request, &mut connection).await,
                    None => return,
                },
                () = self.listeners.lost.notified() => self.repair(&mut connection).await,
                () = tokio::time::sleep(PING_EVERY), if connection.is_some() => {
                    let alive = match &mut connection {
                        Some((connection, _)) => connection.send_packed_command(&redis::cmd("PING")).await.is_ok(),
                        None => true,
                    };
                    if !alive {
                        self.repair(&mut connection).await;
                    }
                }
            }
        }
    }

    async fn answer(&mut self, request: Request, connection: &mut Option<Connection>) {
        match request {
            Request::Subscribe { channel, done } => {
                let result = self.subscribe(&channel, connection).await;
                let _ = done.send(result.map_err(|error| Error::Unavailable(error.to_string())));
            }
            Request::Tidy { channel } => {
                let unused = !self.listeners.lock().contains_key(&channel);
                if let Some((connection, _)) = connection
                    && unused
                {
                    // If that fails the connection is lost, and the next one will not subscribe to it.
                    let _ = connection.unsubscribe(channel).await;
                }
            }
        }
    }

    async fn subscribe(&mut self, channel: &[u8], connection: &mut Option<Connection>) -> RedisResult<()> {
        let lost = |(_, lost): &Connection| lost.load(Ordering::Acquire);
        if connection.as_ref().is_none_or(lost) {
            let had_one = connection.is_some();
            *connection = Some(self.connect(Backoff::new(self.wire.options.patience)).await?);
            if had_one {
                self.tell_gap();
            }
            return Ok(());
        }
        match connection {
            Some((connection, _)) => connection.subscribe(channel).await,
            None => Ok(()),
        }
    }

    /// Replaces a lost connection, however long it takes.
    async fn repair(&mut self, connection: &mut Option<Connection>) {
        let lost = |(_, lost): &Connection| lost.load(Ordering::Acquire);
        if connection.take_if(|connection| lost(connection)).is_none() {
            return;
        }
        while self.wire.check_open().is_ok() && !self.listeners.lock().is_empty() {
            match self.connect(Backoff::new(ROUND)).await {
                Ok(connected) => {
                    *connection = Some(connected);
                    self.tell_gap();
                    return;
                }
                Err(error) => tracing::warn!(%error, "channels: no server answers"),
            }
        }
    }

    fn tell_gap(&self) {
        self.listeners.lock().values_mut().flatten().for_each(Listener::gap);
    }

    /// A connection that is subscribed to every channel somebody listens to.
    async fn connect(&mut self, mut backoff: Backoff) -> RedisResult<Connection> {
        loop {
            let nodes = self.nodes();
            let node = &nodes[self.server % nodes.len()];
            match self.connect_to(node).await {
                Ok(connection) => return Ok(connection),
                Err(error) => {
                    self.server += 1;
                    if self.wire.check_open().is_err() || !backoff.pause().await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn connect_to(&self, node: &Node) -> RedisResult<Connection> {
        let options = &self.wire.options;
        let client = client::open(&self.wire.address, node, 0, options)
            .map_err(|error| RedisError::from((redis::ErrorKind::InvalidClientConfig, "TLS", error.to_string())))?;
        let listeners = Arc::clone(&self.listeners);
        let (mut connection, lost) = link::connect(&client, options, move |push| listeners.hear(&push)).await?;
        let channels: Vec<Vec<u8>> = self.listeners.lock().keys().cloned().collect();
        if !channels.is_empty() {
            connection.subscribe(channels).await?;
        }
        Ok((connection, lost))
    }

    /// Servers on which a channel is heard: the only one, or any of a Cluster.
    fn nodes(&self) -> Vec<Node> {
        let members = self.wire.layout().members.iter().map(|member| member.node.clone()).collect::<Vec<_>>();
        if members.is_empty() { self.wire.address.nodes.clone() } else { members }
    }
}
