//! Queries as Redis commands, and Redis's answers as replies.

use redis::{Cmd, Value, cmd};
use tickmark_stats::hll::Hll;

use super::encode::bounds;
use super::plan::Place;
use super::value::{self, atom, count, optional, shape};
use super::{cursor, problem};
use crate::{Atom, Error, Expiry, Key, Kind, Order, Query, Reply, Result};

/// The commands for a query, each with its key's name on the server. A command must only be sent with its own slot's.
pub(super) fn commands(place: &Place, query: &Query) -> Result<Vec<(Vec<u8>, Cmd)>> {
    let Some(key) = query.key() else { return Ok(Vec::new()) };
    let outer = place.keys.outer(key.as_bytes());
    let with = |name: &str, arguments: &dyn Fn(&mut Cmd)| {
        let mut command = cmd(name);
        command.arg(&outer);
        arguments(&mut command);
        vec![(outer.clone(), command)]
    };
    let plain = |name: &str| with(name, &|_| ());
    let scan = |name: &str, kind, cursor, limit: &u32| {
        let at = cursor::position(kind, key.as_bytes(), cursor)?;
        Ok(with(name, &|command| {
            command.arg(at).arg("COUNT").arg((*limit).max(1));
        }))
    };
    Ok(match query {
        Query::Kind { .. } => [plain("TYPE"), string_head(&outer)].concat(),
        Query::Expiry { .. } => plain("PEXPIRETIME"),
        Query::Get { .. } | Query::HllDump { .. } => plain("GET"),
        Query::HashGet { field, .. } => with("HGET", &|command| add(command, [field])),
        Query::HashGetMany { fields, .. } if fields.is_empty() => plain("HLEN"),
        Query::HashGetMany { fields, .. } => with("HMGET", &|command| add(command, fields)),
        Query::HashAll { .. } => plain("HGETALL"),
        Query::HashLen { .. } => plain("HLEN"),
        Query::HashScan { cursor, limit, .. } => scan("HSCAN", cursor::HASH, cursor.as_ref(), limit)?,
        Query::SetContains { member, .. } => with("SISMEMBER", &|command| add(command, [member])),
        Query::SetLen { .. } => plain("SCARD"),
        Query::SetAll { .. } => plain("SMEMBERS"),
        Query::SetScan { cursor, limit, .. } => scan("SSCAN", cursor::SET, cursor.as_ref(), limit)?,
        Query::SortedScores { members, .. } if members.is_empty() => plain("ZCARD"),
        Query::SortedScores { members, .. } => with("ZMSCORE", &|command| add(command, members)),
        Query::SortedLen { .. } => plain("ZCARD"),
        Query::SortedCount { range, .. } => with("ZCOUNT", &|command| {
            let (from, to) = bounds(range);
            command.arg(from).arg(to);
        }),
        Query::SortedRange { range, order, offset, limit, .. } => {
            let (from, to) = bounds(range);
            let (name, from, to) = match order {
                Order::Ascending => ("ZRANGEBYSCORE", from, to),
                Order::Descending => ("ZREVRANGEBYSCORE", to, from),
            };
            with(name, &|command| {
                command.arg(&from).arg(&to).arg("WITHSCORES").arg("LIMIT").arg(long(*offset)).arg(long(*limit));
            })
        }
        Query::SortedByMember { after, limit, .. } => with("ZRANGEBYLEX", &|command| {
            let from = after.as_ref().map_or_else(|| b"-".to_vec(), |after| [b"(", &*after.as_bytes()].concat());
            command.arg(from).arg("+").arg("LIMIT").arg(0).arg(long(*limit));
        }),
        Query::SortedScan { cursor, limit, .. } => scan("ZSCAN", cursor::SORTED, cursor.as_ref(), limit)?,
        Query::ListLen { .. } | Query::ListRange { limit: 0, .. } => plain("LLEN"),
        Query::ListRange { start, limit, .. } => with("LRANGE", &|command| {
            command.arg(long(*start)).arg(long(start.saturating_add(*limit) - 1));
        }),
        Query::HllCount { keys } => hll_count(place, keys),
    })
}

