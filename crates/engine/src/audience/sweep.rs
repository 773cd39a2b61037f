//! The passing of time: who is no longer active is no longer counted.
//!
//! The hash of live counts is true as of one moment, which it says: everyone last seen within the threshold before that
//! moment is counted in it, under what their latest heartbeat said, and nobody else. Moving the moment on takes out those
//! who were last seen too long ago for the new one; they are found by when they were last seen, so it costs as much as
//! there are. Guards make sure that nobody moved it meanwhile and that nobody taken out came back.

use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Op, Query, ScoreRange};

use super::AudienceName;
use super::label::Labels;
use super::record::Person;
use super::registry::{Audience, Known};
use super::sightings::Sighting;
use super::sums::{Count, VIEWERS};
use crate::{Error, Result};

/// The field that says as of when a hash of live counts is true.
pub(super) const COUNTED_AT: &str = "at";
/// Viewers taken out in one batch.
const STEP: u64 = 5_000;
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
        let mut viewers = 0;
        for known in self.scopes(account, event).await? {
            self.sweep(account, event, &known, now_ms).await?;
            self.settle_peak(account, &known).await?;
            let query = Query::HashGet { key: known.keys.live(), field: Atom::from(VIEWERS) };
            viewers += self.one(account, query).await?.value()?.and_then(|viewers| viewers.as_int()).unwrap_or(0);
        }
        Ok(if viewers > 0 { Settled::ForNow } else { Settled::UntilTheNextHeartbeat })
    }

    /// Takes out of the live counts of a scope who is no longer active at a time.
    pub(super) async fn sweep(&self, account: Account, event: &AudienceName, known: &Known, now_ms: i64) -> Result<()> {
        let lock = self.lock(account, event);
        let mut failed = 0;
        while failed < ATTEMPTS_MAX {
            let _alone = lock.write().await;
            match self.sweep_some(account, known, now_ms).await {
                Ok(Swept::All) => return Ok(()),
                Ok(Swept::Some) => {}
                Err(Error::Store(StoreError::GuardFailed { .. })) => failed += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn sweep_some(&self, account: Account, known: &Known, now_ms: i64) -> Result<Swept> {
        let (keys, threshold_ms) = (&known.keys, known.threshold_ms);
        let field = Atom::from(COUNTED_AT);
        let counted_at = self.one(account, Query::HashGet { key: keys.live(), field: field.clone() }).await?.value()?;
        let Some(counted_at_ms) = counted_at.as_ref().and_then(Atom::as_int).filter(|at| *at < now_ms) else {
            return Ok(Swept::All);
        };
        let mut gone = self.expired(account, known, counted_at_ms, now_ms, STEP).await?;
        if gone.is_empty() {
            return Ok(Swept::All);
        }
        let mut until_ms = now_ms;
        if gone.len() as u64 == STEP {
            until_ms = self.cut(account, known, &mut gone).await? + threshold_ms;
        }
        let users: Vec<Atom> = gone.iter().map(|(user, _)| user.clone()).collect();
        let records =
            self.one(account, Query::HashGetMany { key: keys.statistics(), fields: users }).await?.values()?;
        let (mut labels, mut count) = (Labels::default(), Count::default());
        let mut batch = Batch::new().guard(Guard::Field { key: keys.live(), field: field.clone(), is: counted_at });
        let sightings = known.sightings();
        for (sighting, record) in gone.iter().zip(records) {
            let person = record.and_then(|record| Person::read(&record, &mut labels));
            if let Some(viewer) = person.as_ref().and_then(|person| person.get(known.number)) {
                count.add(viewer.label, -1);
            }
            batch.guards.push(sightings.guard(sighting));
        }
        let fields = count.increments(&labels);
        if !fields.is_empty() {
            batch.ops.push(Op::HashIncrement { key: keys.live(), fields });
        }
        batch.ops.push(Op::HashSet { key: keys.live(), fields: vec![(field, Atom::from(until_ms))] });
        let past = ScoreRange { from: Bound::Unbounded, to: Bound::Included(until_ms as f64) };
        batch.ops.push(Op::SortedRemoveByScore { key: keys.ahead(), range: past });
        batch.ops.push(Op::Publish { channel: keys.channel(), message: Box::default() });
        self.store.commit(account, batch).await?;
        Ok(if until_ms == now_ms { Swept::All } else { Swept::Some })
    }

    /// Who is counted as of one time but no longer active at a later one, the longest unseen first.
    pub(super) async fn expired(
        &self,
        account: Account,
        known: &Known,
        counted_at_ms: i64,
        now_ms: i64,
        limit: u64,
    ) -> Result<Vec<Sighting>> {
        let last = |at_ms: i64| (at_ms - known.threshold_ms) as f64;
        let range = ScoreRange { from: Bound::Included(last(counted_at_ms)), to: Bound::Excluded(last(now_ms)) };
        let sightings = known.sightings();
        sightings.read(self.one(account, sightings.range(range, limit)).await?)
    }

    /// Cuts a page where a new score begins, so that the rest can be told by its score. Returns that score.
    async fn cut(&self, account: Account, known: &Known, gone: &mut Vec<Sighting>) -> Result<i64> {
        let (first_ms, last_ms) = (gone.first().map_or(0, |(_, at)| *at), gone.last().map_or(0, |(_, at)| *at));
        if first_ms < last_ms {
            gone.retain(|(_, at_ms)| *at_ms < last_ms);
            return Ok(last_ms);
        }
        let (sightings, last) = (known.sightings(), last_ms as f64);
        let query = sightings.range(ScoreRange::inclusive(last, last), u64::MAX);
        *gone = sightings.read(self.one(account, query).await?)?;
        Ok(last_ms + 1)
    }
}

enum Swept {
    /// Nobody is left to be taken out.
    All,
    Some,
}
