//! Viewers by group and country: now, and every five minutes.

use std::collections::BTreeMap;
use std::ops::Bound;

use tickmark_store::{Account, Atom, Order, Query, ScoreRange};

use super::label::{self, Labels};
use super::record::Person;
use super::registry::{Audience, Known, next};
use super::sightings::Sightings;
use super::sums::VIEWERS;
use super::sweep::COUNTED_AT;
use super::times::Times;
use super::writing::whole_ms;
use super::{AudienceError, Scope};
use crate::Result;

/// Between records.
pub const RECORD_MS: i64 = 300_000;
/// Viewers who left since the counts were moved on that a reader leaves out one by one; where there are more it moves the counts on
/// first.
const LEFT_MAX: u64 = 2_000;
/// Viewers whose clocks are ahead that are looked at one by one.
const AHEAD_MAX: u64 = 100_000;
/// Records read together.
const PAGE: usize = 5_000;

/// Viewers at one time, each once, by their latest heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub at_ms: i64,
    pub viewers: u64,
    pub by_group: BTreeMap<String, u64>,
    pub by_country: BTreeMap<String, u64>,
}

/// Counts by field.
type Fields = BTreeMap<String, i64>;

/// Who is in the live counts but must not be at this moment.
#[derive(Default)]
struct Correction {
    users: Vec<Atom>,
    /// Those who are known only by what they said, and how many they are.
    labels: Vec<(String, i64)>,
}

impl Correction {
    fn viewers(&self) -> i64 {
        let of_labels: i64 = self.labels.iter().map(|(_, viewers)| viewers).sum();
        of_labels.saturating_add_unsigned(self.users.len() as u64)
    }
}

impl Audience {
    /// How many are active at a time.
    pub async fn active(&self, account: Account, scope: &Scope, now_ms: i64) -> Result<u64> {
        let fields = [COUNTED_AT, VIEWERS].map(Atom::from);
        let live = self.scope_keys(scope, super::keys::Stem::Seed).live();
        let query = Query::HashGetMany { key: live, fields: fields.to_vec() };
        loop {
            let (known, replies) = self.known_with(account, scope, vec![query.clone()]).await?;
            self.touch(account, &scope.event, now_ms);
            let values = next(&mut replies.into_iter())?.values()?;
            let number = |index: usize| values.get(index)?.as_ref()?.as_int();
            let (Some(counted_at_ms), Some(viewers @ 1..)) = (number(0), number(1)) else { return Ok(0) };
            let Some(correction) = self.correction(account, scope, &known, counted_at_ms, now_ms).await? else {
                continue;
            };
            return Ok(u64::try_from(viewers - correction.viewers()).unwrap_or(0));
        }
    }

    /// Who is active at a time, by group and country.
    pub async fn live(&self, account: Account, scope: &Scope, now_ms: i64) -> Result<Statistics> {
        let live = self.scope_keys(scope, super::keys::Stem::Seed).live();
        loop {
            let (known, replies) = self.known_with(account, scope, vec![Query::HashAll { key: live.clone() }]).await?;
            self.touch(account, &scope.event, now_ms);
            let mut fields = numbers(next(&mut replies.into_iter())?.fields()?);
            let (Some(counted_at_ms), Some(1..)) = (fields.remove(COUNTED_AT), fields.get(VIEWERS)) else {
                return Ok(Statistics { at_ms: now_ms, ..Statistics::default() });
            };
            let Some(correction) = self.correction(account, scope, &known, counted_at_ms, now_ms).await? else {
                continue;
            };
            self.correct(account, &known, correction, &mut fields).await?;
            return Ok(statistics(now_ms, &fields));
        }
    }

    /// The records between two times, both included, as far as they are in the past: one for every five minutes. Where an end
    /// is not given, it is the first or last record there is.
    pub async fn records(
        &self,
        account: Account,
        scope: &Scope,
        from_ms: Option<i64>,
        to_ms: Option<i64>,
        now_ms: i64,
        max: u64,
    ) -> Result<Vec<Statistics>> {
        let known = self.known(account, scope).await?;
        let end = |order| Query::SortedRange {
            key: known.keys.records(),
            range: ScoreRange::ALL,
            order,
            offset: 0,
            limit: 1,
        };
        let ends = vec![end(Order::Ascending), end(Order::Descending)];
        let mut replies = self.store.read(account, ends).await?.into_iter();
        let mut found = || Ok::<_, crate::Error>(next(&mut replies)?.scored()?.first().map(|(_, at)| whole_ms(*at)));
        let (first_ms, last_ms) = (found()?, found()?);
        let (Some(from_ms), Some(to_ms)) = (from_ms.or(first_ms), to_ms.or(last_ms)) else { return Ok(Vec::new()) };
        if from_ms > to_ms {
            return Err(AudienceError::FromAfterTo { from: from_ms / 1_000, to: to_ms / 1_000 }.into());
        }
        let first = from_ms.div_euclid(RECORD_MS) + i64::from(from_ms.rem_euclid(RECORD_MS) != 0);
        let last = to_ms.min(now_ms).div_euclid(RECORD_MS);
        let count = u64::try_from(last - first + 1).unwrap_or(0);
        if count > max {
            return Err(AudienceError::TooManyRecords { found: count, max }.into());
        }
        let times: Vec<i64> = (first..=last).map(|number| number * RECORD_MS).collect();
        let mut records = Vec::with_capacity(times.len());
        for page in times.chunks(PAGE) {
            let queries = page.iter().map(|at_ms| Query::HashAll { key: known.keys.record(*at_ms) }).collect();
            for (at_ms, reply) in page.iter().zip(self.store.read(account, queries).await?) {
                records.push(statistics(*at_ms, &numbers(reply.fields()?)));
            }
        }
        Ok(records)
    }

