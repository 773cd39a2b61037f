//! The records of a large collection as they are now: the changes in memory laid over the checkpoint.

use std::iter::Peekable;
use std::ops::Bound;

use super::large::{Large, Layer, record_key};
use crate::embedded::records::{Range, Records, Slice, Space};
use crate::{Order, Result};

type Change = Result<(Slice, Option<Slice>)>;
type Source<'a> = Peekable<Box<dyn Iterator<Item = Change> + 'a>>;

/// Sub-keys and values of a range that are there now, in order.
pub(super) fn merged<'a>(
    large: &'a Large,
    range: Range<'_>,
    order: Order,
    records: &'a Records,
) -> impl Iterator<Item = Result<(Slice, Slice)>> + use<'a> {
    // Newest first: of several changes to one sub-key, the first source's counts.
    let mut sources: Vec<Source<'a>> = Vec::with_capacity(3);
    if !is_empty(range) {
        sources.extend(large.layers().map(|layer| from_layer(layer, range, order)));
        if large.is_stored() {
            sources.push(from_records(large.id(), range, order, records));
        }
    }
    std::iter::from_fn(move || {
        loop {
            match next_change(&mut sources, order)? {
                Ok((_, None)) => {}
                Ok((sub_key, Some(value))) => return Some(Ok((sub_key, value))),
                Err(error) => {
                    sources.clear();
                    return Some(Err(error));
                }
            }
        }
    })
}

/// The change with the next sub-key, taken from the newest source that has it and dropped from the others.
fn next_change(sources: &mut [Source<'_>], order: Order) -> Option<Change> {
    let mut next: Option<Slice> = None;
    for source in sources.iter_mut() {
        match source.peek() {
            None => {}
            Some(Err(_)) => return source.next(),
            Some(Ok((sub_key, _))) => {
                let earlier = next.as_ref().is_none_or(|next| match order {
                    Order::Ascending => sub_key < next,
                    Order::Descending => sub_key > next,
                });
                if earlier {
                    next = Some(sub_key.clone());
                }
            }
        }
    }
    let next = next?;
    let mut newest = None;
    for source in sources {
        let taken = source.next_if(|change| matches!(change, Ok((sub_key, _)) if *sub_key == next));
        newest = newest.or(taken);
    }
    newest
}

fn from_layer<'a>(layer: &'a Layer, range: Range<'_>, order: Order) -> Source<'a> {
    let changes = layer.range((range.0.map(Slice::from), range.1.map(Slice::from)));
    let changes = changes.map(|(sub_key, value)| Ok((sub_key.clone(), value.clone())));
    let boxed: Box<dyn Iterator<Item = Change>> = match order {
        Order::Ascending => Box::new(changes),
        Order::Descending => Box::new(changes.rev()),
    };
    boxed.peekable()
}

fn from_records<'a>(id: u64, range: Range<'_>, order: Order, records: &'a Records) -> Source<'a> {
    let within = |bound: Bound<&[u8]>| bound.map(|sub_key| record_key(id, sub_key));
    let (from, to) = (within(range.0), within(range.1));
    let found = records.range(Space::Elements, (as_slice(&from), as_slice(&to)), order);
    let boxed: Box<dyn Iterator<Item = Change>> = Box::new(found.map(|found| {
        let (key, value) = found?;
        Ok((Slice::from(&key[size_of::<u64>()..]), Some(value)))
    }));
    boxed.peekable()
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// A `BTreeMap` panics on a range that ends before it starts.
fn is_empty((from, to): Range<'_>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    }
}
