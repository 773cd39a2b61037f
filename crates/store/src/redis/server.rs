//! What a server must be before it is trusted with data, and whether it would take some now.

use futures_util::future::try_join_all;
use redis::{Cmd, Pipeline, Value, cmd};

use super::wire::{Intent, Request, Wire};
use super::{problem, script, slot, value};
use crate::{Error, Result};

/// Scripts that are checked before they start came with Redis 7.
const VERSION_MIN: u32 = 7;

/// Refuses a server that is too old, of the wrong shape, or does not let us do what we must.
pub(super) async fn check(wire: &Wire) -> Result<()> {
    let hello = ask(wire, None, Intent::Read, cmd("HELLO")).await?;
    let told = |name: &str| match &hello {
        Value::Map(pairs) => pairs
            .iter()
            .find(|(key, _)| value::text(key.clone()).as_deref() == Some(name))
            .and_then(|(_, told)| value::text(told.clone())),
        _ => None,
    };
    let version = told("version").unwrap_or_default();
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < VERSION_MIN {
        return Err(Error::Unavailable(format!("Redis {version} is too old: {VERSION_MIN}.0 or newer is needed")));
    }
    let mode = told("mode").unwrap_or_default();
    let why = match (mode.as_str(), wire.is_cluster()) {
        ("cluster", false) => "the server is part of a Cluster, which needs redis+cluster:// or rediss+cluster://",
        ("standalone", true) => "the server is not part of a Cluster, and needs redis:// or rediss://",
        ("sentinel", _) => "the server is a Sentinel, which holds no data",
        _ => return check_permissions(wire).await,
    };
    let url = wire.address.nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    Err(Error::BadUrl { url, why: why.to_owned() })
}

async fn check_permissions(wire: &Wire) -> Result<()> {
    let missing = ask(wire, None, Intent::Read, script::missing_permissions()).await?;
    let missing = value::list(missing, |name| Ok(value::text(name).unwrap_or_default()))?;
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(Error::Unavailable(format!("the user of this Redis may not run all that is needed; missing: {missing}")))
}

/// Writes nothing, by a command that Redis refuses when it would refuse a write: on every master of a Cluster.
pub(super) async fn ping(wire: &Wire) -> Result<()> {
    wire.check_open()?;
    let slots: Vec<Option<u16>> = if wire.is_cluster() {
        wire.layout().shards().iter().map(|(slot, _)| Some(*slot)).collect()
    } else {
        vec![None]
    };
    try_join_all(slots.into_iter().map(|slot| {
        let key = slot.map_or_else(|| "tm:ping".to_owned(), |slot| format!("tm:ping:{{{}}}", slot::tag(slot)));
        let mut nothing = cmd("SETRANGE");
        nothing.arg(key).arg(0).arg("");
        // Said to be a read because repeating it is harmless.
        ask(wire, slot, Intent::Read, nothing)
    }))
    .await
    .map(|_| ())
}

async fn ask(wire: &Wire, slot: Option<u16>, intent: Intent, command: Cmd) -> Result<Value> {
    let mut commands = Pipeline::with_capacity(1);
    commands.add_command(command);
    let request = Request { intent, database: 0, slot, commands, load: None };
    match wire.call(&request).await?.pop() {
        Some(Value::ServerError(error)) => Err(Error::Unavailable(problem::text(&error))),
        Some(answer) => Ok(answer),
        None => Err(value::shape("an answer", None)),
    }
}
