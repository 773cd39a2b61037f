//! A batch as the log keeps it: what it changed, when, and for whom.
//!
//! Guards held and publications went out, so neither is kept. Expiries relative to now are kept as instants, and each
//! batch carries the time at which it was applied, so that replaying it later gives the same result.

use std::ops::Bound;

use crate::embedded::codec::{Malformed, Reader, put_atom, put_bytes, put_column, put_signed, put_varint};
use crate::{Account, AddWhen, Atom, End, Key, Number, Op, ScoreRange};

/// A batch that came back from the log.
#[derive(Debug, PartialEq)]
pub(crate) struct Logged {
    pub(crate) account: Account,
    pub(crate) now_ms: u64,
    pub(crate) ops: Vec<Op>,
}

pub(crate) fn put_batch(out: &mut Vec<u8>, account: Account, now_ms: u64, ops: &[Op]) {
    let kept = ops.iter().filter(|op| !matches!(op, Op::Publish { .. }));
    put_varint(out, u64::from(account.0));
    put_varint(out, now_ms);
    put_varint(out, kept.clone().count() as u64);
    kept.for_each(|op| put_op(out, now_ms, op));
}

pub(crate) fn read_batches(record: &[u8]) -> Result<Vec<Logged>, Malformed> {
    let mut reader = Reader::new(record);
    let mut batches = Vec::new();
    while !reader.is_empty() {
        let account = Account(u32::try_from(reader.varint()?).map_err(|_| Malformed)?);
        let now_ms = reader.varint()?;
        let count = reader.count()?;
        let ops = (0..count).map(|_| read_op(&mut reader)).collect::<Result<_, _>>()?;
        batches.push(Logged { account, now_ms, ops });
    }
    Ok(batches)
}

const SET: u8 = 1;
const INCREMENT: u8 = 2;
const HASH_SET: u8 = 3;
const HASH_INCREMENT: u8 = 4;
const HASH_REMOVE: u8 = 5;
const SET_ADD: u8 = 6;
const SET_REMOVE: u8 = 7;
const SORTED_ADD: u8 = 8;
const SORTED_REMOVE: u8 = 9;
const SORTED_REMOVE_BY_SCORE: u8 = 10;
const LIST_PUSH: u8 = 11;
const LIST_POP: u8 = 12;
const HLL_ADD: u8 = 13;
const HLL_MERGE: u8 = 14;
const EXPIRE_AT: u8 = 15;
const PERSIST: u8 = 16;
const DELETE: u8 = 17;

fn put_op(out: &mut Vec<u8>, now_ms: u64, op: &Op) {
    let mut start = |tag: u8, key: &Key| {
        out.push(tag);
        put_bytes(out, key.as_bytes());
    };
    match op {
        Op::Set { key, value } => {
            start(SET, key);
            put_atom(out, value);
        }
        Op::Increment { key, by } => {
            start(INCREMENT, key);
            put_numbers(out, std::iter::once(by));
        }
        Op::HashSet { key, fields } => {
            start(HASH_SET, key);
            put_atoms(out, fields.iter().map(|(field, _)| field));
            put_column(out, fields.iter().map(|(_, value)| value));
        }
        Op::HashIncrement { key, fields } => {
            start(HASH_INCREMENT, key);
            put_atoms(out, fields.iter().map(|(field, _)| field));
            put_numbers(out, fields.iter().map(|(_, by)| by));
        }
        Op::HashRemove { key, fields } => {
            start(HASH_REMOVE, key);
            put_atoms(out, fields.iter());
        }
        Op::SetAdd { key, members } => {
            start(SET_ADD, key);
            put_atoms(out, members.iter());
        }
        Op::SetRemove { key, members } => {
            start(SET_REMOVE, key);
            put_atoms(out, members.iter());
        }
        Op::SortedAdd { key, when, members } => {
            start(SORTED_ADD, key);
            out.push(*when as u8);
            put_atoms(out, members.iter().map(|(member, _)| member));
            for (_, score) in members {
                out.extend_from_slice(&score.to_le_bytes());
            }
        }
        Op::SortedRemove { key, members } => {
            start(SORTED_REMOVE, key);
            put_atoms(out, members.iter());
        }
        Op::SortedRemoveByScore { key, range } => {
            start(SORTED_REMOVE_BY_SCORE, key);
            put_bound(out, range.from);
            put_bound(out, range.to);
        }
        Op::ListPush { key, end, values } => {
            start(LIST_PUSH, key);
            out.push(*end as u8);
            put_atoms(out, values.iter());
        }
        Op::ListPop { key, end, count } => {
            start(LIST_POP, key);
            out.push(*end as u8);
            put_varint(out, *count);
        }
        Op::HllAdd { key, members } => {
            start(HLL_ADD, key);
            put_atoms(out, members.iter());
        }
        Op::HllMerge { key, hll } => {
            start(HLL_MERGE, key);
            put_bytes(out, hll);
        }
        Op::ExpireAt { key, at_ms } => {
            start(EXPIRE_AT, key);
            put_varint(out, *at_ms);
        }
        Op::ExpireIn { key, ms } => {
            start(EXPIRE_AT, key);
            put_varint(out, now_ms.saturating_add(*ms));
        }
        Op::Persist { key } => start(PERSIST, key),
        Op::Delete { key } => start(DELETE, key),
        Op::Publish { .. } => {}
    }
}

