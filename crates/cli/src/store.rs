//! Which store an address means, and opening it. A new kind of store is a line in each of these.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tickmark_store::Store;
use tickmark_store::embedded::{Durability, EmbeddedStore, Options};
use tickmark_store::redis::{Options as RedisOptions, RedisStore};

use crate::Outcome;
use crate::arguments::StoreOptions;

/// Where data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    Directory(PathBuf),
    Memory,
    /// A `redis://`, `rediss://` or `redis+cluster://` URL, with whatever password is in it.
    Redis(String),
}

const REDIS_SCHEMES: &[&str] = &["redis://", "rediss://", "redis+cluster://", "rediss+cluster://"];

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if REDIS_SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(Self::Redis(text.to_owned()));
        }
        if text.is_empty() || text.contains("://") {
            return Err(format!("a store is a directory, memory:, or a URL with {}", REDIS_SCHEMES.join(", ")));
        }
        Ok(Self::Directory(text.into()))
    }
}

/// As shown to people: without the password.
impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.display()),
            Self::Memory => f.write_str("memory (nothing is kept)"),
            Self::Redis(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("redis", url));
                write!(f, "{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts))
            }
        }
    }
}

/// What the store promises of a write it acknowledged.
pub(crate) fn durability(options: &StoreOptions) -> &'static str {
    match (&options.store, Durability::from(options.durability)) {
        (StoreAddress::Memory, _) => "none",
        (StoreAddress::Redis(_), _) => "as Redis is configured",
        (StoreAddress::Directory(_), Durability::Always) => "always (a write is on disk before it is acknowledged)",
        (StoreAddress::Directory(_), Durability::Interval) => "interval (a write is on disk within a second)",
        (StoreAddress::Directory(_), Durability::Os) => "os (a write is on disk when the kernel sees fit)",
    }
}

pub(crate) async fn open(options: &StoreOptions) -> Outcome<Arc<dyn Store>> {
    let address = &options.store;
    let failed = |error: tickmark_store::Error| format!("could not open the store {address}: {error}");
    let embedded = Options {
        durability: options.durability.into(),
        memory_bytes: options.memory.as_usize(),
        ..Options::default()
    };
    match address.clone() {
        StoreAddress::Memory => Ok(Arc::new(EmbeddedStore::in_memory(&embedded).map_err(failed)?)),
        StoreAddress::Directory(path) => {
            // Recovery reads the disk.
            let opening = tokio::task::spawn_blocking(move || EmbeddedStore::open(&path, &embedded));
            let opened = opening.await.map_err(|error| format!("could not open the store {address}: {error}"))?;
            Ok(Arc::new(opened.map_err(failed)?))
        }
        StoreAddress::Redis(url) => {
            let store = RedisStore::connect(&url, RedisOptions::default()).await;
            Ok(Arc::new(store.map_err(failed)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("./data", Some("./data")),
            ("memory:", Some("memory (nothing is kept)")),
            ("redis://user:secret@host:1/2", Some("redis://host:1/2")),
            ("rediss://:p@ss@host", Some("rediss://host")),
            ("redis+cluster://a:1,b:2", Some("redis+cluster://a:1,b:2")),
            ("http://x", None),
            ("", None),
        ] {
            let address = text.parse::<StoreAddress>().ok().map(|address| address.to_string());
            assert_eq!(address.as_deref(), shown, "{text:?}");
        }
    }
}
