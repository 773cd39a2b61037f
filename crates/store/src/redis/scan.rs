//! Pages of an account's keys.
//!
//! A single Redis is scanned from end to end, a Cluster one shard after the other. The cursor says which shard, on
//! which server, and where in it. When a replica has taken over, its shard is scanned again from the start, because its
//! numbers are others; when slots have moved, nobody can say what was seen, and the cursor is refused. Servers do not
//! mind being asked for keys they no longer have, so each page comes with the server's own view of the layout.

use std::hash::{DefaultHasher, Hash, Hasher};

use redis::{Pipeline, Value, cmd};

use super::layout::{Layout, Member};
use super::link::Backoff;
use super::plan::Place;
use super::wire::{Intent, Request, Wire};
use super::{cursor, problem, value};
use crate::{Cursor, Error, Key, KeyPage, Result};

pub(super) async fn scan(
    wire: &Wire,
    place: &Place,
    prefix: &Key,
    cursor: Option<&Cursor>,
    limit: u32,
) -> Result<KeyPage> {
    wire.check_open()?;
    let asked = Asked { wire, place, prefix: prefix.as_bytes(), limit };
    if !place.is_cluster {
        let position = cursor::position(cursor::KEYS, asked.prefix, cursor)?;
        let (next, keys) = asked.keys(asked.answers(None, position).await?.pop())?;
        return Ok(KeyPage { keys, next: (next != 0).then(|| cursor::seal(cursor::KEYS, asked.prefix, [next])) });
    }
    let mut backoff = Backoff::new(wire.options.patience);
    loop {
        if let Some(page) = asked.page(&wire.layout(), cursor).await? {
            return Ok(page);
        }
        if !backoff.pause().await {
            return Err(Error::Unavailable("the Cluster changes faster than it can be scanned".to_owned()));
        }
    }
}

/// One call of [`scan`].
struct Asked<'a> {
    wire: &'a Wire,
    place: &'a Place,
    prefix: &'a [u8],
    limit: u32,
}

impl Asked<'_> {
    /// A page of a Cluster; nothing if the layout was not up to date, which it now is.
    async fn page(&self, layout: &Layout, cursor: Option<&Cursor>) -> Result<Option<KeyPage>> {
        let shards = layout.shards();
        let fingerprint = layout.fingerprint();
        let [known, shard, server, position] = match cursor {
            Some(cursor) => cursor::open(cursor::KEYS, self.prefix, cursor)?,
            None => [fingerprint, 0, 0, 0],
        };
        let index = usize::try_from(shard).map_err(|_| Error::BadCursor)?;
        let (slot, master) = match shards.get(index) {
            Some(shard) if known == fingerprint => *shard,
            _ => return Err(Error::BadCursor),
        };
        let own = number(&master.id);
        let position = if server == own { position } else { 0 };
        let mut answers = self.answers(Some(slot), position).await?;
        let (next, keys) = self.keys(answers.pop())?;
        // Another server may have taken over during the call and taken this number for one of its own.
        let same_servers = self.wire.layout().shards() == shards;
        if !self.agrees(answers.pop(), master, fingerprint) || !same_servers {
            return Ok(None);
        }
        let next = match next {
            0 if index + 1 == shards.len() => None,
            0 => Some([fingerprint, shard + 1, 0, 0]),
            next => Some([fingerprint, shard, own, next]),
        };
        let next = next.map(|numbers| cursor::seal(cursor::KEYS, self.prefix, numbers));
        Ok(Some(KeyPage { keys, next }))
    }

    /// Whether a server sees the layout that we see; if not, we take over its view.
    fn agrees(&self, view: Option<Value>, server: &Member, fingerprint: u64) -> bool {
        let view = view.and_then(|view| Layout::parse(&view, &server.node));
        match view {
            Some(view) if view.covers_everything() && view.fingerprint() != fingerprint => {
                self.wire.adopt(view);
                false
            }
            _ => true,
        }
    }

    /// What a server answers: its view of the layout if it is one of a Cluster, and a page.
    async fn answers(&self, slot: Option<u16>, position: u64) -> Result<Vec<Value>> {
        let mut commands = Pipeline::with_capacity(2);
        if slot.is_some() {
            commands.cmd("CLUSTER").arg("SLOTS");
        }
        let mut command = cmd("SCAN");
        let pattern = self.place.keys.pattern(self.prefix);
        command.arg(position).arg("MATCH").arg(pattern).arg("COUNT").arg(self.limit.max(1));
        commands.add_command(command);
        let database = self.place.database;
        self.wire.call(&Request { intent: Intent::Read, database, slot, commands, load: None }).await
    }

    /// The account's own keys in a page, and Redis's number of the next.
    fn keys(&self, page: Option<Value>) -> Result<(u64, Vec<Key>)> {
        let page = match page {
            Some(Value::ServerError(error)) => return Err(Error::Unavailable(problem::text(&error))),
            Some(page) => page,
            None => return Err(value::shape("a page", None)),
        };
        let (next, page) = cursor::split(page)?;
        let names = value::list(page, value::bytes)?;
        let inner = names.iter().filter_map(|name| self.place.keys.inner(name));
        Ok((next, inner.filter(|name| name.starts_with(self.prefix)).map(Key::from).collect()))
    }
}

fn number(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
