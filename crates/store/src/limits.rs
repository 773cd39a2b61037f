//! How large things may be, checked once for both engines before either sees them.

use crate::query::ScoreRange;
use crate::{Atom, Batch, Error, Guard, Key, Number, Op, Query, Result};

/// Names are at most 200 bytes; a key joins several.
pub const KEY_BYTES_MAX: usize = 4_096;
/// A field of a hash, or a member of a set or sorted set.
pub const ELEMENT_BYTES_MAX: usize = 16_384;
pub const VALUE_BYTES_MAX: usize = 16 * 1_024 * 1_024;
pub const MESSAGE_BYTES_MAX: usize = 1_024 * 1_024;
/// Elements in one batch, all its operations together. What is larger is several batches.
pub const BATCH_ELEMENTS_MAX: usize = 4_000_000;
/// What an element takes in memory besides its bytes.
const ELEMENT_OVERHEAD_BYTES: usize = 32;
/// Bytes of keys, fields, members and values in one batch.
pub const BATCH_BYTES_MAX: usize = 128 * 1_024 * 1_024;
/// The end of the year 9999, which is also the furthest that Redis agrees to.
pub const EXPIRY_MS_MAX: u64 = 253_402_300_800_000;
/// Queries in one read.
pub const QUERIES_MAX: usize = 1_000_000;

/// Refuses a batch that no engine may write. Answers about how many bytes it takes in memory.
pub fn check_batch(batch: &Batch) -> Result<usize> {
    let mut size = Size::default();
    for guard in &batch.guards {
        size.add_key(guard.key())?;
        match guard {
            Guard::Key { .. } => {}
            Guard::Value { is, .. } | Guard::Front { is, .. } => size.add_values(is)?,
            Guard::Field { field, is, .. } => {
                size.add_elements([field])?;
                size.add_values(is)?;
            }
            Guard::Fields { are, .. } => {
                for (field, is) in are {
                    size.add_elements([field])?;
                    size.add_values(is)?;
                }
            }
            Guard::Member { member, .. } => size.add_elements([member])?,
            Guard::Score { key, member, is } => {
                size.add_elements([member])?;
                check_score(key, member, is.unwrap_or_default())?;
            }
        }
    }
    for op in &batch.ops {
        check_op(op, &mut size)?;
    }
    Ok(size.bytes + size.elements * ELEMENT_OVERHEAD_BYTES)
}

/// Refuses queries that no engine may answer.
pub fn check_queries(queries: &[Query]) -> Result<()> {
    if queries.len() > QUERIES_MAX {
        return Err(Error::TooMany { what: "queries in one read", len: queries.len(), max: QUERIES_MAX });
    }
    let mut size = Size::default();
    for query in queries {
        query.keys().iter().try_for_each(|key| size.add_key(key))?;
        if let Query::SortedCount { range, .. } | Query::SortedRange { range, .. } = query {
            check_range(query.key().ok_or(Error::EmptyKey)?, range)?;
        }
    }
    Ok(())
}

fn check_op(op: &Op, size: &mut Size) -> Result<()> {
    if let Some(key) = op.key() {
        size.add_key(key)?;
    }
    match op {
        Op::Set { value, .. } => size.add_values([value]),
        Op::Increment { key, by } => check_number(key, *by),
        Op::HashSet { fields, .. } => {
            size.add_elements(fields.iter().map(|(field, _)| field))?;
            size.add_values(fields.iter().map(|(_, value)| value))
        }
        Op::HashIncrement { key, fields } => {
            size.add_elements(fields.iter().map(|(field, _)| field))?;
            fields.iter().try_for_each(|(_, by)| check_number(key, *by))
        }
        Op::HashRemove { fields: elements, .. }
        | Op::SetAdd { members: elements, .. }
        | Op::SetRemove { members: elements, .. }
        | Op::SortedRemove { members: elements, .. }
        | Op::HllAdd { members: elements, .. } => size.add_elements(elements),
        Op::SortedAdd { key, members, .. } => {
            size.add_elements(members.iter().map(|(member, _)| member))?;
            members.iter().try_for_each(|(member, score)| check_score(key, member, *score))
        }
        Op::SortedRemoveByScore { key, range } => check_range(key, range),
        Op::ListPush { values, .. } => size.add_values(values),
        Op::HllMerge { hll, .. } => size.add("HyperLogLog", hll, VALUE_BYTES_MAX),
        Op::Publish { channel, message } => {
            size.add_key(channel)?;
            size.add("message", message, MESSAGE_BYTES_MAX)
        }
        Op::ExpireAt { at_ms: ms, .. } | Op::ExpireIn { ms, .. } => check_expiry(*ms),
        Op::ListPop { .. } | Op::Persist { .. } | Op::Delete { .. } => Ok(()),
    }
}

