//! When viewing sessions begin: how many in each second, and at each millisecond, of a stretch of five minutes.
//!
//! A hash a stretch: `sN` is the number of its Nth second, `N` that of its Nth millisecond. The seconds tell where it is worth
//! looking at the milliseconds.

use std::collections::BTreeMap;

use tickmark_store::{AddWhen, Atom, Number, Op, Query, Reply};

use super::keys::ScopeKeys;
use super::statistics::RECORD_MS;
use crate::Result;

const SECOND_MS: i64 = 1_000;
/// Seconds of a stretch.
pub(super) const SECONDS: usize = 300;
const _: () = assert!(RECORD_MS == 300 * SECOND_MS);

/// The seconds of a stretch.
pub(super) struct Joins {
    stretch: i64,
    /// How many began in the seconds before each, without those at the very first instant.
    before: Vec<i64>,
}

impl Joins {
    pub(super) fn query(keys: &ScopeKeys, stretch: i64) -> Query {
        let seconds = (0..SECONDS).map(second_field);
        Query::HashGetMany { key: keys.joins(stretch), fields: seconds.chain([Atom::from(0)]).collect() }
    }

    pub(super) fn read(stretch: i64, reply: Reply) -> Result<Self> {
        let mut counts: Vec<i64> = reply.values()?.iter().map(|held| count(held.as_ref())).collect();
        let at_first_instant = counts.pop().unwrap_or(0);
        let sums = counts.into_iter().scan(-at_first_instant, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        Ok(Self { stretch, before: [0].into_iter().chain(sums).collect() })
    }

    /// When a second of the stretch begins.
    pub(super) fn at_ms(&self, second: usize) -> i64 {
        self.stretch * RECORD_MS + i64::try_from(second).unwrap_or(0) * SECOND_MS
    }

    /// How many begin from one second to before another, without those at the very first instant.
    pub(super) fn within(&self, from: usize, to: usize) -> i64 {
        self.before[to] - self.before[from]
    }

    pub(super) fn query_second(&self, keys: &ScopeKeys, second: usize) -> Query {
        Query::HashGetMany { key: keys.joins(self.stretch), fields: instants(second).map(Atom::from).collect() }
    }

    /// The instants of a second at which any begin, in order, without the very first.
    pub(super) fn read_second(&self, second: usize, reply: Reply) -> Result<Vec<(i64, i64)>> {
        let counts = reply.values()?;
        let counted = instants(second).zip(&counts).map(|(instant, held)| (instant, count(held.as_ref())));
        let began = counted.filter(|(instant, count)| *instant > 0 && *count != 0);
        Ok(began.map(|(instant, count)| (self.stretch * RECORD_MS + instant, count)).collect())
    }
}

/// Viewing sessions that begin, or do not any more, at instants.
#[derive(Debug, Default)]
pub(super) struct Joined(Vec<(i64, i64)>);

impl Joined {
    pub(super) fn add(&mut self, at_ms: i64, count: i64) {
        self.0.push((at_ms, count));
    }

    pub(super) fn ops(mut self, keys: &ScopeKeys, ops: &mut Vec<Op>) {
        self.0.sort_unstable();
        let mut stretches = Vec::new();
        for joined in self.0.chunk_by(|(a, _), (b, _)| a.div_euclid(RECORD_MS) == b.div_euclid(RECORD_MS)) {
            let stretch = joined[0].0.div_euclid(RECORD_MS);
            let mut seconds: BTreeMap<i64, i64> = BTreeMap::new();
            let mut fields = Vec::with_capacity(joined.len() + 1);
            for at_once in joined.chunk_by(|(a, _), (b, _)| a == b) {
                let count: i64 = at_once.iter().map(|(_, count)| count).sum();
                let instant = at_once[0].0.rem_euclid(RECORD_MS);
                *seconds.entry(instant / SECOND_MS).or_default() += count;
                fields.push((Atom::from(instant), Number::Int(count)));
            }
            let seconds = seconds
                .into_iter()
                .map(|(second, count)| (second_field(usize::try_from(second).unwrap_or(0)), Number::Int(count)));
            fields.extend(seconds);
            fields.retain(|(_, count)| *count != Number::Int(0));
            if !fields.is_empty() {
                ops.push(Op::HashIncrement { key: keys.joins(stretch), fields });
                stretches.push((Atom::from(stretch), stretch as f64));
            }
        }
        if !stretches.is_empty() {
            ops.push(Op::SortedAdd { key: keys.stretches(), when: AddWhen::IfNew, members: stretches });
        }
    }
}

fn second_field(second: usize) -> Atom {
    Atom::from(format!("s{second}"))
}

fn instants(second: usize) -> impl Iterator<Item = i64> {
    let from = i64::try_from(second).unwrap_or(0) * SECOND_MS;
    from..from + SECOND_MS
}

fn count(held: Option<&Atom>) -> i64 {
    held.and_then(Atom::as_int).unwrap_or(0)
}
