//! Working stored values into what was declared after they came.
//!
//! A key with few values is done at once, in one batch under the guard of its state. A key with many is done by whoever takes
//! up the work ([`super::work`]), while writes go on: from the moment it begins, writers note the instants that they change. The
//! values are read page by page and added up; then those that changed meanwhile are read again, and the difference is
//! committed together with the word that the totals are complete, under the guard of the state. A build holds 16 bytes a value.

use std::collections::HashMap;

use tickmark_stats::{Calendar, Interval, Timestamp};
use tickmark_store::{Account, Atom, Batch, Cursor, Error as StoreError, Guard, Key, Op, Query, Reply};

use super::catalog::{Calculations, foreign};
use super::keys::Keys;
use super::reading::value_of;
use super::state::{self, State};
use super::total::Total;
use super::{CalculationError, Intervals, KeyPath};
use crate::{Error, Result};

/// Values that are worked in at once, while whoever asks waits.
pub const INLINE_VALUES_MAX: u64 = 10_000;
/// Values read, and totals written, at a time.
pub const BUILD_PAGE: u32 = 20_000;
/// Times to begin again when others were faster.
const ATTEMPTS_MAX: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All that is declared is complete.
    Ready,
    /// Something is left to whoever takes up the work.
    Building,
}

impl Calculations {
    /// Brings a key in line with what is declared, and works its values in where they are few.
    pub async fn settle(&self, account: Account, path: &KeyPath, now_ms: u64) -> Result<Settled> {
        let keys = self.keys(path);
        for _ in 0..ATTEMPTS_MAX {
            let standing = self.standing(account, path).await?;
            let old = standing.there(path)?;
            let mut state = if standing.is_in_line(old) {
                old.clone()
            } else {
                old.declared(standing.basis(), standing.inherited(), old.own)
            };
            if state == *old && state.unready().is_empty() {
                return Ok(Settled::Ready);
            }
            let mut batch = Batch::new().guard(Guard::Value { key: keys.record(), is: standing.key.record.clone() });
            batch.ops.extend(state::shown(&keys, Some(old), &state));
            if state.effective != old.effective {
                batch.push(Op::Delete { key: keys.building() });
            }
            let values = self.ask_one(account, Query::HashLen { key: keys.values() }).await?.count()?;
            let is_small = values <= INLINE_VALUES_MAX;
            if is_small && let Some(project) = &standing.project.says {
                let unready = state.unready();
                let stored = self.ask_one(account, Query::HashAll { key: keys.values() }).await?.fields()?;
                let mut stored = read_values(&keys.values(), stored)?;
                stored.sort_unstable_by_key(|(at, _)| *at);
                for interval in unready.iter() {
                    let totals = added_up(&stored, &project.calendar, interval);
                    batch.push(Op::Delete { key: keys.totals(interval) });
                    push_totals(&mut batch, keys.totals(interval), &totals);
                }
                batch.push(Op::Delete { key: keys.touched() });
                batch.push(Op::Delete { key: keys.building() });
                state.ready = state.effective.all_intervals();
            }
            if state != *old {
                state.version += 1;
                batch.push(Op::Set { key: keys.record(), value: state.write() });
                self.before_all(account, self.pending(vec![(Atom::from(path.to_string()), now_ms as f64)])).await?;
                match self.store.commit(account, batch).await {
                    Ok(_) => {}
                    Err(StoreError::GuardFailed { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            if state.unready().is_empty() {
                return Ok(Settled::Ready);
            }
            self.order(account, path, values, now_ms).await?;
            return Ok(Settled::Building);
        }
        Err(StoreError::GuardFailed { index: 0 }.into())
    }

    async fn before_all(&self, account: Account, batch: Batch) -> Result<()> {
        if !batch.is_empty() {
            self.store.commit(account, batch).await?;
        }
        Ok(())
    }

    /// Leaves a large key to whoever takes up the work, unless someone has.
    async fn order(&self, account: Account, path: &KeyPath, values: u64, now_ms: u64) -> Result<()> {
        let key = self.account_keys().work();
        let member = Atom::from(path.to_string());
        let query = Query::SortedScores { key, members: vec![member] };
        let scores = self.ask_one(account, query).await?.scores()?;
        if scores.first().copied().flatten().is_some() {
            return Ok(());
        }
        let building = self.keys(path).building();
        let begun = Batch::new()
            .guard(Guard::Field { key: building.clone(), field: Atom::from("total"), is: None })
            .op(Op::HashSet { key: building, fields: progress(0, values) });
        match self.store.commit(account, begun).await {
            Ok(_) | Err(StoreError::GuardFailed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.before_all(account, self.work_for(std::iter::once(path.to_string()), now_ms)).await
    }

    /// Works all values of a large key in. `builder` names this attempt; `now_ms` is asked for the time along the way.
    pub(super) async fn build(
        &self,
        account: Account,
        path: &KeyPath,
        builder: &str,
        now_ms: &(dyn Fn() -> u64 + Send + Sync),
    ) -> Result<()> {
        let keys = self.keys(path);
        let Some((unready, calendar, total)) = self.begin(account, path, builder, now_ms()).await? else {
            return Ok(());
        };
        let build = Build { calculations: self, account, path, keys, builder, now_ms };
        let scanned = build.scan(total).await?;
        for interval in unready.iter() {
            build.write_totals(interval, &added_up(&scanned, &calendar, interval)).await?;
        }
        build.finish(&scanned, unready, &calendar).await
    }

    /// Claims the key: from here on writers note what they change, and older attempts end.
    async fn begin(
        &self,
        account: Account,
        path: &KeyPath,
        builder: &str,
        now_ms: u64,
    ) -> Result<Option<(Intervals, std::sync::Arc<Calendar>, u64)>> {
        let keys = self.keys(path);
        for _ in 0..ATTEMPTS_MAX {
            let standing = self.standing(account, path).await?;
            let state = standing.there(path)?;
            if !standing.is_in_line(state) {
                self.settle(account, path, now_ms).await?;
                continue;
            }
            let (unready, Some(project)) = (state.unready(), &standing.project.says) else { return Ok(None) };
            if unready.is_empty() {
                return Ok(None);
            }
            let total = self.ask_one(account, Query::HashLen { key: keys.values() }).await?.count()?;
            let mut fields = progress(0, total);
            fields.push((Atom::from("builder"), Atom::from(builder)));
            let mut batch = Batch::new()
                .guard(Guard::Value { key: keys.record(), is: standing.key.record.clone() })
                .op(Op::HashSet { key: keys.building(), fields })
                .op(Op::Delete { key: keys.touched() });
            batch.ops.extend(unready.iter().map(|interval| Op::Delete { key: keys.totals(interval) }));
            match self.store.commit(account, batch).await {
                Ok(_) => return Ok(Some((unready, project.calendar.clone(), total))),
                Err(StoreError::GuardFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::GuardFailed { index: 0 }.into())
    }
}

/// One attempt at a large key.
struct Build<'a> {
    calculations: &'a Calculations,
    account: Account,
    path: &'a KeyPath,
    keys: Keys,
    builder: &'a str,
    now_ms: &'a (dyn Fn() -> u64 + Send + Sync),
}

impl Build<'_> {
    /// Every value, in the order of time.
    async fn scan(&self, total: u64) -> Result<Vec<(i64, f64)>> {
        let (mut values, mut cursor, key) = (Vec::new(), None, self.keys.values());
        loop {
            let query = Query::HashScan { key: key.clone(), cursor, limit: BUILD_PAGE };
            let (fields, next): (_, Option<Cursor>) = match self.calculations.ask_one(self.account, query).await? {
                Reply::FieldPage { fields, next } => (fields, next),
                other => return Err(StoreError::Shape { wanted: "FieldPage", got: format!("{other:?}") }.into()),
            };
            values.extend(read_values(&key, fields)?);
            let done = (values.len() as u64).min(total);
            self.write(vec![Op::HashSet { key: self.keys.building(), fields: progress(done, total) }]).await?;
            self.calculations.renew(self.account, &self.path.to_string(), (self.now_ms)()).await?;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        // A scan may show a value twice, the second time as it was changed; what changed is read again at the end.
        values.sort_by_key(|(at, _)| *at);
        values.dedup_by_key(|(at, _)| *at);
        Ok(values)
    }

    async fn write_totals(&self, interval: Interval, totals: &[(i64, Total)]) -> Result<()> {
        for page in totals.chunks(BUILD_PAGE as usize) {
            let mut batch = Batch::new();
            push_totals(&mut batch, self.keys.totals(interval), page);
            self.write(batch.ops).await?;
            self.calculations.renew(self.account, &self.path.to_string(), (self.now_ms)()).await?;
        }
        Ok(())
    }

    /// Works in what changed meanwhile, and says that the totals are complete.
    async fn finish(&self, scanned: &[(i64, f64)], intervals: Intervals, calendar: &Calendar) -> Result<()> {
        let calculations = self.calculations;
        for _ in 0..ATTEMPTS_MAX {
            let queries = vec![Query::Get { key: self.keys.record() }, Query::SetAll { key: self.keys.touched() }];
            let mut replies = calculations.ask(self.account, queries).await?.into_iter();
            let mut next = || replies.next().unwrap_or(Reply::Value(None));
            let Some(record) = next().value()? else {
                return Err(CalculationError::UnknownKey(self.path.clone()).into());
            };
            let mut state = State::read(&record).ok_or_else(|| foreign(&self.keys.record(), &record))?;
            let touched: Vec<i64> = next().members()?.iter().filter_map(Atom::as_int).collect();
            let mut batch = self.guarded().guard(Guard::Value { key: self.keys.record(), is: Some(record) });
            batch.ops = self.differences(scanned, &touched, intervals, calendar).await?;
            for interval in intervals.common(state.effective.all_intervals()).iter() {
                state.ready.insert(interval);
            }
            state.version += 1;
            batch.push(Op::Set { key: self.keys.record(), value: state.write() });
            batch.push(Op::Delete { key: self.keys.touched() });
            batch.push(Op::Delete { key: self.keys.building() });
            let mark = vec![(Atom::from(self.path.to_string()), (self.now_ms)() as f64)];
            calculations.before_all(self.account, calculations.pending(mark)).await?;
            match calculations.store.commit(self.account, batch).await {
                Ok(_) => return Ok(()),
                // Either the values changed again, or another builder took over: then the next look says so.
                Err(StoreError::GuardFailed { .. }) => self.write(Vec::new()).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::GuardFailed { index: 0 }.into())
    }

    async fn differences(
        &self,
        scanned: &[(i64, f64)],
        touched: &[i64],
        intervals: Intervals,
        calendar: &Calendar,
    ) -> Result<Vec<Op>> {
        if touched.is_empty() {
            return Ok(Vec::new());
        }
        let fields = touched.iter().map(|at| Atom::from(calendar.format(Timestamp::from_micros(*at)))).collect();
        let query = Query::HashGetMany { key: self.keys.values(), fields };
        let stored = self.calculations.ask_one(self.account, query).await?.values()?;
        let mut changes = Vec::new();
        for (at, value) in touched.iter().zip(stored) {
            let new = match &value {
                None => None,
                Some(atom) => Some(value_of(atom).ok_or_else(|| foreign(&self.keys.values(), atom))?),
            };
            let old = scanned.binary_search_by_key(at, |(at, _)| *at).ok().map(|index| scanned[index].1);
            if old != new {
                changes.push((*at, old, new));
            }
        }
        let mut ops = Vec::new();
        for interval in intervals.iter() {
            let mut numbers: HashMap<i64, Vec<usize>> = HashMap::new();
            for (index, (at, ..)) in changes.iter().enumerate() {
                numbers.entry(calendar.number(interval, Timestamp::from_micros(*at))).or_default().push(index);
            }
            let numbers: Vec<_> = numbers.into_iter().collect();
            let key = self.keys.totals(interval);
            let fields = numbers.iter().map(|(number, _)| Atom::Int(*number)).collect();
            let query = Query::HashGetMany { key: key.clone(), fields };
            let totals = self.calculations.ask_one(self.account, query).await?.values()?;
            let mut new_totals = Vec::new();
            for ((number, indices), total) in numbers.iter().zip(totals) {
                let read = |atom: &Atom| Total::read(atom).ok_or_else(|| foreign(&key, atom));
                let mut total = total.as_ref().map_or(Ok(Total::default()), read)?;
                let of = indices.iter().map(|index| changes[*index]);
                total.count += of.clone().filter(|(_, old, new)| old.is_none() && new.is_some()).count() as u64;
                total.add(of.flat_map(|(_, old, new)| [old.map(|old| -old), new]).flatten());
                new_totals.push((*number, total));
            }
            let mut batch = Batch::new();
            push_totals(&mut batch, key, &new_totals);
            ops.extend(batch.ops);
        }
        Ok(ops)
    }

    /// Writes as long as this is the attempt that counts.
    async fn write(&self, ops: Vec<Op>) -> Result<()> {
        let mut batch = self.guarded();
        batch.ops = ops;
        self.calculations.store.commit(self.account, batch).await.map(drop).map_err(Error::from)
    }

    fn guarded(&self) -> Batch {
        let (key, field) = (self.keys.building(), Atom::from("builder"));
        Batch::new().guard(Guard::Field { key, field, is: Some(Atom::from(self.builder)) })
    }
}

/// Values as the store has them: by instant.
pub(super) fn read_values(key: &Key, fields: Vec<(Atom, Atom)>) -> Result<Vec<(i64, f64)>> {
    let read = |(field, value): (Atom, Atom)| {
        let at = field.as_str().and_then(|text| text.parse::<Timestamp>().ok()).ok_or_else(|| foreign(key, &field))?;
        Ok((at.as_micros(), value_of(&value).ok_or_else(|| foreign(key, &value))?))
    };
    fields.into_iter().map(read).collect()
}

/// The totals of values that are in the order of time.
fn added_up(values: &[(i64, f64)], calendar: &Calendar, interval: Interval) -> Vec<(i64, Total)> {
    let mut clock = calendar.wall_clock();
    let mut numbered: Vec<(i64, f64)> =
        values.iter().map(|(at, value)| (clock.number(interval, Timestamp::from_micros(*at)), *value)).collect();
    if !numbered.is_sorted_by_key(|(number, _)| *number) {
        numbered.sort_by_key(|(number, _)| *number);
    }
    let runs = numbered.chunk_by(|left, right| left.0 == right.0);
    runs.map(|run| {
        let mut total = Total::of_count(run.len() as u64);
        total.add(run.iter().map(|(_, value)| *value));
        (run[0].0, total)
    })
    .collect()
}

fn push_totals(batch: &mut Batch, key: Key, totals: &[(i64, Total)]) {
    if !totals.is_empty() {
        let fields = totals.iter().map(|(number, total)| (Atom::Int(*number), total.write())).collect();
        batch.push(Op::HashSet { key, fields });
    }
}

pub(super) fn progress(done: u64, total: u64) -> Vec<(Atom, Atom)> {
    let number = |number: u64| Atom::Int(i64::try_from(number).unwrap_or(i64::MAX));
    vec![(Atom::from("done"), number(done)), (Atom::from("total"), number(total))]
}
