//! What a request adds up to in one scope, before it becomes operations.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tickmark_store::{AddWhen, Atom, Number, Op};

use super::joins::Joined;
use super::keys::ScopeKeys;
use super::label::{self, Labels};
use super::statistics::RECORD_MS;
use super::viewer::Ledger;

/// Fields of the hash of totals.
pub(super) const SESSIONS: &str = "viewing_sessions";
pub(super) const DURATION_MS: &str = "duration_ms";
pub(super) const ATTENDED: &str = "attended";
/// Of the hashes of counts.
pub(super) const VIEWERS: &str = "viewers";

/// Viewers by label.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    viewers: i64,
    by_label: HashMap<u32, i64, RandomState>,
}

impl Count {
    pub(super) fn add(&mut self, label: u32, viewers: i64) {
        self.viewers += viewers;
        *self.by_label.entry(label).or_default() += viewers;
    }

    fn move_label(&mut self, old: u32, new: u32) {
        *self.by_label.entry(old).or_default() -= 1;
        *self.by_label.entry(new).or_default() += 1;
    }

    /// As increments of a hash. What adds up to nothing is left out.
    pub(super) fn increments(&self, labels: &Labels) -> Vec<(Atom, Number)> {
        let mut fields: BTreeMap<String, i64> = BTreeMap::new();
        fields.insert(VIEWERS.to_owned(), self.viewers);
        for (label, viewers) in &self.by_label {
            for field in label::fields(labels.text(*label)) {
                *fields.entry(field).or_default() += viewers;
            }
        }
        fields.retain(|_, viewers| *viewers != 0);
        fields.into_iter().map(|(field, viewers)| (Atom::from(field), Number::Int(viewers))).collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Who is counted as active now.
    pub(super) live: Count,
    records: BTreeMap<i64, Count>,
    /// Stretches of five minutes in which somebody became active.
    unsettled: BTreeSet<i64>,
    pub(super) joined: Joined,
    sessions: i64,
    duration_ms: i64,
    /// Who was never seen before.
    pub(super) attended: i64,
}

impl Ledger for Sums {
    fn covered(&mut self, from_ms: i64, to_ms: i64, label: u32) {
        for stretch in from_ms.div_euclid(RECORD_MS)..=to_ms.div_euclid(RECORD_MS) {
            self.unsettled.insert(stretch);
        }
        for at_ms in record_times(from_ms, to_ms) {
            self.records.entry(at_ms).or_default().add(label, 1);
        }
    }

    fn relabelled(&mut self, from_ms: i64, to_ms: i64, old: u32, new: u32) {
        for at_ms in record_times(from_ms, to_ms) {
            self.records.entry(at_ms).or_default().move_label(old, new);
        }
    }

    fn viewed(&mut self, sessions: i64, duration_ms: i64) {
        self.sessions += sessions;
        self.duration_ms += duration_ms;
    }
}

impl Sums {
    pub(super) fn ops(self, keys: &ScopeKeys, labels: &Labels, ops: &mut Vec<Op>) {
        let mut increment = |key, fields: Vec<(Atom, Number)>| {
            if !fields.is_empty() {
                ops.push(Op::HashIncrement { key, fields });
            }
        };
        increment(keys.live(), self.live.increments(labels));
        for (at_ms, count) in &self.records {
            increment(keys.record(*at_ms), count.increments(labels));
        }
        let totals = [(SESSIONS, self.sessions), (DURATION_MS, self.duration_ms), (ATTENDED, self.attended)];
        let totals = totals.into_iter().filter(|(_, change)| *change != 0);
        increment(keys.totals(), totals.map(|(field, change)| (Atom::from(field), Number::Int(change))).collect());
        let unsettled = self.unsettled.iter().map(|stretch| (Atom::from(*stretch), Number::Int(1))).collect();
        increment(keys.unsettled(), unsettled);
        if !self.records.is_empty() {
            let members = self.records.keys().map(|at_ms| (Atom::from(*at_ms), *at_ms as f64)).collect();
            ops.push(Op::SortedAdd { key: keys.records(), when: AddWhen::IfNew, members });
        }
        self.joined.ops(keys, ops);
    }
}

/// The times of records within a stretch, both ends included.
fn record_times(from_ms: i64, to_ms: i64) -> impl Iterator<Item = i64> {
    let first = from_ms.div_euclid(RECORD_MS) + i64::from(from_ms.rem_euclid(RECORD_MS) != 0);
    (first..=to_ms.div_euclid(RECORD_MS)).map(|number| number * RECORD_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        for (from_ms, to_ms, expected) in [
            (0, 0, &[0][..]),
            (1, 299_999, &[]),
            (1, 300_000, &[300_000]),
            (300_000, 600_000, &[300_000, 600_000]),
            (300_001, 600_001, &[600_000]),
        ] {
            assert_eq!(record_times(from_ms, to_ms).collect::<Vec<_>>(), expected, "{from_ms} to {to_ms}");
        }
    }
}
