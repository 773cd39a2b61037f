//! Records without a directory: the same bytes in ordered maps.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use super::{Change, Found, Range, Slice, Space};
use crate::Order;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    records: RwLock<BTreeMap<(Space, Slice), Slice>>,
}

impl Memory {
    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Option<Slice> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        records.get(&(space, Slice::from(key))).cloned()
    }

    /// Looks its place up anew at each step, so that no lock is held between them.
    pub(crate) fn range(&self, space: Space, range: Range<'_>, order: Order) -> impl Iterator<Item = Found> + '_ {
        let mut from = range.0.map(Slice::from);
        let mut to = range.1.map(Slice::from);
        std::iter::from_fn(move || {
            if is_empty(&from, &to) {
                return None;
            }
            let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
            let mut rest = records.range((in_space(space, &from, Side::Low), in_space(space, &to, Side::High)));
            let ((_, key), value) = match order {
                Order::Ascending => rest.next(),
                Order::Descending => rest.next_back(),
            }?;
            match order {
                Order::Ascending => from = Bound::Excluded(key.clone()),
                Order::Descending => to = Bound::Excluded(key.clone()),
            }
            Some(Ok((key.clone(), value.clone())))
        })
    }

    pub(crate) fn write(&self, changes: Vec<Change>) {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for Change { space, key, value } in changes {
            match value {
                Some(value) => records.insert((space, key), value),
                None => records.remove(&(space, key)),
            };
        }
    }
}

/// A `BTreeMap` panics on a range that ends before it starts.
fn is_empty(from: &Bound<Slice>, to: &Bound<Slice>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    }
}

enum Side {
    Low,
    High,
}

fn in_space(space: Space, bound: &Bound<Slice>, side: Side) -> Bound<(Space, Slice)> {
    match (bound, side) {
        (Bound::Included(key), _) => Bound::Included((space, key.clone())),
        (Bound::Excluded(key), _) => Bound::Excluded((space, key.clone())),
        (Bound::Unbounded, Side::Low) => Bound::Included((space, Slice::from([]))),
        (Bound::Unbounded, Side::High) => match Space::ALL.iter().find(|(other, _)| *other > space) {
            Some((next, _)) => Bound::Excluded((*next, Slice::from([]))),
            None => Bound::Unbounded,
        },
    }
}
