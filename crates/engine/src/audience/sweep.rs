//! The passing of time: who is no longer active is no longer counted.
//!
//! The hash of live counts is true as of one moment, which it says: everyone last seen within the threshold before that
//! moment is counted in it, under what their latest heartbeat said, and nobody else. Moving the moment on takes out those
//! who were last seen too long ago for the new one; they are found by when they were last seen, so it costs as much as
//! there are. Guards make sure that nobody moved it meanwhile and that nobody taken out came back.

use std::ops::{Bound, Range};

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Op, Query, ScoreRange};

use super::AudienceName;
use super::label::Labels;
use super::record::Person;
use super::registry::{Audience, Known};
use super::sightings::{Sighting, Sightings};
use super::sums::{Count, VIEWERS};
use super::turn::Held;
use crate::{Error, Result};

/// The field that says as of when a hash of live counts is true.
pub(super) const COUNTED_AT: &str = "at";
/// Viewers taken out in one batch.
const STEP: u64 = 5_000;
/// Scopes that are settled before writers have a turn.
const SCOPES_AT_ONCE: usize = 50;
/// Batches that may fail because others were faster, before this leaves it to them.
const ATTEMPTS_MAX: usize = 20;

/// How long there is nothing more to move on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Someone is active, and will not be for ever.
    ForNow,
    UntilTheNextHeartbeat,
}

impl Audience {
    /// Moves all that is counted of an event on to a time, and finds its peaks.
    pub async fn settle(&self, account: Account, event: &AudienceName, now_ms: i64) -> Result<Settled> {
        let (scopes, held) = (self.scopes(account, event).await?, self.held(account, event));
        let mut viewers = 0;
        for some in scopes.chunks(SCOPES_AT_ONCE) {
            // Once for many: writers wait each time.
            let alone = if self.store.is_shared() { None } else { Some(held.lock.write().await) };
            let alone = alone.as_ref().map(|_| &held);
            for known in some {
                match alone {
                    Some(held) => self.sweep_alone(account, event, held, known, now_ms).await?,
                    None => self.sweep(account, event, known, now_ms).await?,
                }
                self.settle_peak(account, event, known, alone).await?;
                let query = Query::HashGet { key: known.keys.live(), field: Atom::from(VIEWERS) };
                viewers += self.one(account, query).await?.value()?.and_then(|viewers| viewers.as_int()).unwrap_or(0);
            }
        }
        Ok(if viewers > 0 { Settled::ForNow } else { Settled::UntilTheNextHeartbeat })
    }

    /// Takes out of the live counts of a scope who is no longer active at a time.
    pub(super) async fn sweep(&self, account: Account, event: &AudienceName, known: &Known, now_ms: i64) -> Result<()> {
        let held = self.held(account, event);
        let _alone = held.lock.write().await;
        self.sweep_alone(account, event, &held, known, now_ms).await
    }

