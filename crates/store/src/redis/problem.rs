//! What Redis's errors mean to a caller.
//!
//! The question is always the same: was anything written? A command that Redis refuses did nothing. Only a script that
//! broke off while it ran could have, and `commit.lua` is made so that this cannot happen; if it does, it is said.

use redis::{ErrorKind, RedisError, ServerError};

use crate::Error;

/// What to do about an error that a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The slot is at this node (`host:port`) now.
    Moved(String),
    /// The slot is moving to this node; ask there, just this once.
    Ask(String),
    /// The server does not know the script.
    Load,
    /// It may pass: wait, look again where the slot is, and repeat. Nothing was executed.
    Wait,
    /// Nothing to be done here.
    None,
}

pub(super) fn remedy(error: &ServerError) -> Remedy {
    let node = || error.details().and_then(|details| details.split(' ').nth(1)).unwrap_or_default().to_owned();
    match error.code() {
        "MOVED" => Remedy::Moved(node()),
        "ASK" => Remedy::Ask(node()),
        "NOSCRIPT" => Remedy::Load,
        "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING" | "BUSY" | "READONLY" => Remedy::Wait,
        _ => Remedy::None,
    }
}

/// An error of a server as text: the code, and what it says.
pub(super) fn text(error: &ServerError) -> String {
    match (error.code(), error.details()) {
        ("ERR", Some(details)) => details.to_owned(),
        (code, Some(details)) => format!("{code} {details}"),
        (code, None) => code.to_owned(),
    }
}

/// The answer to a commit that the server refused.
pub(super) fn of_commit(error: &ServerError) -> Error {
    let text = text(error);
    if text.contains("user_script") { Error::FateUnknown(text) } else { Error::Unavailable(text) }
}

/// Why a connection is refused for good, if it is: with a wrong password, trying again only locks accounts out.
pub(super) fn refused(error: &RedisError, database: u32) -> Option<Error> {
    let text = error.to_string();
    if text.contains("refused to switch database") && text.contains("out of range") {
        // How many there are is not known here; `wire` finds out.
        return Some(Error::NoSuchAccount { account: database, databases: 0 });
    }
    let permanent = match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::RESP3NotSupported => true,
        _ => matches!(error.code(), Some("WRONGPASS" | "NOAUTH" | "NOPERM")),
    };
    permanent.then_some(Error::Unavailable(text))
}
