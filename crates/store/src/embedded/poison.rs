//! Remembers why nothing may be written any more.

use std::sync::OnceLock;

use crate::{Error, Result};

#[derive(Debug, Default)]
pub(crate) struct Poison {
    why: OnceLock<String>,
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

    pub(crate) fn check(&self) -> Result<()> {
        self.get().map_or(Ok(()), |why| Err(Error::Poisoned(why.into())))
    }
}
