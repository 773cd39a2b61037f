//! Going through a tree's entries, page by page.

use std::ops::{Bound, Range};

use super::tree::{Held, Tree};
use crate::embedded::records::Records;
use crate::{Order, Result};

pub(super) struct Walk<'a> {
    tree: &'a Tree,
    records: &'a Records,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    order: Order,
    /// The page being read, and what of it is left.
    page: Option<Held<'a>>,
    left: Range<usize>,
    next_leaf: Next,
}

/// The leaf that comes after the one being read.
#[derive(Clone, Copy)]
enum Next {
    First,
    At(usize, usize),
    None,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        tree: &'a Tree,
        (from, to): (Bound<Vec<u8>>, Bound<Vec<u8>>),
        order: Order,
        records: &'a Records,
    ) -> Self {
        Self { tree, records, from, to, order, page: None, left: 0..0, next_leaf: Next::First }
    }

    pub(super) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        loop {
            let at = match self.order {
                Order::Ascending => self.left.next(),
                Order::Descending => self.left.next_back(),
            };
            if let (Some(at), Some(page)) = (at, &self.page) {
                return Ok(Some((page.key(at), page.value(at).to_vec())));
            }
            if !self.turn()? {
                return Ok(None);
            }
        }
    }

    /// Goes to the next page; false after the last.
    fn turn(&mut self) -> Result<bool> {
        let directory = self.tree.directory(self.records)?;
        let (chunk, leaf) = match self.next_leaf {
            Next::None => return Ok(false),
            Next::At(chunk, leaf) => (chunk, leaf),
            Next::First => {
                let last = || Some((directory.chunks.len().checked_sub(1)?, directory.chunks.last()?.leaves.len() - 1));
                let first = match (self.order, &self.from, &self.to) {
                    (Order::Ascending, Bound::Included(key) | Bound::Excluded(key), _)
                    | (Order::Descending, _, Bound::Included(key) | Bound::Excluded(key)) => directory.position(key),
                    (Order::Ascending, Bound::Unbounded, _) => last().map(|_| (0, 0)),
                    (Order::Descending, _, Bound::Unbounded) => last(),
                };
                match first {
                    Some(first) => first,
                    None => return Ok(false),
                }
            }
        };
        let leaves = &directory.chunks[chunk].leaves;
        let page = self.tree.page(&leaves[leaf], self.records)?;
        let from = match &self.from {
            Bound::Included(key) => page.find(key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => page.find(key).map_or_else(|at| at, |at| at + 1),
            Bound::Unbounded => 0,
        };
        let to = match &self.to {
            Bound::Included(key) => page.find(key).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(key) => page.find(key).unwrap_or_else(|at| at),
            Bound::Unbounded => page.len(),
        };
        // An end of the range within the page is the end of the walk.
        self.next_leaf = match self.order {
            Order::Ascending if to < page.len() => Next::None,
            Order::Ascending if leaf + 1 < leaves.len() => Next::At(chunk, leaf + 1),
            Order::Ascending if chunk + 1 < directory.chunks.len() => Next::At(chunk + 1, 0),
            Order::Descending if from > 0 => Next::None,
            Order::Descending if leaf > 0 => Next::At(chunk, leaf - 1),
            Order::Descending if chunk > 0 => Next::At(chunk - 1, directory.chunks[chunk - 1].leaves.len() - 1),
            _ => Next::None,
        };
        self.left = from..to.max(from);
        self.page = Some(page);
        Ok(true)
    }
}
