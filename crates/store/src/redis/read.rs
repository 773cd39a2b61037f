//! Answering queries.
//!
//! What is in one slot (on a single Redis: everything) is asked in one transaction, so that it is of one moment. On a
//! Cluster each server gets one pipeline for all its slots.

use std::collections::BTreeMap;

use futures_util::future::{join_all, try_join_all};
use redis::{Cmd, Pipeline, Value, cmd};
use tokio::time::Instant;

use super::plan::Place;
use super::query::{self, Trouble};
use super::url::Node;
use super::value::{shape, wrong_type};
use super::wire::{Intent, Request, Wire, first_remedy};
use crate::{Error, Key, Kind, Query, Reply, Result};

/// How often a read is repeated because a key changed its type between the question and the question what it is.
const CONFUSED_MAX: usize = 5;

pub(super) async fn read(wire: &Wire, place: &Place, queries: &[Query]) -> Result<Vec<Reply>> {
    wire.check_open()?;
    for _ in 0..CONFUSED_MAX {
        if let Some(replies) = try_read(wire, place, queries).await? {
            return Ok(replies);
        }
    }
    Err(Error::Unavailable("a key changes its type faster than it can be read".to_owned()))
}

async fn try_read(wire: &Wire, place: &Place, queries: &[Query]) -> Result<Option<Vec<Reply>>> {
    let mut blocks = Blocks::default();
    let mut lens = Vec::with_capacity(queries.len());
    for query in queries {
        let commands = query::commands(place, query)?;
        lens.push(commands.len());
        for (key, command) in commands {
            blocks.add(place.slot(&key), command);
        }
    }
    let mut values = blocks.fetch(wire, place).await?.into_iter();
    let mut replies = Vec::with_capacity(queries.len());
    for (query, len) in queries.iter().zip(lens) {
        if len == 0 {
            replies.push(Reply::Count(0));
            continue;
        }
        match query::reply(query, values.by_ref().take(len).collect()) {
            Ok(reply) => replies.push(reply),
            Err(Trouble::Error(error)) => return Err(error),
            Err(Trouble::WrongType) => return find_wrong_type(wire, place, query).await.map(|()| None),
        }
    }
    Ok(Some(replies))
}

/// Names the type that is in the way of a query; nothing if it has gone meanwhile.
async fn find_wrong_type(wire: &Wire, place: &Place, query: &Query) -> Result<()> {
    let keys: Vec<&Key> = match query {
        Query::HllCount { keys } => keys.iter().collect(),
        other => other.key().into_iter().collect(),
    };
    let Some(wanted) = query::wanted(query) else { return Ok(()) };
    for key in keys {
        if let Some(found) = kind_of(wire, place, key).await?
            && found != wanted
        {
            return Err(Error::WrongType { key: key.clone(), wanted, found });
        }
    }
    Ok(())
}

async fn kind_of(wire: &Wire, place: &Place, key: &Key) -> Result<Option<Kind>> {
    let query = Query::Kind { key: key.clone() };
    let mut blocks = Blocks::default();
    for (key, command) in query::commands(place, &query)? {
        blocks.add(place.slot(&key), command);
    }
    match query::reply(&query, blocks.fetch(wire, place).await?) {
        Ok(reply) => reply.kind(),
        Err(Trouble::Error(error)) => Err(error),
        Err(Trouble::WrongType) => Err(wrong_type(key.clone(), Kind::String, "something else")),
    }
}

/// Commands by slot, and where their answers belong.
#[derive(Default)]
struct Blocks {
    by_slot: BTreeMap<Option<u16>, Vec<(usize, Cmd)>>,
    len: usize,
}

/// One slot's commands, ready to send, and the positions of their answers.
struct Block {
    request: Request,
    positions: Vec<usize>,
}

impl Blocks {
    fn add(&mut self, slot: Option<u16>, command: Cmd) {
        self.by_slot.entry(slot).or_default().push((self.len, command));
        self.len += 1;
    }

