//! Instants of the wall clock, as whole seconds since 1970.

use std::fmt;

/// A moment. Handed in by whoever has a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(pub u64);

impl Seconds {
    #[must_use]
    pub fn plus(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