fn read_op(reader: &mut Reader<'_>) -> Result<Op, Malformed> {
    let tag = reader.byte()?;
    let key = Key::from(reader.bytes()?);
    Ok(match tag {
        SET => Op::Set { key, value: reader.atom()? },
        INCREMENT => Op::Increment { key, by: read_numbers(reader, 1)?.pop().ok_or(Malformed)? },
        HASH_SET => {
            let fields = read_atoms(reader)?;
            let values = reader.column(fields.len())?;
            Op::HashSet { key, fields: fields.into_iter().zip(values).collect() }
        }
        HASH_INCREMENT => {
            let fields = read_atoms(reader)?;
            let by = read_numbers(reader, fields.len())?;
            Op::HashIncrement { key, fields: fields.into_iter().zip(by).collect() }
        }
        HASH_REMOVE => Op::HashRemove { key, fields: read_atoms(reader)? },
        SET_ADD => Op::SetAdd { key, members: read_atoms(reader)? },
        SET_REMOVE => Op::SetRemove { key, members: read_atoms(reader)? },
        SORTED_ADD => {
            let when = match reader.byte()? {
                0 => AddWhen::Always,
                1 => AddWhen::IfNew,
                2 => AddWhen::IfGreater,
                3 => AddWhen::IfLess,
                _ => return Err(Malformed),
            };
            let members = read_atoms(reader)?.into_iter();
            let members = members.map(|member| Ok((member, f64::from_le_bytes(reader.fixed()?))));
            Op::SortedAdd { key, when, members: members.collect::<Result<_, _>>()? }
        }
        SORTED_REMOVE => Op::SortedRemove { key, members: read_atoms(reader)? },
        SORTED_REMOVE_BY_SCORE => {
            Op::SortedRemoveByScore { key, range: ScoreRange { from: read_bound(reader)?, to: read_bound(reader)? } }
        }
        LIST_PUSH => Op::ListPush { key, end: read_end(reader)?, values: read_atoms(reader)? },
        LIST_POP => Op::ListPop { key, end: read_end(reader)?, count: reader.varint()? },
        HLL_ADD => Op::HllAdd { key, members: read_atoms(reader)? },
        HLL_MERGE => Op::HllMerge { key, hll: reader.bytes()?.into() },
        EXPIRE_AT => Op::ExpireAt { key, at_ms: reader.varint()? },
        PERSIST => Op::Persist { key },
        DELETE => Op::Delete { key },
        _ => return Err(Malformed),
    })
}

fn put_atoms<'a>(out: &mut Vec<u8>, atoms: impl ExactSizeIterator<Item = &'a Atom> + Clone) {
    put_varint(out, atoms.len() as u64);
    put_column(out, atoms);
}

fn read_atoms(reader: &mut Reader<'_>) -> Result<Vec<Atom>, Malformed> {
    let count = reader.count()?;
    reader.column(count)
}

const ALL_INTEGERS: u8 = 0;
const SOME_DECIMALS: u8 = 1;

fn put_numbers<'a>(out: &mut Vec<u8>, numbers: impl Iterator<Item = &'a Number> + Clone) {
    if numbers.clone().all(|number| matches!(number, Number::Int(_))) {
        out.push(ALL_INTEGERS);
    } else {
        out.push(SOME_DECIMALS);
    }
    let tagged = out.last() == Some(&SOME_DECIMALS);
    for number in numbers {
        match number {
            Number::Int(int) => {
                if tagged {
                    out.push(0);
                }
                put_signed(out, *int);
            }
            Number::Decimal(decimal) => {
                out.push(1);
                out.extend_from_slice(&decimal.to_le_bytes());
            }
        }
    }
}

