//! Remembers why nothing may be written any more.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

#[derive(Debug, Default)]
pub(crate) struct Poison {
    why: OnceLock<String>,
    closed: AtomicBool,
}

impl Poison {
    /// The first failure is the one that matters.
    pub(crate) fn set(&self, error: &Error) {
        let why = match error {
            Error::Poisoned(why) => why.clone(),
            other => other.to_string(),
        };
        if self.why.set(why).is_ok() {
            tracing::error!(%error, "the store accepts no more writes");
        }
    }

    pub(crate) fn get(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        self.get().map_or(Ok(()), |why| Err(Error::Poisoned(why.into())))
    }
}
