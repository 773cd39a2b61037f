//! The capabilities on every kind of store, driven by a simulated clock.

mod audience;
mod stores;
