//! Who was last seen when: asked of the seed's sorted sets where others write them too, and of this process's memory where
//! nobody else can write.
//!
//! What is in memory is read from the viewers' records, and from then on every writer says what they wrote before they give
//! up their turn. Someone who went away in between says nothing; the store's number of batches then tells.

use std::ops::Range;

use tickmark_store::{Account, Atom, Guard, Number, Op, Query, Reply};

use super::keys::{ScopeKeys, Stem};
use super::record::Person;
use super::registry::{Audience, Known};
use super::times::Times;
use super::turn::Held;
use super::{AudienceName, Scope};
use crate::Result;

/// The field of an event's totals that counts the batches in which it was written when its viewers were last seen.
const BATCHES: &str = "batches";
/// Records read together.
const PAGE: u32 = 10_000;

impl Audience {
    /// How many were last seen in each of some ranges of time.
    pub(super) async fn seen_in(
        &self,
        account: Account,
        event: &AudienceName,
        known: &Known,
        ranges: &[Range<i64>],
    ) -> Result<Vec<u64>> {
        if known.is_shared {
            let sightings = known.sightings();
            let replies = self.store.read(account, ranges.iter().map(|range| sightings.count(range)).collect()).await?;
            return Ok(replies.into_iter().map(Reply::count).collect::<Result<_, _>>()?);
        }
        let count = |times: &Times| ranges.iter().map(|range| times.count(known.number, range)).collect();
        self.with_times(account, event, count).await
    }

    /// Asks the times of an event. Not for who is alone in it already.
    pub(super) async fn with_times<T>(
        &self,
        account: Account,
        event: &AudienceName,
        ask: impl FnOnce(&Times) -> T,
    ) -> Result<T> {
        let held = self.held(account, event);
        let batches = self.batches(account, event).await?;
        if let Some(times) = held.times().as_ref().filter(|times| times.is_fresh(batches)) {
            return Ok(ask(times));
        }
        // Somebody has written and is about to say so, or went away and never will.
        let _alone = held.lock.write().await;
        self.refresh(account, event, &held).await?;
        // None where the event was deleted meanwhile.
        Ok(ask(held.times().as_ref().unwrap_or(&Times::default())))
    }

    /// Makes sure that the times have every batch there is. To be called alone.
    pub(super) async fn refresh(&self, account: Account, event: &AudienceName, held: &Held) -> Result<()> {
        loop {
            let batches = self.batches(account, event).await?;
            if held.times().as_ref().is_some_and(|times| times.is_fresh(batches)) {
                return Ok(());
            }
            // In use from now on, so that it is let go of once nobody watches any more.
            self.touch(account, event, i64::MIN);
            let times = self.read_times(account, event, batches).await?;
            *held.times() = Some(times);
        }
    }

    async fn read_times(&self, account: Account, event: &AudienceName, batches: i64) -> Result<Times> {
        let (key, mut times, mut cursor) = (self.event_keys(event).statistics(), Times::new(batches), None);
        loop {
            let (records, next) = self.page(account, key.clone(), cursor, PAGE).await?;
            for (_, record) in &records {
                if let Some(person) = Person::read(record, times.labels()) {
                    times.add(&person);
                }
            }
            cursor = next;
            if cursor.is_none() {
                times.sort();
                return Ok(times);
            }
        }
    }

    pub(super) async fn batches(&self, account: Account, event: &AudienceName) -> Result<i64> {
        let query = Query::HashGet { key: self.event_keys(event).totals(), field: Atom::from(BATCHES) };
        Ok(self.one(account, query).await?.value()?.and_then(|batches| batches.as_int()).unwrap_or(0))
    }

    /// That there were no more batches.
    pub(super) fn batches_guard(&self, event: &AudienceName, batches: i64) -> Guard {
        let is = (batches != 0).then(|| Atom::from(batches));
        Guard::Field { key: self.event_keys(event).totals(), field: Atom::from(BATCHES), is }
    }

    /// Counts a batch that writes when viewers were last seen.
    pub(super) fn one_more_batch(&self, event: &AudienceName) -> Op {
        let fields = vec![(Atom::from(BATCHES), Number::Int(1))];
        Op::HashIncrement { key: self.event_keys(event).totals(), fields }
    }

    fn event_keys(&self, event: &AudienceName) -> ScopeKeys {
        self.scope_keys(&Scope { event: event.clone(), session: None }, Stem::Seed)
    }
}
