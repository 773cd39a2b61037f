//! What happens around every handler.

mod headers;
mod observe;
mod pressure;

pub(crate) use headers::cors;
pub(crate) use observe::observe;
pub(crate) use pressure::{UnderWay, under_pressure};