    /// Who has left since the counts were moved on, and who is counted but ahead of their time. None where there were so many
    /// of the former that the counts were moved on instead, and are to be read again.
    async fn correction(
        &self,
        account: Account,
        scope: &Scope,
        known: &Known,
        counted_at_ms: i64,
        now_ms: i64,
    ) -> Result<Option<Correction>> {
        let now_ms = now_ms.max(counted_at_ms);
        let expired = known.expired(counted_at_ms, now_ms);
        let mut correction = Correction::default();
        if known.is_shared {
            let left = Sightings::read(self.one(account, known.sightings().range(&expired, LEFT_MAX)).await?)?;
            if left.len() as u64 == LEFT_MAX {
                self.sweep(account, &scope.event, known, now_ms).await?;
                return Ok(None);
            }
            correction.users.extend(left.into_iter().map(|(user, _)| user));
        } else if !expired.is_empty() {
            let left = |times: &Times| {
                let left = times.by_label(known.number, &expired);
                left.into_iter().map(|(label, viewers)| (label.to_owned(), viewers)).collect()
            };
            correction.labels = self.with_times(account, &scope.event, left).await?;
        }
        correction.users.extend(self.ahead(account, known, now_ms).await?);
        Ok(Some(correction))
    }

    /// Who is counted, but will only begin to watch later, by their own clock.
    async fn ahead(&self, account: Account, known: &Known, now_ms: i64) -> Result<Vec<Atom>> {
        let range = ScoreRange { from: Bound::Excluded(now_ms as f64), to: Bound::Unbounded };
        let (order, limit) = (Order::Ascending, AHEAD_MAX);
        let query = Query::SortedRange { key: known.keys.ahead(), range, order, offset: 0, limit };
        let ahead: Vec<Atom> = self.one(account, query).await?.scored()?.into_iter().map(|(user, _)| user).collect();
        if ahead.is_empty() {
            return Ok(ahead);
        }
        // A viewing session before the one to come may still make them active.
        let query = Query::HashGetMany { key: known.keys.statistics(), fields: ahead.clone() };
        let records = self.one(account, query).await?.values()?;
        let inactive = ahead.into_iter().zip(records).filter_map(|(user, record)| {
            let person = Person::read(&record?, &mut Labels::default())?;
            (!person.get(known.number)?.is_active(now_ms, known.threshold_ms)).then_some(user)
        });
        Ok(inactive.collect())
    }

    async fn correct(
        &self,
        account: Account,
        known: &Known,
        correction: Correction,
        fields: &mut Fields,
    ) -> Result<()> {
        let mut take_out = |label: &str, viewers: i64| {
            for field in label::fields(label).chain([VIEWERS.to_owned()]) {
                *fields.entry(field).or_default() -= viewers;
            }
        };
        for (label, viewers) in correction.labels {
            take_out(&label, viewers);
        }
        if correction.users.is_empty() {
            return Ok(());
        }
        let query = Query::HashGetMany { key: known.keys.statistics(), fields: correction.users };
        let mut labels = Labels::default();
        for record in self.one(account, query).await?.values()?.into_iter().flatten() {
            let person = Person::read(&record, &mut labels);
            if let Some(viewer) = person.as_ref().and_then(|person| person.get(known.number)) {
                take_out(labels.text(viewer.label), 1);
            }
        }
        Ok(())
    }
}

pub(super) fn numbers(fields: Vec<(Atom, Atom)>) -> Fields {
    let numbers = fields.into_iter();
    numbers.filter_map(|(field, value)| Some((field.as_str()?.into_owned(), value.as_int()?))).collect()
}

fn statistics(at_ms: i64, fields: &Fields) -> Statistics {
    let mut statistics = Statistics { at_ms, ..Statistics::default() };
    for (field, viewers) in fields {
        let Some(viewers) = u64::try_from(*viewers).ok().filter(|viewers| *viewers > 0) else { continue };
        if field == VIEWERS {
            statistics.viewers = viewers;
        } else if let Some(country) = field.strip_prefix("c:") {
            statistics.by_country.insert(country.to_owned(), viewers);
        } else if let Some(group) = field.strip_prefix("g:") {
            statistics.by_group.insert(group.to_owned(), viewers);
        }
    }
    statistics
}
