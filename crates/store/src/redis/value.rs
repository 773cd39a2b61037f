//! What Redis answered, as the vocabulary has it.

use redis::Value;

use crate::{Atom, Error, Key, Kind, Result};

/// Length of a HyperLogLog with a register for everything.
const HLL_DENSE_BYTES: usize = 12_304;
const HLL_HEADER_BYTES: usize = 16;

pub(super) fn shape(wanted: &'static str, got: Option<&Value>) -> Error {
    Error::Shape { wanted, got: format!("{got:?}") }
}

pub(super) fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        Value::Int(int) => Ok(int.to_string().into_bytes()),
        other => Err(shape("bytes", Some(&other))),
    }
}

pub(super) fn atom(value: Value) -> Result<Atom> {
    match value {
        Value::Int(int) => Ok(Atom::from(int)),
        other => bytes(other).map(Atom::from),
    }
}

pub(super) fn optional<T>(value: Value, read: impl FnOnce(Value) -> Result<T>) -> Result<Option<T>> {
    match value {
        Value::Nil => Ok(None),
        value => read(value).map(Some),
    }
}

pub(super) fn score(value: Value) -> Result<f64> {
    match value {
        Value::Double(score) => Ok(score),
        Value::Int(score) => Ok(score as f64),
        Value::BulkString(bytes) => std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| shape("a score", Some(&Value::BulkString(bytes)))),
        other => Err(shape("a score", Some(&other))),
    }
}

pub(super) fn count(value: Value) -> Result<u64> {
    match value {
        Value::Int(count) => u64::try_from(count).map_err(|_| shape("a count", Some(&value))),
        other => Err(shape("a count", Some(&other))),
    }
}

pub(super) fn text(value: Value) -> Option<String> {
    bytes(value).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The elements of an array or a set.
pub(super) fn list<T>(value: Value, read: impl FnMut(Value) -> Result<T>) -> Result<Vec<T>> {
    match value {
        Value::Array(values) | Value::Set(values) => values.into_iter().map(read).collect(),
        other => Err(shape("a list", Some(&other))),
    }
}

/// Pairs, however they come: as a map, in pairs, or one after the other.
pub(super) fn pairs<T>(value: Value, mut second: impl FnMut(Value) -> Result<T>) -> Result<Vec<(Atom, T)>> {
    match value {
        Value::Map(pairs) => pairs.into_iter().map(|(first, other)| Ok((atom(first)?, second(other)?))).collect(),
        Value::Array(values) if matches!(values.first(), Some(Value::Array(_))) => values
            .into_iter()
            .map(|pair| match pair {
                Value::Array(pair) => {
                    let [first, other] = <[Value; 2]>::try_from(pair).map_err(|_| shape("a pair", None))?;
                    Ok((atom(first)?, second(other)?))
                }
                other => Err(shape("a pair", Some(&other))),
            })
            .collect(),
        Value::Array(values) => {
            let mut pairs = Vec::with_capacity(values.len() / 2);
            let mut values = values.into_iter();
            while let (Some(first), Some(other)) = (values.next(), values.next()) {
                pairs.push((atom(first)?, second(other)?));
            }
            Ok(pairs)
        }
        other => Err(shape("pairs", Some(&other))),
    }
}

/// A type by Redis's name for it, or the script's.
pub(super) fn kind(name: &str) -> Option<Kind> {
    match name {
        "string" => Some(Kind::String),
        "hash" => Some(Kind::Hash),
        "set" => Some(Kind::Set),
        "zset" => Some(Kind::SortedSet),
        "list" => Some(Kind::List),
        "hyperloglog" => Some(Kind::HyperLogLog),
        _ => None,
    }
}

pub(super) fn wrong_type(key: Key, wanted: Kind, found: &str) -> Error {
    match kind(found) {
        Some(found) => Error::WrongType { key, wanted, found },
        None => Error::ForeignType { key, found: found.to_owned() },
    }
}

/// Redis keeps a HyperLogLog in a string; this is how it tells them apart, and so do we. `len` is that of the string,
/// of which `head` are the first bytes.
pub(super) fn is_hll(head: &[u8], len: usize) -> bool {
    len >= HLL_HEADER_BYTES
        && head.starts_with(b"HYLL")
        && match head.get(4) {
            Some(0) => len == HLL_DENSE_BYTES,
            Some(1) => true,
            _ => false,
        }
}
