//! Values and the statistics declared over them, beside the same kept by hand in Redis.

pub mod values;
