//! Memory for bodies, shared by all requests.
//!
//! Each body has its own limit, but a thousand of them at the limit would not fit. What does not fit in the budget is
//! refused at once instead of waiting, because bodies that wait for each other's memory could wait for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, Result, Word};

const PAGE_BYTES: usize = 4_096;

/// A buffer that outgrows this gets all the room it may ever need at once. Addresses cost nothing until they are written to,
/// so it takes what is in it, and it never moves, which would take twice that.
const MOVING_BYTES_MAX: usize = 1_024 * 1_024;
/// The allocator gives a piece of at least this size straight back to the system; smaller ones it keeps for a while.
const GIVEN_BACK_BYTES: usize = 8 * 1_024 * 1_024;
/// What a reader may look ahead beyond the limit.
const SLACK_BYTES: usize = 128 * 1_024;

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
    /// Makes room for `more` bytes in a buffer that ends at about `bytes_max`. What is counted is what will be written.
    pub(crate) fn reserve(&mut self, buffer: &mut Vec<u8>, more: usize, bytes_max: usize) -> Result<()> {
        let needed = buffer.len() + more;
        self.grow_to(needed)?;
        if needed <= buffer.capacity() {
            return Ok(());
        }
        let capacity = if needed > MOVING_BYTES_MAX {
            needed.max(bytes_max).max(GIVEN_BACK_BYTES) + SLACK_BYTES
        } else {
            needed.next_power_of_two()
        };
        buffer.try_reserve_exact(capacity - buffer.len()).map_err(|_| full())
    }

    /// Makes sure of room for `bytes` in all.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<()> {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Some(more) = bytes.div_ceil(PAGE_BYTES).checked_sub(held).filter(|more| *more > 0) else { return Ok(()) };
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.budget.pages).try_acquire_many_owned(more).map_err(|_| full())?;
        match &mut self.held {
            Some(held) => held.merge(permit),
            None => self.held = Some(permit),
        }
        Ok(())
    }
}

fn full() -> Problem {
    Problem::new(Word::Overloaded, "The bodies of other requests fill the memory there is for them.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_counted_as_it_fills_and_never_moves() {
        let budget = Budget::new(8 * MOVING_BYTES_MAX);
        let mut share = budget.share();
        let mut buffer = Vec::new();
        share.reserve(&mut buffer, 2 * MOVING_BYTES_MAX, 64 * MOVING_BYTES_MAX).unwrap();
        let place = buffer.as_ptr();
        for _ in 0..4 {
            share.reserve(&mut buffer, 2 * MOVING_BYTES_MAX, 64 * MOVING_BYTES_MAX).unwrap();
            buffer.resize(buffer.len() + 2 * MOVING_BYTES_MAX, 0);
        }
        assert_eq!((buffer.as_ptr(), budget.pages.available_permits()), (place, 0));
        assert!(share.reserve(&mut buffer, 1, 64 * MOVING_BYTES_MAX).is_err());
        drop(share);
        assert_eq!(budget.pages.available_permits(), 8 * MOVING_BYTES_MAX / PAGE_BYTES);
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
