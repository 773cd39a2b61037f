//! Gets requests to the server that must answer them, and follows where it points.
//!
//! A single Redis has one server and a connection for each account; a Cluster many servers, of which a slot chooses
//! one. Whatever a server refuses without doing anything (a slot that moved, a failover, a script it does not know) is
//! tried again until patience ends. A write that was sent and not answered is never repeated.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;

use super::client;
use super::layout::Layout;
use super::link::{Backoff, Failure, Link};
use super::options::Options;
use super::problem::{self, Remedy};
use super::url::{Address, Node, Shape};
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    Write,
}

/// Commands that one server must answer.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) intent: Intent,
    /// On a single Redis.
    pub(super) database: u32,
    /// On a Cluster; `None` where any server will do.
    pub(super) slot: Option<u16>,
    pub(super) commands: Pipeline,
    /// Makes a server know the script that the commands call.
    pub(super) load: Option<Cmd>,
}

#[derive(Debug)]
pub(super) struct Wire {
    pub(super) address: Address,
    pub(super) options: Options,
    pub(super) layout: RwLock<Arc<Layout>>,
    /// When the layout was last asked for.
    pub(super) refreshed: tokio::sync::Mutex<Option<Instant>>,
    links: Mutex<HashMap<(Node, u32), Arc<Link>>>,
    closed: AtomicBool,
}

/// Where the next attempt goes, if not where the layout says, and what must be said first.
#[derive(Debug, Default)]
struct Detour {
    to: Option<Node>,
    asking: bool,
    load: bool,
}

impl Wire {
    pub(super) fn new(address: Address, options: Options) -> Self {
        Self {
            address,
            options,
            layout: RwLock::default(),
            refreshed: tokio::sync::Mutex::default(),
            links: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.address.shape == Shape::Cluster
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Drops every connection once what is in flight is answered.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.links.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// One value for each command. Errors of the server that no patience helps against are among the values.
    pub(super) async fn call(&self, request: &Request) -> Result<Vec<Value>> {
        let mut backoff = Backoff::new(self.options.patience);
        let mut detour = Detour::default();
        let mut attempt = 0;
        loop {
            self.check_open()?;
            let why = match self.attempt(request, &detour, attempt, backoff.deadline).await {
                Ok(values) => {
                    let Some((remedy, why)) = first_remedy(&values) else { return Ok(values) };
                    if remedy == Remedy::Load && !detour.load && request.load.is_some() {
                        detour.load = true;
                        continue;
                    }
                    let asking = matches!(remedy, Remedy::Ask(_));
                    let to = match remedy {
                        Remedy::Moved(to) | Remedy::Ask(to) => self.parse_node(&to),
                        _ => None,
                    };
                    detour = Detour { to, asking, load: request.load.is_some() };
                    why
                }
                Err(Failure::Refused(error)) => return Err(self.refused(request, error).await),
                Err(Failure::Lost(why)) if request.intent == Intent::Write => return Err(Error::FateUnknown(why)),
                Err(Failure::Lost(why) | Failure::Unsent(why)) => {
                    detour.to = None;
                    why
                }
            };
            if self.is_cluster() {
                self.refresh(backoff.deadline).await;
            }
            // A redirection names the right server, so there is nothing to wait for the first time.
            if (detour.to.is_none() || attempt > 0) && !backoff.pause().await {
                return Err(Error::Unavailable(why));
            }
            attempt += 1;
        }
    }

    /// The connection to a database of a server.
    pub(super) fn link(&self, node: &Node, database: u32) -> Result<Arc<Link>> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_open()?;
        if let Some(link) = links.get(&(node.clone(), database)) {
            return Ok(Arc::clone(link));
        }
        let client = client::open(&self.address, node, database, &self.options)?;
        let link = Arc::new(Link::new(client, database, self.options.clone()));
        links.insert((node.clone(), database), Arc::clone(&link));
        Ok(link)
    }

    /// Forgets connections to servers that are no longer there.
    pub(super) fn keep_links(&self, keep: impl Fn(&Node) -> bool) {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).retain(|(node, _), _| keep(node));
    }

    async fn attempt(
        &self,
        request: &Request,
        detour: &Detour,
        attempt: usize,
        deadline: Instant,
    ) -> Result<Vec<Value>, Failure> {
        let node = match &detour.to {
            Some(node) => node.clone(),
            None => self.node(request.slot, attempt).ok_or_else(|| Failure::Unsent(self.nobody(request.slot)))?,
        };
        let link = self.link(&node, request.database).map_err(Failure::Refused)?;
        let mut first = Vec::new();
        if detour.load {
            first.extend(request.load.clone());
        }
        if detour.asking {
            first.push(redis::cmd("ASKING"));
        }
        if first.is_empty() {
            return link.send(&request.commands, deadline).await;
        }
        let skip = first.len();
        let mut commands = Pipeline::with_capacity(skip + request.commands.len());
        for command in first.into_iter().chain(request.commands.cmd_iter().cloned()) {
            commands.add_command(command);
        }
        let mut values = link.send(&commands, deadline).await?;
        values.drain(..skip);
        Ok(values)
    }

    /// The server for a slot; without one, another at each attempt.
    fn node(&self, slot: Option<u16>, attempt: usize) -> Option<Node> {
        if !self.is_cluster() {
            return self.address.nodes.first().cloned();
        }
        let layout = self.layout();
        match slot {
            Some(slot) => layout.master(slot).map(|master| master.node.clone()),
            None => layout.members.get(attempt % layout.members.len().max(1)).map(|member| member.node.clone()),
        }
    }

    fn nobody(&self, slot: Option<u16>) -> String {
        match (slot, self.layout().members.is_empty()) {
            (Some(slot), false) => format!("no server of the Cluster serves slot {slot}"),
            _ => "no server of the Cluster answers".to_owned(),
        }
    }

    fn parse_node(&self, text: &str) -> Option<Node> {
        let (host, port) = text.rsplit_once(':')?;
        // A Cluster whose servers do not know their own names sends an empty one: the server that was asked.
        let host = if host.is_empty() { &self.address.nodes.first()?.host } else { host };
        Some(Node { host: host.to_owned(), port: port.parse().ok()? })
    }

    async fn refused(&self, request: &Request, error: Error) -> Error {
        let (Error::NoSuchAccount { account, .. }, Some(node)) = (&error, self.address.nodes.first()) else {
            return error;
        };
        let database = (node.clone(), request.database);
        self.links.lock().unwrap_or_else(PoisonError::into_inner).remove(&database);
        match client::count_databases(&self.address, node, *account, &self.options).await {
            Ok(databases) => Error::NoSuchAccount { account: *account, databases },
            Err(error) => Error::Unavailable(error.to_string()),
        }
    }
}

/// The first error among the values that something can be done about.
pub(super) fn first_remedy(values: &[Value]) -> Option<(Remedy, String)> {
    values.iter().find_map(|value| match value {
        Value::ServerError(error) => match problem::remedy(error) {
            Remedy::None => None,
            remedy => Some((remedy, problem::text(error))),
        },
        _ => None,
    })
}
