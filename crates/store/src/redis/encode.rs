//! A batch as the script reads it.

use std::collections::HashMap;
use std::ops::Bound;

use tickmark_stats::hll::Hll;

use super::pack::{Packer, is_exact};
use super::plan::Place;
use crate::{AddWhen, Atom, Batch, End, Error, Guard, Key, Number, Op, Presence, Result, ScoreRange};

/// Redis keeps expiry in signed milliseconds; nearly 300,000 years from now is for ever.
const EXPIRE_IN_MAX_MS: u64 = 1 << 53;

/// A byte of a HyperLogLog's header, and the bit in it that tells Redis to count again.
const HLL_STALE: (usize, u8) = (15, 0x80);

/// Packs a batch whose keys have these indexes, and after them a spare one.
pub(super) fn batch<'a>(
    place: &'a Place,
    batch: &'a Batch,
    indexes: HashMap<&'a Key, usize>,
    spare: usize,
) -> Result<Vec<u8>> {
    let mut incremented = HashMap::new();
    for op in &batch.ops {
        if let Op::HashIncrement { key, .. } = op {
            *incremented.entry(key).or_default() += 1;
        }
    }
    let mut encoder = Encoder { packer: Packer::default(), place, indexes, spare, incremented };
    encoder.packer.array(2);
    encoder.packer.array(batch.guards.len());
    batch.guards.iter().for_each(|guard| encoder.guard(guard));
    encoder.packer.array(batch.ops.len());
    batch.ops.iter().try_for_each(|op| encoder.op(op))?;
    Ok(encoder.packer.into_bytes())
}

struct Encoder<'a> {
    packer: Packer,
    place: &'a Place,
    indexes: HashMap<&'a Key, usize>,
    spare: usize,
    /// Keys whose fields increments of the batch will look at, and how many of them.
    incremented: HashMap<&'a Key, u32>,
}

