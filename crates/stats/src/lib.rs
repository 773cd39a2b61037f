//! The mathematics of Tickmark: no I/O, no clock, no async.
//!
//! Every module is a shelf of its own and none knows another's insides. Functions take numbers and give numbers;
//! what the input does not allow is `None` or an error, never a NaN and never a panic.

pub mod calendar;
pub mod exact;
pub mod hll;
pub mod line;
pub mod means;
pub mod moments;
pub mod percentile;
pub mod regression;
pub mod schedule;
mod student;
pub mod sums;

pub use calendar::{Calendar, Interval, TimeError, Timestamp, WallClock};
pub use exact::Exact;
pub use hll::{Hll, HllError};
pub use line::Line;
pub use moments::Moments;
pub use percentile::percentile;
pub use regression::{Confidence, Regression};
pub use schedule::Schedule;
pub use sums::Sums;