    /// One value a command, in the order in which they were added.
    async fn fetch(self, wire: &Wire, place: &Place) -> Result<Vec<Value>> {
        let mut answers = vec![Value::Nil; self.len];
        let blocks: Vec<Block> =
            self.by_slot.into_iter().map(|(slot, commands)| Block::new(place, slot, commands)).collect();
        let fetched = if blocks.len() > 1 {
            fetch_by_server(wire, blocks).await?
        } else {
            try_join_all(blocks.into_iter().map(|block| block.fetch(wire))).await?
        };
        for (positions, values) in fetched {
            for (position, value) in positions.into_iter().zip(values) {
                answers[position] = value;
            }
        }
        Ok(answers)
    }
}

type Fetched = (Vec<usize>, Vec<Value>);

impl Block {
    fn new(place: &Place, slot: Option<u16>, commands: Vec<(usize, Cmd)>) -> Self {
        let atomic = commands.len() > 1;
        let mut pipeline = Pipeline::with_capacity(commands.len() + 2);
        let mut positions = Vec::with_capacity(commands.len());
        if atomic {
            pipeline.add_command(cmd("MULTI"));
        }
        for (position, command) in commands {
            positions.push(position);
            pipeline.add_command(command);
        }
        if atomic {
            pipeline.add_command(cmd("EXEC"));
        }
        let database = place.database;
        let request = Request { intent: Intent::Read, database, slot, commands: pipeline, load: None };
        Self { request, positions }
    }

    async fn fetch(self, wire: &Wire) -> Result<Fetched> {
        let values = wire.call(&self.request).await?;
        self.unwrap(values)
    }

    /// Takes the answers out of the transaction.
    fn unwrap(self, mut values: Vec<Value>) -> Result<Fetched> {
        if self.positions.len() == 1 {
            return Ok((self.positions, values));
        }
        match values.pop() {
            Some(Value::Array(values)) if values.len() == self.positions.len() => Ok((self.positions, values)),
            last => match values.into_iter().find(|value| matches!(value, Value::ServerError(_))).or(last) {
                Some(Value::ServerError(error)) => Err(Error::Unavailable(super::problem::text(&error))),
                other => Err(shape("a transaction", other.as_ref())),
            },
        }
    }
}

/// Sends each server all its blocks at once. A block that its server did not answer goes the patient way.
async fn fetch_by_server(wire: &Wire, blocks: Vec<Block>) -> Result<Vec<Fetched>> {
    let layout = wire.layout();
    let mut servers: BTreeMap<Option<String>, (Option<Node>, Vec<Block>)> = BTreeMap::new();
    for block in blocks {
        let node = block.request.slot.and_then(|slot| layout.master(slot)).map(|master| master.node.clone());
        let server = servers.entry(node.as_ref().map(ToString::to_string)).or_default();
        server.0 = node;
        server.1.push(block);
    }
    let fetched = join_all(servers.into_values().map(|(node, blocks)| fetch_from(wire, node, blocks))).await;
    Ok(fetched.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

async fn fetch_from(wire: &Wire, node: Option<Node>, blocks: Vec<Block>) -> Result<Vec<Fetched>> {
    let mut commands = Pipeline::with_capacity(blocks.iter().map(|block| block.request.commands.len()).sum());
    for block in &blocks {
        for command in block.request.commands.cmd_iter() {
            commands.add_command(command.clone());
        }
    }
    let values = match node {
        Some(node) => {
            let deadline = Instant::now() + wire.options.patience;
            wire.link(&node, 0)?.send(&commands, deadline).await.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let mut values = values.into_iter();
    let mut fetched = Vec::with_capacity(blocks.len());
    for block in blocks {
        let len = block.request.commands.len();
        let own: Vec<Value> = values.by_ref().take(len).collect();
        fetched.push(if own.len() == len && first_remedy(&own).is_none() {
            block.unwrap(own)?
        } else {
            block.fetch(wire).await?
        });
    }
    Ok(fetched)
}
