//! The capabilities: what a fact means, and which reads and writes it needs.
//!
//! Knows [`tickmark_store::Store`], never which one. Reads no clock and draws no random numbers: both are arguments, so
//! that every rule can be tested at any time of day.

pub mod accounts;
pub mod audience;
pub mod calculations;
mod error;
mod name;
pub mod series;
mod time;
pub mod updates;

pub use error::{Error, Result};
pub use name::{NAME_BYTES_MAX, Name, NameError};
pub use time::Seconds;