impl Encoder<'_> {
    fn guard(&mut self, guard: &Guard) {
        let len = if matches!(guard, Guard::Key { .. } | Guard::Value { .. } | Guard::Front { .. }) { 3 } else { 4 };
        let name = match guard {
            Guard::Key { .. } => "key",
            Guard::Value { .. } => "value",
            Guard::Field { .. } => "field",
            Guard::Fields { .. } => "fields",
            Guard::Member { .. } => "member",
            Guard::Score { .. } => "score",
            Guard::Front { .. } => "front",
        };
        self.head(name, guard.key(), len);
        match guard {
            Guard::Key { is, .. } | Guard::Member { is, .. } => self.packer.bool(*is == Presence::Present),
            Guard::Value { is, .. } | Guard::Field { is, .. } | Guard::Front { is, .. } => self.held(is.as_ref()),
            Guard::Fields { are, .. } => {
                self.packer.array(are.len());
                for (_, is) in are {
                    self.held(is.as_ref());
                }
                self.packer.array(are.len());
                for (field, _) in are {
                    self.packer.atom(field);
                }
            }
            Guard::Score { is: Some(score), .. } => self.packer.decimal(*score),
            Guard::Score { is: None, .. } => self.packer.bool(false),
        }
        if let Guard::Field { field: element, .. }
        | Guard::Member { member: element, .. }
        | Guard::Score { member: element, .. } = guard
        {
            self.packer.atom(element);
        }
    }

    fn held(&mut self, is: Option<&Atom>) {
        match is {
            Some(atom) => self.packer.atom(atom),
            None => self.packer.bool(false),
        }
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Set { key, value } => {
                self.head("set", key, 3);
                self.packer.atom(value);
            }
            Op::Increment { key, by } => {
                self.head("increment", key, 3);
                self.number(*by);
            }
            Op::HashSet { key, fields } => {
                self.head("hash_set", key, 4);
                self.pairs(fields, Packer::atom);
                self.packer.bool(self.incremented.contains_key(key));
            }
            Op::HashIncrement { key, fields } => self.hash_increment(key, fields),
            Op::HashRemove { key, fields } => {
                self.head("hash_remove", key, 4);
                self.elements(fields);
                self.packer.bool(self.incremented.contains_key(key));
            }
            Op::SetAdd { key, members } => self.element_op("set_add", key, members),
            Op::SetRemove { key, members } => self.element_op("set_remove", key, members),
            Op::SortedAdd { key, when, members } => {
                self.head("sorted_add", key, 4);
                self.packer.array(members.len() * 2);
                for (member, score) in members {
                    self.packer.text(&format!("{score:?}"));
                    self.packer.atom(member);
                }
                match when {
                    AddWhen::Always => self.packer.bool(false),
                    AddWhen::IfNew => self.packer.text("NX"),
                    AddWhen::IfGreater => self.packer.text("GT"),
                    AddWhen::IfLess => self.packer.text("LT"),
                }
            }
            Op::SortedRemove { key, members } => self.element_op("sorted_remove", key, members),
            Op::SortedRemoveByScore { key, range } => {
                self.head("sorted_remove_by_score", key, 4);
                let (from, to) = bounds(range);
                self.packer.text(&from);
                self.packer.text(&to);
            }
            Op::ListPush { key, end, values } => {
                self.head("list_push", key, 4);
                self.elements(values);
                self.packer.text(if *end == End::Front { "LPUSH" } else { "RPUSH" });
            }
            Op::ListPop { key, end, count } => {
                self.head("list_pop", key, 4);
                self.packer.text(if *end == End::Front { "LPOP" } else { "RPOP" });
                self.packer.int(i64::from(u32::try_from(*count).unwrap_or(u32::MAX)));
            }
            Op::HllAdd { key, members } => self.element_op("hll_add", key, members),
            Op::HllMerge { key, hll } => self.hll_merge(key, hll)?,
            Op::ExpireAt { key, at_ms } => {
                self.head("expire_at", key, 3);
                let at_ms = i64::try_from(*at_ms).unwrap_or(i64::MAX);
                self.packer.atom(&Atom::from(at_ms));
            }
            Op::ExpireIn { key, ms } => {
                self.head("expire_in", key, 3);
                let ms = i64::try_from((*ms).min(EXPIRE_IN_MAX_MS)).unwrap_or(i64::MAX);
                self.packer.atom(&Atom::from(ms));
            }
            Op::Persist { key } => self.head("persist", key, 2),
            Op::Delete { key } => self.head("delete", key, 2),
            Op::Publish { channel, message } => {
                self.packer.array(3);
                self.packer.text("publish");
                self.packer.bytes(&self.place.channels.outer(channel.as_bytes()));
                self.packer.bytes(message);
            }
        }
        Ok(())
    }

    /// Small whole numbers have an operation of their own, because they are nearly all there is and fast to add.
    fn hash_increment(&mut self, key: &Key, fields: &[(Atom, Number)]) {
        let small = |(_, by): &(Atom, Number)| matches!(by, Number::Int(by) if is_exact(*by));
        let all_small = fields.iter().all(small);
        let name = if all_small { "hash_increment" } else { "hash_increment_any" };
        self.head(name, key, 5);
        self.packer.array(fields.len());
        for (field, _) in fields {
            self.packer.atom(field);
        }
        self.packer.array(fields.len());
        for (_, by) in fields {
            match by {
                Number::Int(by) if all_small => self.packer.int(*by),
                by => self.number(*by),
            }
        }
        let ascending = fields.is_sorted_by(|(a, _), (b, _)| a.as_int() < b.as_int());
        self.packer.bool(ascending && self.incremented.get(key) == Some(&1));
    }

    fn hll_merge(&mut self, key: &Key, hll: &[u8]) -> Result<()> {
        Hll::from_redis(hll).map_err(|error| Error::BadHll { key: key.clone(), why: error.to_string() })?;
        let mut hll = hll.to_vec();
        hll[HLL_STALE.0] |= HLL_STALE.1;
        self.head("hll_merge", key, 4);
        self.packer.bytes(&hll);
        self.packer.index(self.spare);
        Ok(())
    }

    /// A whole number as a string and a decimal as a number: so the script tells them apart.
    fn number(&mut self, number: Number) {
        match number {
            Number::Int(int) => self.packer.text(itoa::Buffer::new().format(int)),
            Number::Decimal(decimal) => self.packer.decimal(decimal),
        }
    }

    fn element_op(&mut self, name: &str, key: &Key, elements: &[Atom]) {
        self.head(name, key, 3);
        self.elements(elements);
    }

    fn elements(&mut self, elements: &[Atom]) {
        self.packer.array(elements.len());
        for element in elements {
            self.packer.atom(element);
        }
    }

    fn pairs<T>(&mut self, pairs: &[(Atom, T)], mut value: impl FnMut(&mut Packer, &T)) {
        self.packer.array(pairs.len() * 2);
        for (field, second) in pairs {
            self.packer.atom(field);
            value(&mut self.packer, second);
        }
    }

    fn head(&mut self, name: &str, key: &Key, len: usize) {
        self.packer.array(len);
        self.packer.text(name);
        self.packer.index(self.indexes[key]);
    }
}

/// The two ends of a range of scores, as Redis spells them.
pub(super) fn bounds(range: &ScoreRange) -> (String, String) {
    let end = |bound: Bound<f64>, open: &str| match bound {
        Bound::Included(score) => format!("{score:?}"),
        Bound::Excluded(score) => format!("({score:?}"),
        Bound::Unbounded => open.to_owned(),
    };
    (end(range.from, "-inf"), end(range.to, "+inf"))
}
