//! The hashes of results that other programs read: brought up to date after values were kept, never while.
//!
//! Whoever keeps values hands on which intervals they touched; many such [`Change`]s of a key become one, and one refresh writes
//! what all of them changed. Where it is not known what changed (after a restart, or when another server wrote) everything
//! is written again. Results carry the version of the values they are of, in a guard: an older refresh never overwrites a
//! newer one.

use std::collections::HashSet;
use std::sync::Arc;

use tickmark_stats::Interval;
use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Op, Placement, Query, Reply};

use super::alert::read_rules;
use super::building::Settled;
use super::catalog::{Calculations, foreign, found};
use super::keys::Keys;
use super::outcome::{Outcome, figures};
use super::reading::in_order;
use super::state::State;
use super::total::Total;
use super::watch::Watch;
use super::{Calculation, KeyPath, Project};
use crate::{Error, Result};

/// Intervals of one key that are remembered as touched. When there are more, everything is written again.
pub const TOUCHED_MAX: usize = 10_000;
/// Fields of results in one batch.
const FIELDS_MAX: usize = 200_000;

/// What a write changed.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: Arc<KeyPath>,
    /// The versions of the key before and after.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The intervals that have other totals now; none where everything may be different.
    pub(super) numbers: Option<Vec<(Interval, Vec<i64>)>>,
}

impl Change {
    /// Says that it is not known what changed.
    pub fn doubt(&mut self) {
        self.numbers = None;
    }

    /// Makes one of two changes to the same key.
    pub fn merge(&mut self, later: Self) {
        let is_next = later.from == self.to;
        match (&mut self.numbers, later.numbers) {
            (Some(numbers), Some(more)) if is_next => {
                for (interval, more) in more {
                    match numbers.iter_mut().find(|(known, _)| *known == interval) {
                        Some((_, known)) => known.extend(more),
                        None => numbers.push((interval, more)),
                    }
                }
                if numbers.iter().map(|(_, numbers)| numbers.len()).sum::<usize>() > TOUCHED_MAX {
                    for (_, numbers) in numbers.iter_mut() {
                        numbers.sort_unstable();
                        numbers.dedup();
                    }
                    if numbers.iter().map(|(_, numbers)| numbers.len()).sum::<usize>() > TOUCHED_MAX / 2 {
                        self.numbers = None;
                    }
                }
            }
            _ => self.numbers = None,
        }
        self.from = self.from.min(later.from);
        self.to = self.to.max(later.to);
    }
}

/// What came of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// So many results were computed, and show every value there was. To be followed by [`Calculations::unmark_done`], unless
    /// the key has changed again.
    Done { recomputed: u64, unmarking: Unmarking },
    /// So many results were computed, and there are newer values already.
    Behind { recomputed: u64 },
    /// The key is not there any more.
    Gone,
}

/// A key's state, its record, the totals of its intervals, and the sides of its rules.
type Fresh = (State, Atom, Vec<(Interval, Vec<(i64, Total)>)>, Vec<Option<Atom>>);

/// What the state of a key was when its results were up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmarking(Atom);

/// How much of the results is written.
enum Extent<'a> {
    All,
    Touched(&'a [(Interval, Vec<i64>)]),
}

impl Extent<'_> {
    /// The numbers that were touched; none where it may be all.
    fn touched(&self, interval: Interval) -> Option<HashSet<i64>> {
        match self {
            Self::All => None,
            Self::Touched(numbers) => {
                let known = numbers.iter().filter(|(known, _)| *known == interval);
                Some(known.flat_map(|(_, numbers)| numbers.iter().copied()).collect())
            }
        }
    }
}

