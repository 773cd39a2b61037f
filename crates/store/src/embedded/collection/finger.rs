//! Looking keys up one after the other. Who asks for many mostly asks in their order, so the page of the last one is kept
//! at hand: it is found without the directory, and read from the records once instead of once a key.

use super::tree::{Held, Tree};
use crate::Result;
use crate::embedded::records::Records;

pub(super) struct Finger<'a> {
    tree: &'a Tree,
    records: &'a Records,
    on: Option<On<'a>>,
}

/// The page of the last key.
struct On<'a> {
    page: Held<'a>,
    /// The keys that it covers: from the first fence to before the second.
    fence: &'a [u8],
    next_fence: Option<&'a [u8]>,
    /// Where the last key was, or would be.
    at: usize,
}

impl On<'_> {
    fn covers(&self, key: &[u8]) -> bool {
        self.fence <= key && self.next_fence.is_none_or(|next| key < next)
    }
}

impl<'a> Finger<'a> {
    pub(super) fn new(tree: &'a Tree, records: &'a Records) -> Self {
        Self { tree, records, on: None }
    }

    pub(super) fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        if !self.on.as_ref().is_some_and(|on| on.covers(key)) {
            self.on = self.turn_to(key)?;
        }
        let Some(on) = &mut self.on else { return Ok(None) };
        let found = on.page.find_near(key, on.at);
        let (Ok(at) | Err(at)) = found;
        on.at = at;
        Ok(found.ok().map(|at| on.page.value(at)))
    }

    fn turn_to(&self, key: &[u8]) -> Result<Option<On<'a>>> {
        let directory = self.tree.directory(self.records)?;
        let Some((chunk, leaf)) = directory.position(key) else { return Ok(None) };
        let found = &directory.chunks[chunk].leaves[leaf];
        let page = self.tree.page(found, self.records)?;
        Ok(Some(On { page, fence: &found.fence, next_fence: directory.fence_after(chunk, leaf), at: 0 }))
    }
}
