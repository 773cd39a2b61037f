//! What a server can be told. Every bound it has is here, with its default.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tickmark_engine::accounts::{Limits, Scopes};
use tickmark_store::Account;

use crate::countries::Countries;
use crate::line_protocol::Strings;

const KIB: usize = 1_024;
const MIB: usize = 1_024 * KIB;

/// Everything but the store and the listener.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub bounds: Bounds,
    pub access: AccessSettings,
    /// Origins whose pages may call this server; none by default.
    pub cors_origins: Vec<String>,
    /// Where countries are looked up; nowhere by default.
    pub countries: Option<Arc<Countries>>,
    /// After how long heartbeats and what is known of single viewers go away; never, where it is none.
    pub audience_retention: Option<Duration>,
    /// Where alerts may be posted to.
    pub webhooks: WebhookReach,
    /// What a text field of the line protocol does.
    pub line_strings: Strings,
}

/// Where webhooks may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookReach {
    /// On addresses of the Internet at large.
    #[default]
    Public,
    /// On private, loopback and link-local addresses, too.
    Everywhere,
}

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Of one body, as it is sent. More is 413.
    pub body_bytes_max: usize,
    /// Of one body, unpacked. More is 413.
    pub unpacked_bytes_max: usize,
    /// Of all bodies held at once. More is 503.
    pub bodies_bytes_max: usize,
    /// Points in one answer. More is 422.
    pub points_max: u64,
    /// Requests under way at once, live connections apart. More is 503.
    pub requests_max: usize,
    /// Live connections at once. More is 503.
    pub listeners_max: usize,
    /// Connections at once. More are answered 503 and closed.
    pub connections_max: usize,
    /// Of one request's headers together. More is 431.
    pub header_bytes_max: usize,
    /// Headers of one request. More is 431.
    pub headers_max: usize,
    /// Until the headers of a request are there. Longer is 408.
    pub headers_wait: Duration,
    /// Until the whole body is there. Longer is 408.
    pub body_wait: Duration,
    /// Until the answer begins. Longer is 503.
    pub answer_wait: Duration,
    /// For what is in flight when the server is told to stop. What takes longer is cut off.
    pub shutdown_wait: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 * MIB,
            unpacked_bytes_max: 64 * MIB,
            bodies_bytes_max: 512 * MIB,
            points_max: 1_000_000,
            requests_max: 1_024,
            listeners_max: 10_000,
            connections_max: 12_000,
            header_bytes_max: 64 * KIB,
            headers_max: 100,
            headers_wait: Duration::from_secs(10),
            body_wait: Duration::from_secs(30),
            answer_wait: Duration::from_mins(1),
            shutdown_wait: Duration::from_secs(10),
        }
    }
}

/// Who may come in.
#[derive(Clone, Debug, Default)]
pub struct AccessSettings {
    pub openness: Openness,
    pub jwt: Option<JwtSettings>,
}

/// What a request without a token may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Openness {
    /// Nothing.
    #[default]
    Closed,
    /// Everything in account 0, as long as there is no token in the store and no JWT is configured.
    OpenWithoutTokens,
}

/// Tokens that someone else signs.
#[derive(Clone, Debug)]
pub struct JwtSettings {
    pub keys: KeySource,
    /// What `iss` must be.
    pub issuer: String,
    /// What `aud` must be, or have among others.
    pub audience: String,
    /// The account that bearers work in.
    pub account: Account,
    pub scopes: Scopes,
    /// For each user.
    pub limits: Limits,
}

/// Where the JSON Web Key Set is.
#[derive(Clone, Debug)]
pub enum KeySource {
    Url(String),
    File(PathBuf),
}
