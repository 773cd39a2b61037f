//! Every command and option, as a table that help, completions, variables and the configuration file all read.
//!
//! An option `--max-body` is also the variable `TICKMARK_MAX_BODY` and the key `max_body` of `tickmark.toml`. A flag beats a
//! variable beats the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tickmark_engine::accounts::Scopes;
use tickmark_store::embedded::Durability;

use crate::logs::Filter;
use crate::store::StoreAddress;
use crate::units::{self, Count, Origin, Size};
use crate::values::ValuesCommand;

/// Live statistics over time: counts, unique visitors, trends, audiences, progress.
///
/// Start with `tickmark serve`, then open the address it prints.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Every option is also a TICKMARK_… variable and a key of tickmark.toml:\n\
    --max-body 1MiB, TICKMARK_MAX_BODY=1MiB, max_body = \"1MiB\". A flag beats a variable beats the file.\n\
    Exit codes: 0 done, 1 failed, 2 wrong usage."
)]
pub(crate) struct Arguments {
    /// The file to read options from; tickmark.toml in this folder where there is one.
    #[arg(long, global = true, env = "TICKMARK_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer HTTP requests until stopped.
    Serve(Box<ServeOptions>),
    /// Make, list and revoke access tokens.
    ///
    /// Opens the store itself. While a server has a directory open, use its route /v1/tokens instead.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Count events and read what was counted, on a running server.
    Series {
        #[command(subcommand)]
        command: SeriesCommand,
    },
    /// Keep values and read what is calculated from them, on a running server.
    Values {
        #[command(subcommand)]
        command: ValuesCommand,
    },
    /// Ask who is watching, and who was, on a running server.
    Audience {
        #[command(subcommand)]
        command: AudienceCommand,
    },
    /// Print a script that completes commands and options in a shell.
    Completions { shell: Shell },
}

