//! Telling listeners that a repository's main branch changed.
//!
//! What is kept is a counter and the last time, so that a listener who connects late, or was skipped ahead, still sees
//! where things stand. The announcement goes out on the channel `updates:REPO`, which other programs may listen to.

use tickmark_store::{Account, Atom, Batch, Key, Number, Op, Query, Store};

use crate::{Error, Name, Result, Seconds};

/// Where a repository stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Announcements so far.
    pub count: u64,
    /// The last of them.
    pub at: Option<Seconds>,
}

/// One changed repository, as the operations that record and announce it.
pub fn announce(repo: &Name, at: Seconds) -> Batch {
    let key = record(repo);
    Batch::new()
        .op(Op::HashIncrement { key: key.clone(), fields: vec![(Atom::from("count"), Number::Int(1))] })
        .op(Op::HashSet { key, fields: vec![(Atom::from("at"), Atom::from(at.to_string()))] })
        .op(Op::Publish { channel: channel(repo), message: at.to_string().into_bytes().into() })
}

pub async fn standing(store: &dyn Store, account: Account, repo: &Name) -> Result<Standing> {
    let key = record(repo);
    let query = Query::HashGetMany { key: key.clone(), fields: vec![Atom::from("count"), Atom::from("at")] };
    let values = match store.read(account, vec![query]).await?.pop() {
        Some(reply) => reply.values()?,
        None => Vec::new(),
    };
    let number = |index: usize| -> Result<Option<u64>> {
        let Some(Some(value)) = values.get(index) else { return Ok(None) };
        let number = value.as_int().and_then(|int| u64::try_from(int).ok());
        number.map(Some).ok_or_else(|| Error::Record { key: key.to_string(), why: format!("{value} is not a count") })
    };
    Ok(Standing { count: number(0)?.unwrap_or(0), at: number(1)?.map(Seconds) })
}

/// The channel that hears of every announcement.
pub fn channel(repo: &Name) -> Key {
    Key::from(format!("updates:{repo}"))
}

/// The part of the keys that must live together.
pub fn tag(repo: &Name) -> String {
    format!("updates:{repo}")
}

fn record(repo: &Name) -> Key {
    Key::from(format!("tm:{{{}}}", tag(repo)))
}
