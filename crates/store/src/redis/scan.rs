//! Pages of an account's keys.
//!
//! A single Redis is scanned from end to end, a Cluster one shard after the other. The cursor says which shard, on
//! which server, and where in it. When a replica has taken over, its shard is scanned again from the start, because its
//! numbers are others; when slots have moved, nobody can say what was seen, and the cursor is refused.

use std::hash::{DefaultHasher, Hash, Hasher};

use redis::{Pipeline, Value, cmd};

use super::layout::Layout;
use super::plan::Place;
use super::wire::{Intent, Request, Wire};
use super::{cursor, problem, value};
use crate::{Cursor, Error, Key, KeyPage, Result};

/// How often a page is asked for again because a replica took over meanwhile.
const TAKEOVERS_MAX: usize = 5;

pub(super) async fn scan(
    wire: &Wire,
    place: &Place,
    prefix: &Key,
    cursor: Option<&Cursor>,
    limit: u32,
) -> Result<KeyPage> {
    wire.check_open()?;
    let prefix = prefix.as_bytes();
    if !place.is_cluster {
        let position = cursor::position(cursor::KEYS, prefix, cursor)?;
        let (next, keys) = page(wire, place, None, prefix, position, limit).await?;
        return Ok(KeyPage { keys, next: (next != 0).then(|| cursor::seal(cursor::KEYS, prefix, [next])) });
    }

    for _ in 0..TAKEOVERS_MAX {
        let before = wire.layout();
        let found = shard_page(wire, place, &before, prefix, cursor, limit).await?;
        // If somebody else took over during the call, the page may be from the new server, at the old one's number.
        if wire.layout().shards() == before.shards() {
            return Ok(found);
        }
    }
    Err(Error::Unavailable("the Cluster changes faster than it can be scanned".to_owned()))
}

async fn shard_page(
    wire: &Wire,
    place: &Place,
    layout: &Layout,
    prefix: &[u8],
    cursor: Option<&Cursor>,
    limit: u32,
) -> Result<KeyPage> {
    let shards = layout.shards();
    let fingerprint = layout.fingerprint();
    let [known, shard, server, position] = match cursor {
        Some(cursor) => cursor::open(cursor::KEYS, prefix, cursor)?,
        None => [fingerprint, 0, 0, 0],
    };
    let index = usize::try_from(shard).map_err(|_| Error::BadCursor)?;
    let (slot, master) = match shards.get(index) {
        Some(shard) if known == fingerprint => *shard,
        _ => return Err(Error::BadCursor),
    };
    let own = number(&master.id);
    let position = if server == own { position } else { 0 };
    let (next, keys) = page(wire, place, Some(slot), prefix, position, limit).await?;
    let next = match next {
        0 if index + 1 == shards.len() => None,
        0 => Some([fingerprint, shard + 1, 0, 0]),
        next => Some([fingerprint, shard, own, next]),
    };
    Ok(KeyPage { keys, next: next.map(|numbers| cursor::seal(cursor::KEYS, prefix, numbers)) })
}

/// One page of one server.
async fn page(
    wire: &Wire,
    place: &Place,
    slot: Option<u16>,
    prefix: &[u8],
    position: u64,
    limit: u32,
) -> Result<(u64, Vec<Key>)> {
    let mut command = cmd("SCAN");
    command.arg(position).arg("MATCH").arg(place.keys.pattern(prefix)).arg("COUNT").arg(limit.max(1));
    let mut commands = Pipeline::with_capacity(1);
    commands.add_command(command);
    let request = Request { intent: Intent::Read, database: place.database, slot, commands, load: None };
    let answer = match wire.call(&request).await?.pop() {
        Some(Value::ServerError(error)) => return Err(Error::Unavailable(problem::text(&error))),
        Some(answer) => answer,
        None => return Err(value::shape("a page", None)),
    };
    let (next, page) = cursor::split(answer)?;
    let names = value::list(page, value::bytes)?;
    let inner = names.iter().filter_map(|name| place.keys.inner(name));
    Ok((next, inner.filter(|name| name.starts_with(prefix)).map(Key::from).collect()))
}

fn number(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
