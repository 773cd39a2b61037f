//! Forgetting individuals after a while: who was last seen long ago, and viewing sessions that ended long ago.
//!
//! What is counted stays: attendance, the peak, the records, how many viewing sessions there were and how long they were.
//! Durations go on without their viewers, so that the median stays what it is. Everything is settled first: what has gone can no
//! longer be looked at.

use std::collections::BTreeMap;
use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Number, Op, Order, Query, ScoreRange};

use super::label::Labels;
use super::peak::FORGOTTEN;
use super::record::Person;
use super::registry::{Audience, Known, next};
use super::statistics::RECORD_MS;
use super::sweep::Sighting;
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
        let gone = self.oldest(account, keys.heartbeat(), before_ms).await?;
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
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        for ((user, last_ms), record) in gone.iter().zip(records) {
            forgetting.guards.push(Guard::Score { key: keys.heartbeat(), member: user.clone(), is: Some(*last_ms) });
            let person = record.as_ref().and_then(|record| Person::read(record, &mut labels));
            forgetting.guards.push(Guard::Field { key: keys.statistics(), field: user.clone(), is: record });
            let Some(mut person) = person else { continue };
            if let Some(viewer) = person.take(known.number) {
                viewer.before.iter().for_each(|stretch| forgetting.stretch(user, *stretch));
                forgetting.duration(viewer.latest);
            }
            if person.is_empty() {
                removed.push(user.clone());
            } else {
                kept.push((user.clone(), person.write(&labels)));
            }
        }
        let mut batch = self.forget(account, known, forgetting, before_ms).await?;
        batch.ops.push(Op::SortedRemove { key: keys.heartbeat(), members: users.clone() });
        if !removed.is_empty() {
            batch.ops.push(Op::HashRemove { key: keys.statistics(), fields: removed });
        }
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
        for (member, _) in &ended {
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
            forgetting.guards.push(Guard::Field { key: keys.statistics(), field: user.clone(), is: record });
            kept.push((user.clone(), person.write(&labels)));
        }
        let mut batch = self.forget(account, known, forgetting, before_ms).await?;
        if !kept.is_empty() {
            batch.ops.push(Op::HashSet { key: keys.statistics(), fields: kept });
        }
        // Those whose viewer is not known any more.
        let members: Vec<Atom> = ended.into_iter().map(|(member, _)| member).collect();
        let count = members.len() as u64;
        batch.ops.push(Op::SortedRemove { key: keys.ended(), members });
        self.store.commit(account, batch).await?;
        Ok(count)
    }

    /// The batch that forgets, and says since when.
    async fn forget(&self, account: Account, known: &Known, what: Forgetting, before_ms: i64) -> Result<Batch> {
        let keys = &known.keys;
        let before_ms = self.forgotten_before_ms(account, known).await?.map_or(before_ms, |old| old.max(before_ms));
        let forgotten = vec![(Atom::from(FORGOTTEN), Atom::from(before_ms))];
        let mut batch = Batch { guards: what.guards, ops: vec![Op::HashSet { key: keys.totals(), fields: forgotten }] };
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
        let gone = self.oldest(account, keys.stretches(), last + 1).await?;
        if gone.is_empty() {
            return Ok(0);
        }
        let stretches: Vec<Atom> = gone.into_iter().map(|(stretch, _)| stretch).collect();
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

    async fn oldest(&self, account: Account, key: tickmark_store::Key, before_ms: i64) -> Result<Vec<Sighting>> {
        let range = ScoreRange { from: Bound::Unbounded, to: Bound::Excluded(before_ms as f64) };
        let query = Query::SortedRange { key, range, order: Order::Ascending, offset: 0, limit: STEP };
        Ok(self.one(account, query).await?.scored()?)
    }
}

/// What goes.
#[derive(Default)]
struct Forgetting {
    guards: Vec<Guard>,
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
