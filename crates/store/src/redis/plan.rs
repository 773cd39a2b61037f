//! What is sent for a batch, and where to.

use std::collections::HashMap;

use redis::Pipeline;

use super::names::Names;
use super::wire::{Intent, Request};
use super::{encode, script, slot};
use crate::{Account, Batch, Error, Guard, Key, Op, Result};

/// A request that writes a batch, and its keys in the order in which the answer refers to them.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) keys: Vec<&'a Key>,
    pub(super) request: Request,
}

/// What a server must be told about an account's names and databases.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) database: u32,
    pub(super) keys: Names,
    pub(super) channels: Names,
    pub(super) is_cluster: bool,
}

impl Place {
    pub(super) fn new(account: Account, is_cluster: bool) -> Self {
        let channels = Names::prefixed(account);
        if is_cluster {
            Self { database: 0, keys: channels.clone(), channels, is_cluster }
        } else {
            Self { database: account.0, keys: Names::Plain, channels, is_cluster }
        }
    }

    /// The slot of a key on the server; `None` where there are no slots.
    pub(super) fn slot(&self, outer: &[u8]) -> Option<u16> {
        self.is_cluster.then(|| slot::of(outer))
    }
}

pub(super) fn plan<'a>(place: &Place, batch: &'a Batch) -> Result<Plan<'a>> {
    let mut keys = Keys::default();
    let in_guards = batch.guards.iter().map(Guard::key);
    in_guards.chain(batch.ops.iter().filter_map(Op::key)).for_each(|key| keys.add(key));
    let mut outer: Vec<Vec<u8>> = keys.order.iter().map(|key| place.keys.outer(key.as_bytes())).collect();
    let slot = one_slot(place, &keys.order, &outer)?.or_else(|| channel_slot(place, batch));
    let spare = outer.len() + 1;
    if batch.ops.iter().any(|op| matches!(op, Op::HllMerge { .. })) {
        outer.push(match slot {
            Some(slot) => format!("tm:merge:{{{}}}", slot::tag(slot)).into_bytes(),
            None => b"tm:merge".to_vec(),
        });
    }

    let packed = encode::batch(place, batch, keys.indexes, spare)?;
    let mut commands = Pipeline::with_capacity(1);
    commands.add_command(script::call(outer.iter().map(Vec::as_slice), &packed));
    let load = Some(script::load());
    let request = Request { intent: Intent::Write, database: place.database, slot, commands, load };
    Ok(Plan { keys: keys.order, request })
}

fn one_slot(place: &Place, keys: &[&Key], outer: &[Vec<u8>]) -> Result<Option<u16>> {
    let Some(first) = outer.first() else { return Ok(None) };
    let slot = place.slot(first);
    match outer.iter().position(|other| place.slot(other) != slot) {
        Some(other) => Err(Error::CrossSlot { first: keys[0].clone(), second: keys[other].clone() }),
        None => Ok(slot),
    }
}

/// Any server of a Cluster publishes, but messages stay in order only if they start from the same. So a batch without
/// keys goes where the channel's name belongs, where the batches with keys of the same tag go.
fn channel_slot(place: &Place, batch: &Batch) -> Option<u16> {
    batch.ops.iter().find_map(|op| match op {
        Op::Publish { channel, .. } => place.slot(&place.channels.outer(channel.as_bytes())),
        _ => None,
    })
}

/// Each key once; indexes count from one, as the script does.
#[derive(Default)]
struct Keys<'a> {
    order: Vec<&'a Key>,
    indexes: HashMap<&'a Key, usize>,
}

impl<'a> Keys<'a> {
    fn add(&mut self, key: &'a Key) {
        let next = self.order.len() + 1;
        self.indexes.entry(key).or_insert_with(|| {
            self.order.push(key);
            next
        });
    }
}
