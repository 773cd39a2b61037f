//! Forgetting individuals after a while: who was last seen long ago, and viewing sessions that ended long ago.
//!
//! What is counted stays: attendance, the peak, the records, how many viewing sessions there were and how long they were.
//! Durations go on without their viewers, so that the median stays what it is. Everything is settled first: what has gone can no
//! longer be looked at.

use std::collections::BTreeMap;
use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Key, Number, Op, Order, Query, ScoreRange};

use super::label::Labels;
use super::peak::FORGOTTEN;
use super::record::Person;
use super::registry::{Audience, Known, next};
use super::statistics::RECORD_MS;
use super::writing::stretch_member;
use super::{AudienceName, Stretch};
use crate::Result;

/// Viewers, or viewing sessions, in one batch.
const STEP: u64 = 1_000;

impl Audience {
    /// Forgets some of what is older than a time. Returns how many viewers and viewing sessions; none when nothing is left.
    pub async fn purge(&self, account: Account, event: &AudienceName, before_ms: i64, now_ms: i64) -> Result<u64> {
        let before_ms = before_ms.min(now_ms);
        self.settle(account, event, now_ms).await?;
        let mut purged = 0;
        for known in self.scopes(account, event).await? {
            // Nobody who is counted as active may go.
            let before_ms = before_ms.min(now_ms - known.threshold_ms);
            for step in [
                self.purge_viewers(account, &known, before_ms).await,
                self.purge_stretches(account, &known, before_ms).await,
                self.purge_joins(account, &known).await,
            ] {
                match step {
                    Ok(count) => purged += count,
                    // Somebody came back; the next time will do.
                    Err(crate::Error::Store(StoreError::GuardFailed { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(purged)
    }

    async fn purge_viewers(&self, account: Account, known: &Known, before_ms: i64) -> Result<u64> {
        let keys = &known.keys;
        let (sightings, range) = (known.sightings(), before(before_ms));
        let gone = sightings.read(self.one(account, sightings.range(range, STEP)).await?)?;
        if gone.is_empty() {
            return Ok(0);
        }
        let users: Vec<Atom> = gone.iter().map(|(user, _)| user.clone()).collect();
        let queries = vec![
            Query::HashGetMany { key: keys.statistics(), fields: users.clone() },
            Query::SetAll { key: keys.locations() },
        ];
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let records = next(&mut replies)?.values()?;
        let locations = next(&mut replies)?.members()?;
        let mut forgetting = Forgetting::default();
        let mut labels = Labels::default();
        let mut kept = Vec::new();
        for (sighting, record) in gone.iter().zip(records) {
            let user = &sighting.0;
            forgetting.guards.push(sightings.guard(sighting));
            let person = record.as_ref().and_then(|record| Person::read(record, &mut labels));
            forgetting.were.push((user.clone(), record));
            let Some(mut person) = person else { continue };
            if let Some(viewer) = person.forget(known.number) {
                viewer.before.iter().for_each(|stretch| forgetting.stretch(user, *stretch));
                forgetting.duration(viewer.latest);
            }
            kept.push((user.clone(), person.write(&labels)));
        }
        let mut batch = self.forget(account, known, forgetting, before_ms).await?;
        batch.ops.push(sightings.removal(&gone));
        if !kept.is_empty() {
            batch.ops.push(Op::HashSet { key: keys.statistics(), fields: kept });
        }
        for location in locations.iter().filter_map(Atom::as_str) {
            for key in [keys.viewing_start(&location), keys.viewing_end(&location)] {
                batch.ops.push(Op::SortedRemove { key, members: users.clone() });
            }
        }
        self.store.commit(account, batch).await?;
        Ok(users.len() as u64)
    }

    /// Viewing sessions before the latest, of viewers who stay.
    async fn purge_stretches(&self, account: Account, known: &Known, before_ms: i64) -> Result<u64> {
        let keys = &known.keys;
        let ended = self.oldest(account, keys.ended(), before_ms).await?;
        if ended.is_empty() {
            return Ok(0);
        }
        let mut users: BTreeMap<Vec<u8>, Atom> = BTreeMap::new();
        for member in &ended {
            let bytes = member.as_bytes();
            let user = bytes.iter().rposition(|byte| *byte == b'#').map_or(&bytes[..], |at| &bytes[..at]);
            users.insert(user.to_vec(), Atom::from_bytes(user));
        }
        let users: Vec<Atom> = users.into_values().collect();
        let query = Query::HashGetMany { key: keys.statistics(), fields: users.clone() };
        let records = self.one(account, query).await?.values()?;
        let (mut forgetting, mut labels, mut kept) = (Forgetting::default(), Labels::default(), Vec::new());
        for (user, record) in users.iter().zip(records) {
            let person = record.as_ref().and_then(|record| Person::read(record, &mut labels));
            let Some(mut person) = person else { continue };
            let Some(mut viewer) = person.get(known.number).cloned() else { continue };
            let old = viewer.before.partition_point(|stretch| stretch.end_ms < before_ms);
            for stretch in viewer.before.drain(..old) {
                forgetting.stretch(user, stretch);
            }
            person.put(known.number, viewer);
            forgetting.were.push((user.clone(), record));
            kept.push((user.clone(), person.write(&labels)));
        }
        let mut batch = self.forget(account, known, forgetting, before_ms).await?;
        if !kept.is_empty() {
            batch.ops.push(Op::HashSet { key: keys.statistics(), fields: kept });
        }
        // Those whose viewer is not known any more.
        let count = ended.len() as u64;
        batch.ops.push(Op::SortedRemove { key: keys.ended(), members: ended });
        self.store.commit(account, batch).await?;
        Ok(count)
    }

    /// The batch that forgets, and says since when.
    async fn forget(&self, account: Account, known: &Known, what: Forgetting, before_ms: i64) -> Result<Batch> {
        let keys = &known.keys;
        let before_ms = self.forgotten_before_ms(account, known).await?.map_or(before_ms, |old| old.max(before_ms));
        let forgotten = vec![(Atom::from(FORGOTTEN), Atom::from(before_ms))];
        let mut guards = what.guards;
        guards.push(Guard::Fields { key: keys.statistics(), are: what.were });
        let mut batch = Batch { guards, ops: vec![Op::HashSet { key: keys.totals(), fields: forgotten }] };
        if !what.ended.is_empty() {
            batch.ops.push(Op::SortedRemove { key: keys.ended(), members: what.ended });
        }
        if !what.durations.is_empty() {
            let fields = what.durations.into_iter().map(|(ms, count)| (Atom::from(ms), Number::Int(count))).collect();
            batch.ops.push(Op::HashIncrement { key: keys.purged(), fields });
        }
        Ok(batch)
    }

    /// What nobody will look at any more, because some of those who were active then are forgotten.
    async fn purge_joins(&self, account: Account, known: &Known) -> Result<u64> {
        let keys = &known.keys;
        let Some(forgotten_before_ms) = self.forgotten_before_ms(account, known).await? else { return Ok(0) };
        let last = (forgotten_before_ms + known.threshold_ms).div_euclid(RECORD_MS);
        let stretches = self.oldest(account, keys.stretches(), last + 1).await?;
        if stretches.is_empty() {
            return Ok(0);
        }
        let deleted = stretches.iter().filter_map(Atom::as_int).map(|stretch| Op::Delete { key: keys.joins(stretch) });
        let mut batch = Batch { guards: Vec::new(), ops: deleted.collect() };
        batch.ops.push(Op::SortedRemove { key: keys.stretches(), members: stretches });
        self.store.commit(account, batch).await?;
        Ok(0)
    }

    async fn forgotten_before_ms(&self, account: Account, known: &Known) -> Result<Option<i64>> {
        let query = Query::HashGet { key: known.keys.totals(), field: Atom::from(FORGOTTEN) };
        Ok(self.one(account, query).await?.value()?.and_then(|before| before.as_int()))
    }

    /// Members of a sorted set with a score below another.
    async fn oldest(&self, account: Account, key: Key, score: i64) -> Result<Vec<Atom>> {
        let (range, order) = (before(score), Order::Ascending);
        let query = Query::SortedRange { key, range, order, offset: 0, limit: STEP };
        Ok(self.one(account, query).await?.scored()?.into_iter().map(|(member, _)| member).collect())
    }
}

fn before(score: i64) -> ScoreRange {
    ScoreRange { from: Bound::Unbounded, to: Bound::Excluded(score as f64) }
}

/// What goes.
#[derive(Default)]
struct Forgetting {
    guards: Vec<Guard>,
    /// The records that it rests on.
    were: Vec<(Atom, Option<Atom>)>,
    ended: Vec<Atom>,
    durations: BTreeMap<i64, i64>,
}

impl Forgetting {
    /// A viewing session before the latest.
    fn stretch(&mut self, user: &Atom, stretch: Stretch) {
        self.ended.push(stretch_member(user, stretch.start_ms));
        self.duration(stretch);
    }

    fn duration(&mut self, stretch: Stretch) {
        *self.durations.entry(stretch.end_ms - stretch.start_ms).or_default() += 1;
    }
}