    async fn sweep_alone(
        &self,
        account: Account,
        event: &AudienceName,
        held: &Held,
        known: &Known,
        now_ms: i64,
    ) -> Result<()> {
        let mut failed = 0;
        while failed < ATTEMPTS_MAX {
            match self.sweep_some(account, event, held, known, now_ms).await {
                Ok(Swept::All) => return Ok(()),
                Ok(Swept::Some) => {}
                Err(Error::Store(StoreError::GuardFailed { .. })) => failed += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn sweep_some(
        &self,
        account: Account,
        event: &AudienceName,
        held: &Held,
        known: &Known,
        now_ms: i64,
    ) -> Result<Swept> {
        let keys = &known.keys;
        let fields = [COUNTED_AT, VIEWERS].map(Atom::from);
        let query = Query::HashGetMany { key: keys.live(), fields: fields.to_vec() };
        let values = self.one(account, query).await?.values()?;
        let number = |index: usize| values.get(index)?.as_ref()?.as_int();
        let (Some(counted_at_ms), Some(1..)) = (number(0).filter(|at_ms| *at_ms < now_ms), number(1)) else {
            return Ok(Swept::All);
        };
        let gone = if known.is_shared {
            self.gone_from_store(account, known, counted_at_ms, now_ms).await?
        } else {
            self.gone_from_memory(account, event, held, known, counted_at_ms, now_ms).await?
        };
        if gone.is_nobody {
            return Ok(Swept::All);
        }
        let [field, _] = fields;
        let mut batch = Batch { guards: gone.guards, ops: Vec::new() };
        batch.guards.push(Guard::Field {
            key: keys.live(),
            field: field.clone(),
            is: values.into_iter().next().flatten(),
        });
        let fields = gone.count.increments(&gone.labels);
        if !fields.is_empty() {
            batch.ops.push(Op::HashIncrement { key: keys.live(), fields });
        }
        batch.ops.push(Op::HashSet { key: keys.live(), fields: vec![(field, Atom::from(gone.until_ms))] });
        let past = ScoreRange { from: Bound::Unbounded, to: Bound::Included(gone.until_ms as f64) };
        batch.ops.push(Op::SortedRemoveByScore { key: keys.ahead(), range: past });
        batch.ops.push(Op::Publish { channel: keys.channel(), message: Box::default() });
        self.store.commit(account, batch).await?;
        Ok(if gone.until_ms == now_ms { Swept::All } else { Swept::Some })
    }

    async fn gone_from_memory(
        &self,
        account: Account,
        event: &AudienceName,
        held: &Held,
        known: &Known,
        counted_at_ms: i64,
        now_ms: i64,
    ) -> Result<Gone> {
        self.refresh(account, event, held).await?;
        let range = known.expired(counted_at_ms, now_ms);
        let mut gone = Gone::until(now_ms);
        let times = held.times();
        // None where the event was deleted meanwhile.
        let Some((times, batches)) = times.as_ref().and_then(|times| Some((times, times.batches()?))) else {
            return Ok(gone);
        };
        for (label, viewers) in times.by_label(known.number, &range) {
            gone.is_nobody = false;
            gone.count.add(gone.labels.number(label), -viewers);
        }
        gone.guards.push(self.batches_guard(event, batches));
        Ok(gone)
    }

    /// Some of them, the longest unseen first.
    async fn gone_from_store(&self, account: Account, known: &Known, counted_at_ms: i64, now_ms: i64) -> Result<Gone> {
        let sightings = known.sightings();
        let expired = sightings.range(&known.expired(counted_at_ms, now_ms), STEP);
        let mut seen = Sightings::read(self.one(account, expired).await?)?;
        let mut gone = Gone::until(now_ms);
        if seen.len() as u64 == STEP {
            gone.until_ms = self.cut(account, known, &mut seen).await? + known.threshold_ms;
        }
        let users: Vec<Atom> = seen.iter().map(|(user, _)| user.clone()).collect();
        let query = Query::HashGetMany { key: known.keys.statistics(), fields: users };
        for (sighting, record) in seen.iter().zip(self.one(account, query).await?.values()?) {
            let person = record.and_then(|record| Person::read(&record, &mut gone.labels));
            if let Some(viewer) = person.as_ref().and_then(|person| person.get(known.number)) {
                gone.count.add(viewer.label, -1);
            }
            gone.is_nobody = false;
            gone.guards.push(sightings.guard(sighting));
        }
        Ok(gone)
    }

    /// Cuts a page where a new score begins, so that the rest can be told by its score. Returns that score.
    async fn cut(&self, account: Account, known: &Known, seen: &mut Vec<Sighting>) -> Result<i64> {
        let (first_ms, last_ms) = (seen.first().map_or(0, |(_, at)| *at), seen.last().map_or(0, |(_, at)| *at));
        if first_ms < last_ms {
            seen.retain(|(_, at_ms)| *at_ms < last_ms);
            return Ok(last_ms);
        }
        let query = known.sightings().range(&(last_ms..last_ms + 1), u64::MAX);
        *seen = Sightings::read(self.one(account, query).await?)?;
        Ok(last_ms + 1)
    }
}

impl Known {
    /// When those were last seen who are counted as of one time but no longer active at a later one.
    pub(super) fn expired(&self, counted_at_ms: i64, now_ms: i64) -> Range<i64> {
        counted_at_ms - self.threshold_ms..now_ms - self.threshold_ms
    }
}

/// Who is taken out.
struct Gone {
    is_nobody: bool,
    count: Count,
    labels: Labels,
    /// That they are gone.
    guards: Vec<Guard>,
    /// As of when nobody else is.
    until_ms: i64,
}

impl Gone {
    fn until(until_ms: i64) -> Self {
        Self { is_nobody: true, count: Count::default(), labels: Labels::default(), guards: Vec::new(), until_ms }
    }
}

enum Swept {
    /// Nobody is left to be taken out.
    All,
    Some,
}