#[derive(Debug, Args)]
pub(crate) struct StoreOptions {
    /// Where data is kept: a directory, redis://…, rediss://…, redis+cluster://h1:p1,h2:p2, or memory: for nowhere.
    #[arg(long, env = "TICKMARK_STORE", value_name = "PATH_OR_URL", default_value = "./tickmark-data")]
    pub(crate) store: StoreAddress,
    /// When a write counts as done: on disk (always), on disk within a second (interval), or whenever the kernel likes (os).
    ///
    /// Of a directory; Redis has its own settings for this.
    #[arg(long, env = "TICKMARK_DURABILITY", default_value = "always")]
    pub(crate) durability: DurabilityName,
    /// How much memory a directory's store may use.
    #[arg(long, env = "TICKMARK_MEMORY", value_name = "SIZE", default_value = "256MiB")]
    pub(crate) memory: Size,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DurabilityName {
    Always,
    Interval,
    Os,
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Self {
        match name {
            DurabilityName::Always => Self::Always,
            DurabilityName::Interval => Self::Interval,
            DurabilityName::Os => Self::Os,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, env = "TICKMARK_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = units::address)]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
    /// Let everyone in who can reach the address, as long as there are no tokens, even if it is not loopback.
    #[arg(long, env = "TICKMARK_INSECURE", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          default_value = "false", value_name = "BOOL")]
    pub(crate) insecure: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as `warn,tickmark_server=info`.
    #[arg(long, env = "TICKMARK_LOG", value_name = "FILTER", default_value = "info")]
    pub(crate) log: Filter,
    /// Web pages that may call this server from a browser, joined by commas; * for all.
    #[arg(long, env = "TICKMARK_CORS_ORIGINS", value_name = "ORIGINS", value_delimiter = ',')]
    pub(crate) cors_origins: Vec<Origin>,
    /// Also take StatsD metrics on this address, over UDP and TCP; port 0 takes a free one. There are no tokens in StatsD.
    #[arg(long, env = "TICKMARK_STATSD", value_name = "ADDRESS")]
    pub(crate) statsd: Option<SocketAddr>,
    /// Post alerts to private, loopback and link-local addresses, too.
    #[arg(long, env = "TICKMARK_PRIVATE_WEBHOOKS", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub(crate) private_webhooks: bool,
    /// What a text field of the line protocol does: count one (count) or nothing (skip).
    #[arg(long, env = "TICKMARK_LINE_STRINGS", default_value = "count")]
    pub(crate) line_strings: LineStrings,
    /// A MaxMind file (.mmdb) to look up the countries of viewers in.
    #[arg(long, env = "TICKMARK_GEOIP", value_name = "FILE")]
    pub(crate) geoip: Option<PathBuf>,
    /// Days that heartbeats and what is known of single viewers are kept; 0 for ever. Numbers stay.
    #[arg(long, env = "TICKMARK_AUDIENCE_DAYS", value_name = "DAYS", default_value_t = 90)]
    pub(crate) audience_days: u32,
    #[command(flatten, next_help_heading = "JSON Web Tokens")]
    pub(crate) jwt: JwtOptions,
    #[command(flatten, next_help_heading = "Limits")]
    pub(crate) limits: LimitOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LineStrings {
    Count,
    Skip,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "a field is named as its flag is")]
pub(crate) struct JwtOptions {
    /// The key set that signs tokens: an https:// URL or a file. Takes --jwt-issuer and --jwt-audience too.
    #[arg(long, env = "TICKMARK_JWT_KEYS", value_name = "URL_OR_FILE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) jwt_keys: Option<String>,
    /// What a token's `iss` must be.
    #[arg(long, env = "TICKMARK_JWT_ISSUER", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) jwt_issuer: Option<String>,
    /// What a token's `aud` must be.
    #[arg(long, env = "TICKMARK_JWT_AUDIENCE", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) jwt_audience: Option<String>,
    /// The account that bearers work in.
    #[arg(long, env = "TICKMARK_JWT_ACCOUNT", value_name = "NUMBER", default_value_t = 0)]
    pub(crate) jwt_account: u32,
    /// What bearers may do.
    #[arg(long, env = "TICKMARK_JWT_SCOPES", value_name = "SCOPES", default_value = "read,write")]
    pub(crate) jwt_scopes: Scopes,
    /// Requests a second of one user.
    #[arg(long, env = "TICKMARK_JWT_REQUESTS_PER_SECOND", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jwt_requests_per_second: Option<u32>,
    /// Bytes a day of one user.
    #[arg(long, env = "TICKMARK_JWT_BYTES_PER_DAY", value_name = "SIZE")]
    pub(crate) jwt_bytes_per_day: Option<Size>,
}

#[derive(Debug, Args)]
pub(crate) struct LimitOptions {
    /// Of one body, as it is sent and unpacked.
    #[arg(long, env = "TICKMARK_MAX_BODY", value_name = "SIZE", default_value = "64MiB")]
    pub(crate) max_body: Size,
    /// Of all bodies held at once.
    #[arg(long, env = "TICKMARK_MAX_BODIES", value_name = "SIZE", default_value = "512MiB")]
    pub(crate) max_bodies: Size,
    /// Points in one answer.
    #[arg(long, env = "TICKMARK_MAX_POINTS", value_name = "COUNT", default_value_t = 1_000_000)]
    pub(crate) max_points: u64,
    /// Requests under way at once.
    #[arg(long, env = "TICKMARK_MAX_REQUESTS", value_name = "COUNT", default_value = "1024")]
    pub(crate) max_requests: Count,
    /// Live connections at once.
    #[arg(long, env = "TICKMARK_MAX_LISTENERS", value_name = "COUNT", default_value = "10000")]
    pub(crate) max_listeners: Count,
    /// Connections at once.
    #[arg(long, env = "TICKMARK_MAX_CONNECTIONS", value_name = "COUNT", default_value = "12000")]
    pub(crate) max_connections: Count,
    /// How long to wait for what is in flight when told to stop.
    #[arg(long, env = "TICKMARK_SHUTDOWN_SECONDS", value_name = "SECONDS", default_value_t = 10)]
    pub(crate) shutdown_seconds: u32,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this once.
    Create {
        /// Whom it is for.
        #[arg(long, value_name = "TEXT")]
        name: String,
        /// What it allows: read, write, admin, or only heartbeat, joined by commas.
        #[arg(long, value_name = "SCOPES", default_value = "read,write")]
        scopes: Scopes,
        /// The account it opens.
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        account: u32,
        /// Days until it expires; left out, it does not.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=36_600))]
        expires_in_days: Option<u64>,
        /// Requests a second; left out, no limit.
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
        requests_per_second: Option<u32>,
        /// Bytes a day; left out, no limit.
        #[arg(long, value_name = "SIZE")]
        bytes_per_day: Option<Size>,
        #[command(flatten)]
        output: TokenOutput,
    },
    /// List the tokens of all accounts, or of one.
    List {
        /// Only those of this account.
        #[arg(long, value_name = "NUMBER")]
        account: Option<u32>,
        #[command(flatten)]
        output: TokenOutput,
    },
    /// Make a token open nothing any more.
    Revoke {
        /// As in the list.
        id: String,
        #[command(flatten)]
        output: TokenOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TokenOutput {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SeriesCommand {
    /// Count an event.
    Add {
        name: String,
        /// When: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`; left out, now.
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        /// How many; left out, one.
        #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "member")]
        n: Option<serde_json::Number>,
        /// Who, for a series of uniques.
        #[arg(long, value_name = "TEXT")]
        member: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Say what a series is to count, and how.
    Declare {
        name: String,
        /// As `PUT /v1/series/{name}` takes it: {"kind":"unique"}.
        #[arg(value_name = "JSON", default_value = "{}")]
        declaration: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print the buckets of a series.
    Points {
        name: String,
        #[arg(long, value_name = "NAME", default_value = "1min")]
        granularity: String,
        #[command(flatten)]
        range: RangeOptions,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print the sum of a series, or for uniques the size of the union.
    Total {
        name: String,
        /// Rounds both ends to whole buckets of this granularity.
        #[arg(long, value_name = "NAME")]
        granularity: Option<String>,
        #[command(flatten)]
        range: RangeOptions,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// List series.
    List {
        /// Only those whose names begin with this.
        #[arg(default_value = "")]
        prefix: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print what a series is declared to be.
    Show {
        name: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Delete a series with all that was counted.
    Delete {
        name: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AudienceCommand {
    /// List events.
    List {
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print everything about an event, or about a session of it.
    Show {
        event: String,
        session: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// List the sessions of an event.
    Sessions {
        event: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// List everyone who was ever seen, or print one viewer's history.
    Viewers {
        event: String,
        user: Option<String>,
        /// Of this session.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print the records of every five minutes.
    Records {
        event: String,
        session: Option<String>,
        #[command(flatten)]
        range: RangeOptions,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Send a heartbeat.
    Beat {
        event: String,
        user: String,
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        #[arg(long, value_name = "NAME")]
        location: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Delete an event with all that was counted.
    Delete {
        event: String,
        #[command(flatten)]
        remote: RemoteOptions,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RangeOptions {
    /// A time in the first bucket.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// A time in the last bucket; left out, now.
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
}

/// Where the server is, and how its answers are printed.
#[derive(Debug, Args)]
pub(crate) struct RemoteOptions {
    /// The server to talk to.
    #[arg(long, env = "TICKMARK_SERVER", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) server: String,
    /// A token, where the server wants one.
    #[arg(long, env = "TICKMARK_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
