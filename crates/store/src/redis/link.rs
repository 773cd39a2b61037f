//! One connection to one database of one server, opened when it is first needed and again when it was lost.
//!
//! Requests of many tasks share it. What matters most here is to know what became of a request: not sent, answered, or
//! sent and never answered. The client library's own reconnecting connections repeat requests, so they are not used.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline, PushInfo, PushKind, Value};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::options::Options;
use super::problem;
use crate::Error;

/// After a failed attempt to connect the next waits this long, and twice as long each time.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was sent, and trying again would not help.
    Refused(Error),
    /// Nothing was sent.
    Unsent(String),
    /// Sent at least in part, and never answered.
    Lost(String),
}

pub(super) struct Link {
    client: redis::Client,
    database: u32,
    options: Options,
    live: Mutex<Option<Live>>,
    connecting: tokio::sync::Mutex<Attempts>,
    in_flight: Semaphore,
}

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    lost: Arc<AtomicBool>,
}

/// Failed attempts in a row.
#[derive(Default)]
struct Attempts {
    failed: u32,
    /// Until then the last failure is the answer.
    pause_until: Option<(Instant, String)>,
}

impl Link {
    pub(super) fn new(client: redis::Client, database: u32, options: Options) -> Self {
        let in_flight = Semaphore::new(options.in_flight_max);
        let connecting = tokio::sync::Mutex::default();
        Self { client, database, options, live: Mutex::default(), connecting, in_flight }
    }

    /// Sends commands and returns one value for each; an error of the server is a value like any other.
    pub(super) async fn send(&self, commands: &Pipeline, deadline: Instant) -> Result<Vec<Value>, Failure> {
        let Ok(Ok(_permit)) = timeout_at(deadline, self.in_flight.acquire()).await else {
            let max = self.options.in_flight_max;
            return Err(Failure::Unsent(format!("{max} requests are waiting for an answer already")));
        };
        let mut live = match timeout_at(deadline, self.live()).await {
            Ok(live) => live?,
            Err(_) => return Err(Failure::Unsent("connecting took too long".to_owned())),
        };
        match live.connection.send_packed_commands(commands, 0, commands.len()).await {
            Ok(values) => Ok(values),
            Err(error) => {
                live.lost.store(true, Ordering::Release);
                Err(Failure::Lost(error.to_string()))
            }
        }
    }

    async fn live(&self) -> Result<Live, Failure> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let mut attempts = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        if let Some((until, why)) = &attempts.pause_until
            && Instant::now() < *until
        {
            return Err(Failure::Unsent(why.clone()));
        }
        match connect(&self.client, &self.options, |_| ()).await {
            Ok((connection, lost)) => {
                let live = Live { connection, lost };
                *attempts = Attempts::default();
                *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
                Ok(live)
            }
            Err(error) => {
                if let Some(error) = problem::refused(&error, self.database) {
                    return Err(Failure::Refused(error));
                }
                let why = error.to_string();
                attempts.pause_until = Some((Instant::now() + pause_after(attempts.failed), why.clone()));
                attempts.failed += 1;
                Err(Failure::Unsent(why))
            }
        }
    }

    fn current(&self) -> Option<Live> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().filter(|live| !live.lost.load(Ordering::Acquire)).cloned()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connected = self.current().is_some();
        f.debug_struct("Link").field("connected", &connected).finish_non_exhaustive()
    }
}

/// Opens a connection that passes on what the server pushes, and raises a flag as soon as it is lost, so that nothing
/// is sent into the void that could have been sent on a new one.
pub(super) async fn connect(
    client: &redis::Client,
    options: &Options,
    pushed: impl Fn(PushInfo) + Send + Sync + 'static,
) -> redis::RedisResult<(MultiplexedConnection, Arc<AtomicBool>)> {
    let lost = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&lost);
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        .set_response_timeout(Some(options.response_timeout))
        .set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                flag.store(true, Ordering::Release);
            }
            pushed(push);
            Ok::<(), ()>(())
        });
    Ok((client.get_multiplexed_async_connection_with_config(&config).await?, lost))
}

/// Waits a little longer each time, up to a deadline.
#[derive(Debug)]
pub(super) struct Backoff {
    pauses: u32,
    pub(super) deadline: Instant,
}

impl Backoff {
    pub(super) fn new(patience: Duration) -> Self {
        Self { pauses: 0, deadline: Instant::now() + patience }
    }

    /// False when there is no time left.
    pub(super) async fn pause(&mut self) -> bool {
        let pause = pause_after(self.pauses);
        self.pauses += 1;
        let now = Instant::now();
        if now + pause >= self.deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }
}

fn pause_after(failures: u32) -> Duration {
    PAUSE_FIRST.saturating_mul(1 << failures.min(10)).min(PAUSE_MAX)
}
