//! The mathematics of Tickmark: no I/O, no clock, no async.