impl Calculations {
    /// Brings the results of a key up to date.
    pub async fn refresh(
        &self,
        account: Account,
        path: &KeyPath,
        change: Option<&Change>,
        now_ms: u64,
    ) -> Result<Refreshed> {
        let keys = self.keys(path);
        let rules = self.project_keys(&path.project).rules();
        let more = vec![
            Query::Get { key: keys.refreshed() },
            Query::HashAll { key: keys.fired() },
            Query::HashAll { key: rules.clone() },
        ];
        let (standing, mut more) = self.standing_and(account, path, more).await?;
        let mut next = || more.next().unwrap_or(Reply::Value(None));
        let (shown, left_over) = (next().value()?, next().fields()?);
        let rules = read_rules(&rules, next())?;
        let Ok(expected) = standing.there(path) else {
            self.unmark(account, path, None).await?;
            return Ok(Refreshed::Gone);
        };
        if !standing.is_in_line(expected) || !expected.unready().is_empty() {
            match self.settle(account, path, now_ms).await {
                // What was just settled has another version, and is refreshed as that.
                Ok(Settled::Building) if standing.is_in_line(expected) => {}
                Ok(_) => return Ok(Refreshed::Behind { recomputed: 0 }),
                Err(error) => return Err(error),
            }
        }
        let Some(project) = &standing.project.says else { return Ok(Refreshed::Behind { recomputed: 0 }) };
        self.list_fired(account, path, left_over, now_ms).await?;
        let watch = Watch::of(rules, path, expected);
        let shown_version = shown.as_ref().and_then(Atom::as_int).and_then(|version| u64::try_from(version).ok());
        let extent = match change {
            Some(Change { from, numbers: Some(numbers), .. }) if shown_version.is_some_and(|shown| shown >= *from) => {
                Extent::Touched(numbers)
            }
            _ => Extent::All,
        };
        let read = self.read_totals(account, &keys, expected, &extent, (&watch, project)).await?;
        let Some((state, record, totals, sides)) = read else { return Ok(Refreshed::Behind { recomputed: 0 }) };
        if state.effective != expected.effective || state.ready != expected.ready {
            return Ok(Refreshed::Behind { recomputed: 0 });
        }
        // Writes that are not part of the change may have touched other intervals.
        let version = match (&extent, change) {
            (Extent::Touched(_), Some(change)) => state.version.min(change.to),
            _ => state.version,
        };
        let (mut recomputed, mut fired, mut crossings) = (0, Vec::new(), Batch::new());
        let watch = watch.with_sides(sides);
        let mut writer = Writer { calculations: self, account, keys: &keys, shown, ops: Vec::new(), fields: 0 };
        for (interval, totals) in &totals {
            let touched = extent.touched(*interval);
            for calculation in Calculation::ALL.into_iter().filter(|one| state.effective.contains(*one, *interval)) {
                recomputed += 1;
                let key = keys.results(calculation, *interval);
                if !watch.is_empty() {
                    let outcome = outcome(calculation, *interval, totals, project);
                    let of = (path, &keys);
                    fired.extend(watch.look(&outcome, calculation, of, state.version, now_ms, &mut crossings));
                }
                match &touched {
                    Some(touched) if calculation.is_per_interval() => {
                        let those = totals.iter().filter(|(number, _)| touched.contains(number)).cloned();
                        let outcome = outcome(calculation, *interval, &those.collect::<Vec<_>>(), project);
                        writer.put(key, outcome.fields()).await?;
                    }
                    _ => {
                        let outcome = outcome(calculation, *interval, totals, project);
                        // What is complete replaces itself; else something may have to go.
                        if calculation.is_per_interval() || outcome.named().iter().any(|(_, value)| value.is_none()) {
                            writer.ops.push(Op::Delete { key: key.clone() });
                        }
                        writer.put(key, outcome.fields()).await?;
                    }
                }
            }
        }
        if !writer.end(version, crossings).await? {
            return Ok(Refreshed::Behind { recomputed });
        }
        self.list_fired(account, path, fired, now_ms).await?;
        if version < state.version {
            return Ok(Refreshed::Behind { recomputed });
        }
        Ok(Refreshed::Done { recomputed, unmarking: Unmarking(record) })
    }

