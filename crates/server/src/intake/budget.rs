//! Memory for bodies, shared by all requests.
//!
//! Each body has its own limit, but a thousand of them at the limit would not fit. What does not fit in the budget is
//! refused at once instead of waiting, because bodies that wait for each other's memory could wait for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, Result, Word};

const PAGE_BYTES: usize = 4_096;

#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pages: Arc<Semaphore>,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { pages: Arc::new(Semaphore::new(bytes.div_ceil(PAGE_BYTES).min(Semaphore::MAX_PERMITS))) }
    }

    pub(crate) fn share(&self) -> Share {
        Share { budget: self.clone(), held: None }
    }
}

/// What one body has of the budget; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    held: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Makes room for `more` bytes in a buffer that ends at about `bytes_max`. What is counted is what the buffer takes, not
    /// what is in it, and while it moves to a larger place it takes both.
    pub(crate) fn reserve(&mut self, buffer: &mut Vec<u8>, more: usize, bytes_max: usize) -> Result<()> {
        let needed = buffer.len() + more;
        if needed <= buffer.capacity() {
            return Ok(());
        }
        let capacity = needed.max((buffer.capacity() * 2).min(bytes_max));
        self.grow_to(buffer.capacity() + capacity)?;
        buffer.reserve_exact(capacity - buffer.len());
        self.shrink_to(buffer.capacity());
        Ok(())
    }

    /// Gives back what is beyond `bytes`.
    fn shrink_to(&mut self, bytes: usize) {
        if let Some(held) = &mut self.held {
            let beyond = held.num_permits().saturating_sub(bytes.div_ceil(PAGE_BYTES));
            drop(held.split(beyond));
        }
    }

    /// Makes sure of room for `bytes` in all.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<()> {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Some(more) = bytes.div_ceil(PAGE_BYTES).checked_sub(held).filter(|more| *more > 0) else { return Ok(()) };
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.budget.pages).try_acquire_many_owned(more).map_err(|_| {
            Problem::new(Word::Overloaded, "The bodies of other requests fill the memory there is for them.")
        })?;
        match &mut self.held {
            Some(held) => held.merge(permit),
            None => self.held = Some(permit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_moves_takes_both_places_only_while_it_moves() {
        let budget = Budget::new(10 * PAGE_BYTES);
        let mut share = budget.share();
        let mut buffer = Vec::new();
        share.reserve(&mut buffer, 3 * PAGE_BYTES, 8 * PAGE_BYTES).unwrap();
        buffer.resize(3 * PAGE_BYTES, 0);
        share.reserve(&mut buffer, PAGE_BYTES, 8 * PAGE_BYTES).unwrap();
        assert_eq!((buffer.capacity(), budget.pages.available_permits()), (6 * PAGE_BYTES, 4));
        buffer.resize(6 * PAGE_BYTES, 0);
        assert!(share.reserve(&mut buffer, PAGE_BYTES, 8 * PAGE_BYTES).is_err());
        drop(share);
        assert_eq!(budget.pages.available_permits(), 10);
    }

    #[test]
    fn what_one_gives_back_another_may_have() {
        let budget = Budget::new(10 * PAGE_BYTES);
        let mut first = budget.share();
        first.grow_to(6 * PAGE_BYTES).unwrap();
        first.grow_to(PAGE_BYTES).unwrap();
        let mut second = budget.share();
        assert_eq!(second.grow_to(5 * PAGE_BYTES).unwrap_err().word(), Word::Overloaded);
        second.grow_to(4 * PAGE_BYTES).unwrap();
        drop(first);
        second.grow_to(10 * PAGE_BYTES).unwrap();
    }
}
