//! What is known of a key: a line of text that every write to it replaces, under a guard that it still is as it was read.
//!
//! `VERSION NEWEST PROJECT.DIMENSION OWN EFFECTIVE READY`: how often the key changed; its newest instant in microseconds (-1 where
//! it has none); the generations of the project and the dimension it was last brought in line with; what is declared for the
//! key; what is calculated for it, its dimension's declaration included; and the intervals whose totals are complete.

use std::fmt::Write;

use tickmark_store::{Atom, Op};

use super::keys::Keys;
use super::{Calculation, Declaration, Intervals};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) version: u64,
    pub(super) newest: i64,
    pub(super) basis: Basis,
    pub(super) own: Declaration,
    pub(super) effective: Declaration,
    pub(super) ready: Intervals,
}

/// Which settings a key is in line with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) project: u64,
    pub(super) dimension: u64,
}

const NO_VALUES: i64 = -1;

impl State {
    pub(super) fn empty() -> Self {
        Self {
            version: 0,
            newest: NO_VALUES,
            basis: Basis::default(),
            own: Declaration::default(),
            effective: Declaration::default(),
            ready: Intervals::default(),
        }
    }

    /// The same key with other declarations: intervals that are new are not ready, unless there is nothing to add up.
    #[must_use]
    pub(super) fn declared(&self, basis: Basis, dimension: Declaration, own: Declaration) -> Self {
        let effective = own.with(&dimension);
        let needed = effective.all_intervals();
        let ready = if self.newest == NO_VALUES { needed } else { self.ready.common(needed) };
        Self { basis, own, effective, ready, ..self.clone() }
    }

    pub(super) fn unready(&self) -> Intervals {
        self.effective.all_intervals().without(self.ready)
    }

    pub(super) fn write(&self) -> Atom {
        let Self { version, newest, basis: Basis { project, dimension }, own, effective, ready } = self;
        let mut text = String::with_capacity(160);
        let _ = write!(text, "{version} {newest} {project}.{dimension} {own} {effective} {ready}");
        // Never the spelling of a number: it has spaces.
        Atom::Bytes(text.into_bytes().into())
    }

    /// `None` for what no [`State::write`] wrote.
    pub(super) fn read(atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        let mut words = text.split(' ');
        let (version, newest, basis) = (words.next()?, words.next()?, words.next()?);
        let (own, effective, ready) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        let (project, dimension) = basis.split_once('.')?;
        Some(Self {
            version: version.parse().ok()?,
            newest: newest.parse().ok()?,
            basis: Basis { project: project.parse().ok()?, dimension: dimension.parse().ok()? },
            own: Declaration::read(own)?,
            effective: Declaration::read(effective)?,
            ready: Intervals::read(ready)?,
        })
    }
}

/// What the sets and hashes of a key need, to show one state instead of another. The record itself is not among it.
pub(super) fn shown(keys: &Keys, old: Option<&State>, new: &State) -> Vec<Op> {
    let nothing = State::empty();
    let old = old.unwrap_or(&nothing);
    let mut ops = Vec::new();
    if old.effective == new.effective {
        return ops;
    }
    let names = |state: &State| state.effective.calculations().map(|(name, _)| name).collect::<Vec<_>>();
    let (before, after) = (names(old), names(new));
    replace_set(&mut ops, keys.calculations(), &before, &after, Calculation::as_str);
    for calculation in Calculation::ALL {
        let (before, after) = (old.effective.of(calculation), new.effective.of(calculation));
        let [listed, wanted] = [before, after].map(|intervals| intervals.iter().collect::<Vec<_>>());
        replace_set(&mut ops, keys.intervals(calculation), &listed, &wanted, tickmark_stats::Interval::as_str);
        let dropped = before.without(after);
        ops.extend(dropped.iter().map(|interval| Op::Delete { key: keys.results(calculation, interval) }));
    }
    let dropped = old.effective.all_intervals().without(new.effective.all_intervals());
    ops.extend(dropped.iter().map(|interval| Op::Delete { key: keys.totals(interval) }));
    ops
}

fn replace_set<T: Copy + PartialEq>(
    ops: &mut Vec<Op>,
    key: tickmark_store::Key,
    before: &[T],
    after: &[T],
    name: fn(T) -> &'static str,
) {
    let atoms = |these: &[T], others: &[T]| {
        let missing = these.iter().filter(|one| !others.contains(one));
        missing.map(|one| Atom::from(name(*one))).collect::<Vec<_>>()
    };
    let (gone, new) = (atoms(before, after), atoms(after, before));
    if !gone.is_empty() {
        ops.push(Op::SetRemove { key: key.clone(), members: gone });
    }
    if !new.is_empty() {
        ops.push(Op::SetAdd { key, members: new });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for text in [
            "0 -1 0.0 - - -",
            "12 1413596047000000 3.1 - count=weeks+months weeks+months",
            "12 1413596047000000 3.1 sum=days sum=days,average=hours days",
        ] {
            assert_eq!(State::read(&Atom::from(text)).unwrap().write(), Atom::from(text));
        }
        for nonsense in
            ["", "7", "1 2 3 - - -", "1 2 3.4 - - - -", "x -1 0.0 - - -", "0 -1 0.0 - count=days fortnights"]
        {
            assert!(State::read(&Atom::from(nonsense)).is_none(), "{nonsense:?}");
        }
    }

    #[test]
    fn only_a_key_with_values_has_something_to_build() {
        let dimension = Declaration::read("count=days,sum=weeks").unwrap();
        let empty = State::empty().declared(Basis::default(), dimension, Declaration::default());
        assert!(empty.unready().is_empty());
        let state = State { newest: 5, ..empty };
        let more = Declaration::read("sum=hours").unwrap();
        let declared = state.declared(Basis::default(), dimension, more);
        assert_eq!(
            (declared.unready().to_string().as_str(), declared.ready.to_string().as_str()),
            ("hours", "days+weeks")
        );
    }
}
