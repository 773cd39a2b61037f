//! The handlers, with their OpenAPI annotations beside them.

pub(crate) mod audience;
pub(crate) mod calculations;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod series;
pub(crate) mod tokens;
pub(crate) mod updates;