fn read_numbers(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Number>, Malformed> {
    let tagged = reader.byte()? == SOME_DECIMALS;
    (0..count)
        .map(|_| {
            if tagged && reader.byte()? == 1 {
                reader.fixed().map(|bytes| Number::Decimal(f64::from_le_bytes(bytes)))
            } else {
                reader.signed().map(Number::Int)
            }
        })
        .collect()
}

fn put_bound(out: &mut Vec<u8>, bound: Bound<f64>) {
    let (tag, score) = match bound {
        Bound::Unbounded => (0, 0.0),
        Bound::Included(score) => (1, score),
        Bound::Excluded(score) => (2, score),
    };
    out.push(tag);
    out.extend_from_slice(&f64::to_le_bytes(score));
}

fn read_bound(reader: &mut Reader<'_>) -> Result<Bound<f64>, Malformed> {
    let tag = reader.byte()?;
    let score = f64::from_le_bytes(reader.fixed()?);
    match tag {
        0 => Ok(Bound::Unbounded),
        1 => Ok(Bound::Included(score)),
        2 => Ok(Bound::Excluded(score)),
        _ => Err(Malformed),
    }
}

fn read_end(reader: &mut Reader<'_>) -> Result<End, Malformed> {
    match reader.byte()? {
        0 => Ok(End::Front),
        1 => Ok(End::Back),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_reads_back() {
        let key = || Key::from("a{b}:c");
        let atoms = || vec![Atom::from("x"), Atom::Int(-3), Atom::from("")];
        let ops = vec![
            Op::Set { key: key(), value: Atom::from("v") },
            Op::Increment { key: key(), by: Number::Int(-9) },
            Op::Increment { key: key(), by: Number::Decimal(0.25) },
            Op::HashSet { key: key(), fields: vec![(Atom::Int(1), Atom::Int(2)), (Atom::from("f"), Atom::from("v"))] },
            Op::HashIncrement {
                key: key(),
                fields: vec![(Atom::Int(60), Number::Int(1)), (Atom::Int(61), Number::Int(-2))],
            },
            Op::HashIncrement {
                key: key(),
                fields: vec![(Atom::Int(60), Number::Int(1)), (Atom::Int(61), Number::Decimal(1.5))],
            },
            Op::HashRemove { key: key(), fields: atoms() },
            Op::SetAdd { key: key(), members: atoms() },
            Op::SetRemove { key: key(), members: Vec::new() },
            Op::SortedAdd { key: key(), when: AddWhen::IfGreater, members: vec![(Atom::from("m"), f64::INFINITY)] },
            Op::SortedRemove { key: key(), members: atoms() },
            Op::SortedRemoveByScore {
                key: key(),
                range: ScoreRange { from: Bound::Excluded(1.5), to: Bound::Unbounded },
            },
            Op::ListPush { key: key(), end: End::Back, values: atoms() },
            Op::ListPop { key: key(), end: End::Front, count: 3 },
            Op::HllAdd { key: key(), members: atoms() },
            Op::HllMerge { key: key(), hll: b"HYLL".as_slice().into() },
            Op::ExpireAt { key: key(), at_ms: 1_700_000_000_000 },
            Op::Persist { key: key() },
            Op::Delete { key: key() },
        ];
        let mut record = Vec::new();
        put_batch(&mut record, Account(3), 77, &ops);
        put_batch(&mut record, Account(0), 78, &[Op::ExpireIn { key: key(), ms: 22 }]);
        let expected = vec![
            Logged { account: Account(3), now_ms: 77, ops },
            Logged { account: Account(0), now_ms: 78, ops: vec![Op::ExpireAt { key: key(), at_ms: 100 }] },
        ];
        assert_eq!(read_batches(&record), Ok(expected));
        for cut in 1..record.len() {
            // A cut may fall between two batches; it never panics, and never yields both.
            assert!(
                read_batches(&record[..cut]).is_ok_and(|batches| batches.len() == 1)
                    || read_batches(&record[..cut]).is_err()
            );
        }
    }
}