fn check_expiry(ms: u64) -> Result<()> {
    if ms > EXPIRY_MS_MAX {
        let [len, max] = [ms, EXPIRY_MS_MAX].map(|ms| usize::try_from(ms).unwrap_or(usize::MAX));
        return Err(Error::TooMany { what: "milliseconds until expiry", len, max });
    }
    Ok(())
}

fn check_number(key: &Key, by: Number) -> Result<()> {
    match by {
        Number::Decimal(by) if !by.is_finite() => Err(Error::NotFinite { key: key.clone(), by }),
        _ => Ok(()),
    }
}

fn check_score(key: &Key, member: &Atom, score: f64) -> Result<()> {
    if score.is_nan() {
        return Err(Error::ScoreNotANumber { key: key.clone(), member: member.clone() });
    }
    Ok(())
}

fn check_range(key: &Key, range: &ScoreRange) -> Result<()> {
    use std::ops::Bound::{Excluded, Included};
    for end in [range.from, range.to] {
        if let Included(score) | Excluded(score) = end {
            check_score(key, &Atom::from("(range)"), score)?;
        }
    }
    Ok(())
}

/// Adds up what a batch holds, and refuses the first thing that is too much.
#[derive(Default)]
struct Size {
    elements: usize,
    bytes: usize,
}

impl Size {
    fn add_key(&mut self, key: &Key) -> Result<()> {
        if key.as_bytes().is_empty() {
            return Err(Error::EmptyKey);
        }
        self.add("key", key.as_bytes(), KEY_BYTES_MAX)
    }

    fn add_elements<'a>(&mut self, elements: impl IntoIterator<Item = &'a Atom>) -> Result<()> {
        elements.into_iter().try_for_each(|element| self.add_atom("field or member", element, ELEMENT_BYTES_MAX))
    }

    fn add_values<'a>(&mut self, values: impl IntoIterator<Item = &'a Atom>) -> Result<()> {
        values.into_iter().try_for_each(|value| self.add_atom("value", value, VALUE_BYTES_MAX))
    }

    fn add_atom(&mut self, what: &'static str, atom: &Atom, max: usize) -> Result<()> {
        match atom {
            Atom::Int(_) => self.count(8),
            Atom::Bytes(bytes) => self.add(what, bytes, max),
        }
    }

    fn add(&mut self, what: &'static str, bytes: &[u8], max: usize) -> Result<()> {
        if bytes.len() > max {
            let start = bytes[..bytes.len().min(32)].escape_ascii().to_string();
            return Err(Error::TooLong { what, start, len: bytes.len(), max });
        }
        self.count(bytes.len())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.elements += 1;
        self.bytes += bytes;
        if self.elements > BATCH_ELEMENTS_MAX {
            return Err(Error::TooMany { what: "elements in one batch", len: self.elements, max: BATCH_ELEMENTS_MAX });
        }
        if self.bytes > BATCH_BYTES_MAX {
            return Err(Error::TooMany { what: "bytes in one batch", len: self.bytes, max: BATCH_BYTES_MAX });
        }
        Ok(())
    }
}