/// The type that a query is about, where it is about one.
pub(super) fn wanted(query: &Query) -> Option<Kind> {
    match query {
        Query::Kind { .. } | Query::Expiry { .. } => None,
        Query::Get { .. } => Some(Kind::String),
        Query::HashGet { .. }
        | Query::HashGetMany { .. }
        | Query::HashAll { .. }
        | Query::HashLen { .. }
        | Query::HashScan { .. } => Some(Kind::Hash),
        Query::SetContains { .. } | Query::SetLen { .. } | Query::SetAll { .. } | Query::SetScan { .. } => {
            Some(Kind::Set)
        }
        Query::SortedScores { .. }
        | Query::SortedLen { .. }
        | Query::SortedCount { .. }
        | Query::SortedRange { .. }
        | Query::SortedByMember { .. }
        | Query::SortedScan { .. } => Some(Kind::SortedSet),
        Query::ListLen { .. } | Query::ListRange { .. } => Some(Kind::List),
        Query::HllCount { .. } | Query::HllDump { .. } => Some(Kind::HyperLogLog),
    }
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A key of the query has another type; which one remains to be asked.
    WrongType,
    Error(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

pub(super) fn reply(query: &Query, mut values: Vec<Value>) -> Result<Reply, Trouble> {
    if let Query::Kind { key } = query {
        return Ok(Reply::Kind(kind(key, values)?));
    }
    for value in &values {
        if let Value::ServerError(error) = value {
            return Err(match error.code() {
                "WRONGTYPE" => Trouble::WrongType,
                _ => Trouble::Error(Error::Unavailable(problem::text(error))),
            });
        }
    }
    if let Query::HllCount { .. } = query {
        return hll_union(values);
    }
    let value = values.pop().ok_or_else(|| shape("an answer", None))?;
    Ok(match query {
        Query::Expiry { .. } => Reply::Expiry(match value {
            Value::Int(-2) => Expiry::NoKey,
            Value::Int(-1) => Expiry::Never,
            at => Expiry::AtMs(count(at)?),
        }),
        Query::Get { .. } => match optional(value, value::bytes)? {
            Some(bytes) if value::is_hll(&bytes, bytes.len()) => return Err(Trouble::WrongType),
            bytes => Reply::Value(bytes.map(Atom::from)),
        },
        Query::HllDump { .. } => match optional(value, value::bytes)? {
            Some(bytes) => Reply::Value(Some(Atom::from(read_hll(&bytes)?.to_redis_dense()))),
            None => Reply::Value(None),
        },
        Query::HashGet { .. } => Reply::Value(optional(value, atom)?),
        Query::HashGetMany { fields, .. } if fields.is_empty() => Reply::Values(Vec::new()),
        Query::HashGetMany { .. } => Reply::Values(value::list(value, |value| optional(value, atom))?),
        Query::HashAll { .. } => Reply::Fields(value::pairs(value, atom)?),
        Query::SortedScores { members, .. } if members.is_empty() => Reply::Scores(Vec::new()),
        Query::SortedScores { .. } => Reply::Scores(value::list(value, |value| optional(value, value::score))?),
        Query::SortedRange { .. } => Reply::Scored(value::pairs(value, value::score)?),
        Query::ListRange { limit: 0, .. } => Reply::Members(Vec::new()),
        Query::SetAll { .. } | Query::SortedByMember { .. } | Query::ListRange { .. } => {
            Reply::Members(value::list(value, atom)?)
        }
        Query::HashScan { key, .. } => {
            let (next, page) = cursor::page(cursor::HASH, key.as_bytes(), value)?;
            Reply::FieldPage { fields: value::pairs(page, atom)?, next }
        }
        Query::SetScan { key, .. } => {
            let (next, page) = cursor::page(cursor::SET, key.as_bytes(), value)?;
            Reply::MemberPage { members: value::list(page, atom)?, next }
        }
        Query::SortedScan { key, .. } => {
            let (next, page) = cursor::page(cursor::SORTED, key.as_bytes(), value)?;
            Reply::ScoredPage { members: value::pairs(page, value::score)?, next }
        }
        _ => Reply::Count(count(value)?),
    })
}

/// What [`kind`] needs beside the type.
fn string_head(outer: &[u8]) -> Vec<(Vec<u8>, Cmd)> {
    let mut head = cmd("GETRANGE");
    head.arg(outer).arg(0).arg(15);
    let mut len = cmd("STRLEN");
    len.arg(outer);
    vec![(outer.to_vec(), head), (outer.to_vec(), len)]
}

/// From answers to `TYPE` and to [`string_head`], which are errors where the key is no string.
fn kind(key: &Key, values: Vec<Value>) -> Result<Option<Kind>> {
    let [name, head, len] = <[Value; 3]>::try_from(values).map_err(|_| shape("three answers", None))?;
    let name = value::text(name).unwrap_or_default();
    if name == "none" {
        return Ok(None);
    }
    if name == "string" {
        let len = usize::try_from(count(len)?).unwrap_or(usize::MAX);
        let is_hll = value::is_hll(&value::bytes(head)?, len);
        return Ok(Some(if is_hll { Kind::HyperLogLog } else { Kind::String }));
    }
    match value::kind(&name) {
        Some(kind) => Ok(Some(kind)),
        None => Err(Error::ForeignType { key: key.clone(), found: name }),
    }
}

/// Redis unites what is in one slot; what is not is fetched and united here, by the same arithmetic.
fn hll_count(place: &Place, keys: &[Key]) -> Vec<(Vec<u8>, Cmd)> {
    let outer: Vec<_> = keys.iter().map(|key| place.keys.outer(key.as_bytes())).collect();
    if outer.iter().all(|key| place.slot(key) == place.slot(&outer[0])) {
        let mut command = cmd("PFCOUNT");
        command.arg(&outer);
        return vec![(outer[0].clone(), command)];
    }
    let get = |key: Vec<u8>| {
        let mut command = cmd("GET");
        command.arg(&key);
        (key, command)
    };
    outer.into_iter().map(get).collect()
}

fn hll_union(values: Vec<Value>) -> Result<Reply, Trouble> {
    let mut union = Hll::new();
    for value in values {
        match value {
            // Redis united them already.
            Value::Int(estimate) => return Ok(Reply::Count(count(Value::Int(estimate))?)),
            Value::Nil => {}
            value => union.merge(&read_hll(&value::bytes(value)?)?),
        }
    }
    Ok(Reply::Count(union.count()))
}

fn read_hll(bytes: &[u8]) -> Result<Hll, Trouble> {
    Hll::from_redis(bytes).map_err(|_| Trouble::WrongType)
}

fn add<'a>(command: &mut Cmd, atoms: impl IntoIterator<Item = &'a Atom>) {
    for atom in atoms {
        match atom {
            Atom::Int(int) => command.arg(*int),
            Atom::Bytes(bytes) => command.arg(&**bytes),
        };
    }
}

/// Redis counts in signed numbers, and has nothing beyond them.
fn long(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
