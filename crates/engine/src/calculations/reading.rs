//! Asking for a result: from the totals, so that it reflects every value that was acknowledged.

use tickmark_stats::Interval;
use tickmark_store::{Account, Atom, Key, Query, Reply};

use super::building::Settled;
use super::catalog::{Calculations, Standing, foreign, found};
use super::keys::Keys;
use super::outcome::{Outcome, figures};
use super::state::State;
use super::total::Total;
use super::{Calculation, CalculationError, KeyPath};
use crate::Result;

/// Times to look again when a declaration changes in between.
const LOOKS_MAX: usize = 5;

impl Calculations {
    /// The result of a calculation, of all values there are now.
    pub async fn outcome(
        &self,
        account: Account,
        path: &KeyPath,
        (calculation, interval): (Calculation, Interval),
        labels_max: u64,
        now_ms: u64,
    ) -> Result<Outcome> {
        let keys = self.keys(path);
        for _ in 0..LOOKS_MAX {
            let standing = self.standing(account, path).await?;
            let state = standing.there(path)?;
            let is_in_line = standing.is_in_line(state);
            let effective = if is_in_line { state.effective } else { state.own.with(&standing.inherited()) };
            if !effective.contains(calculation, interval) {
                return Err(not_declared(path, calculation, interval).into());
            }
            if !is_in_line || !state.ready.contains(interval) {
                if self.settle(account, path, now_ms).await? == Settled::Building {
                    let progress = self.key_progress(account, path).await?.unwrap_or_default();
                    return Err(CalculationError::StillBuilding { done: progress.done, total: progress.total }.into());
                }
                continue;
            }
            let (Some(project), Some(totals)) =
                (&standing.project.says, self.totals(account, &keys, calculation, interval, labels_max).await?)
            else {
                continue;
            };
            let figures = figures(calculation, &totals, &project.calendar, interval, project.gaps);
            return Ok(Outcome { calendar: project.calendar.clone(), interval, figures });
        }
        Err(CalculationError::StillBuilding { done: 0, total: 0 }.into())
    }

    /// The totals of an interval, in order; none where the interval is not ready any more.
    async fn totals(
        &self,
        account: Account,
        keys: &Keys,
        calculation: Calculation,
        interval: Interval,
        labels_max: u64,
    ) -> Result<Option<Vec<(i64, Total)>>> {
        let key = keys.totals(interval);
        if calculation.is_per_interval() {
            let labels = self.ask_one(account, Query::HashLen { key: key.clone() }).await?.count()?;
            if labels > labels_max {
                return Err(CalculationError::TooManyLabels { labels, max: labels_max }.into());
            }
        }
        let queries = vec![Query::Get { key: keys.record() }, Query::HashAll { key: key.clone() }];
        let mut replies = self.ask(account, queries).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Reply::Value(None));
        let state = found(&keys.record(), next(), State::read)?.says;
        let totals = in_order(&key, next().fields()?)?;
        Ok(state.filter(|state| state.ready.contains(interval)).map(|_| totals))
    }
}

impl Standing {
    /// The state of a key, or which part of its path is not there.
    pub(super) fn there(&self, path: &KeyPath) -> Result<&State, CalculationError> {
        if self.project.says.is_none() {
            return Err(CalculationError::UnknownProject(path.project.to_string()));
        }
        if self.dimension.says.is_none() {
            return Err(CalculationError::UnknownDimension(path.dimension()));
        }
        self.key.says.as_ref().ok_or_else(|| CalculationError::UnknownKey(path.clone()))
    }
}

/// Totals as the store has them, in the order of time.
pub(super) fn in_order(key: &Key, fields: Vec<(Atom, Atom)>) -> Result<Vec<(i64, Total)>> {
    let read = |(field, value): (Atom, Atom)| {
        let number = field.as_int().ok_or_else(|| foreign(key, &field))?;
        Ok((number, Total::read(&value).ok_or_else(|| foreign(key, &value))?))
    };
    let mut totals = fields.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    totals.sort_unstable_by_key(|(number, _)| *number);
    Ok(totals)
}

/// A value as it is kept: any finite number, however it is spelled.
pub(super) fn value_of(atom: &Atom) -> Option<f64> {
    match atom {
        Atom::Int(int) => Some(*int as f64),
        Atom::Bytes(_) => atom.as_str()?.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

fn not_declared(path: &KeyPath, calculation: Calculation, interval: Interval) -> CalculationError {
    CalculationError::NotDeclared {
        path: path.to_string(),
        calculation: calculation.to_string(),
        interval: interval.to_string(),
    }
}