    /// The state of a key and the totals that the refresh needs, of one moment.
    async fn read_totals(
        &self,
        account: Account,
        keys: &Keys,
        state: &State,
        extent: &Extent<'_>,
        (watch, project): (&Watch, &Project),
    ) -> Result<Option<Fresh>> {
        let intervals: Vec<_> = state.ready.common(state.effective.all_intervals()).iter().collect();
        let mut queries = vec![Query::Get { key: keys.record() }];
        let mut asked = Vec::new();
        for interval in intervals {
            let key = keys.totals(interval);
            let pairs = state.effective.pairs().filter(|(_, of)| *of == interval);
            let is_per_interval = pairs.map(|(calculation, _)| calculation).all(Calculation::is_per_interval);
            let touched = extent.touched(interval).filter(|_| is_per_interval);
            let numbers = touched.map(|mut numbers| {
                numbers.extend(watch.numbers(interval, &project.calendar, state.newest));
                numbers.into_iter().collect::<Vec<_>>()
            });
            queries.push(match numbers.clone() {
                Some(numbers) => {
                    Query::HashGetMany { key: key.clone(), fields: numbers.into_iter().map(Atom::Int).collect() }
                }
                None => Query::HashAll { key: key.clone() },
            });
            asked.push((interval, key, numbers));
        }
        if !watch.is_empty() {
            queries.push(Query::HashGetMany { key: keys.sides(), fields: watch.fields() });
        }
        let mut replies = self.ask(account, queries).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Reply::Value(None));
        let read = found(&keys.record(), next(), State::read)?;
        let (Some(record), Some(state)) = (read.record, read.says) else { return Ok(None) };
        let mut totals = Vec::new();
        for (interval, key, numbers) in asked {
            let these = match numbers {
                None => in_order(&key, next().fields()?)?,
                Some(numbers) => {
                    let found = numbers.into_iter().zip(next().values()?);
                    let read = |(number, atom): (i64, Option<Atom>)| {
                        let atom = atom?;
                        Some(Total::read(&atom).map(|total| (number, total)).ok_or_else(|| foreign(&key, &atom)))
                    };
                    let mut totals = found.filter_map(read).collect::<Result<Vec<_>>>()?;
                    totals.sort_unstable_by_key(|(number, _)| *number);
                    totals
                }
            };
            totals.push((interval, these));
        }
        let sides = if watch.is_empty() { Vec::new() } else { next().values()? };
        Ok(Some((state, record, totals, sides)))
    }

    /// Takes a key off the list of those whose results are old, if it has not changed since.
    pub async fn unmark_done(&self, account: Account, path: &KeyPath, unmarking: Unmarking) -> Result<()> {
        self.unmark(account, path, Some(unmarking.0)).await
    }

    async fn unmark(&self, account: Account, path: &KeyPath, record: Option<Atom>) -> Result<()> {
        let (keys, member) = (self.keys(path), Atom::from(path.to_string()));
        let remove = Op::SortedRemove { key: self.account_keys().pending(), members: vec![member.clone()] };
        let mut batch = Batch::new().op(remove);
        if self.placement() == Placement::Together {
            batch.guards.push(Guard::Value { key: keys.record(), is: record });
            return match self.store.commit(account, batch).await {
                Ok(_) | Err(StoreError::GuardFailed { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            };
        }
        self.store.commit(account, batch).await?;
        // A write that came between marked the key before it wrote; the mark was just taken.
        if self.ask_one(account, Query::Get { key: keys.record() }).await?.value()? != record {
            self.store.commit(account, self.pending(vec![(member, 0.0)])).await?;
        }
        Ok(())
    }
}

fn outcome(calculation: Calculation, interval: Interval, totals: &[(i64, Total)], project: &Project) -> Outcome {
    let figures = figures(calculation, totals, &project.calendar, interval, project.gaps);
    Outcome { calendar: project.calendar.clone(), interval, figures }
}

/// Writes results in batches that are not too large.
struct Writer<'a> {
    calculations: &'a Calculations,
    account: Account,
    keys: &'a Keys,
    /// What the version of the results was.
    shown: Option<Atom>,
    ops: Vec<Op>,
    fields: usize,
}

impl Writer<'_> {
    async fn put(&mut self, key: tickmark_store::Key, fields: Vec<(Atom, Atom)>) -> Result<()> {
        for page in fields.chunks(FIELDS_MAX) {
            self.ops.push(Op::HashSet { key: key.clone(), fields: page.to_vec() });
            self.fields += page.len();
            if self.fields >= FIELDS_MAX {
                self.commit(None, Vec::new()).await?;
            }
        }
        Ok(())
    }

    /// Writes the rest, and of which version it all is. Answers whether nobody else was faster.
    async fn end(mut self, version: u64, crossings: Batch) -> Result<bool> {
        self.ops.extend(crossings.ops);
        match self.commit(Some(version), crossings.guards).await {
            Ok(()) => Ok(true),
            Err(Error::Store(StoreError::GuardFailed { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn commit(&mut self, version: Option<u64>, guards: Vec<Guard>) -> Result<()> {
        let key = self.keys.refreshed();
        let mut batch = Batch::new().guard(Guard::Value { key: key.clone(), is: self.shown.clone() });
        batch.guards.extend(guards);
        batch.ops = std::mem::take(&mut self.ops);
        self.fields = 0;
        if let Some(version) = version {
            batch.push(Op::Set { key, value: Atom::from(version.to_string()) });
        }
        self.calculations.store.commit(self.account, batch).await?;
        Ok(())
    }
}
