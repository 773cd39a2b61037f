//! Tickmark over HTTP.
//!
//! One set of habits for every route: who asks is known before a handler runs ([`Identity`]), bodies are read within
//! bounds ([`intake`]), writes happen once however often they are sent ([`once`]), live updates come from one place
//! ([`live`]), and everything that is refused is refused in one shape ([`problem`]). A handler is what is left.

mod access;
mod clock;
mod connection;
mod context;
mod countries;
pub mod extract;
mod flag;
mod hexadecimal;
pub mod intake;
mod layers;
pub mod line_protocol;
pub mod live;
mod measure;
pub mod once;
mod openapi;
pub mod problem;
mod router;
mod routes;
mod server;
mod settings;
mod statsd;
mod tending;
mod upkeep;

pub use access::Identity;
pub use context::Context;
pub use countries::Countries;
pub use measure::start_counting;
pub use openapi::document;
pub use server::Server;
pub use settings::{AccessSettings, Bounds, JwtSettings, KeySource, Openness, Settings, WebhookReach};
pub use statsd::Statsd;
