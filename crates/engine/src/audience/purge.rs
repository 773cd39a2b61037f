//! Forgetting individuals after a while: who was last seen long ago, and viewing sessions that ended long ago.
//!
//! What is counted stays: attendance, the peak, the records, how many viewing sessions there were and how long they were.
//! Durations go on without their viewers, so that the median stays what it is. Everything is settled first: what has gone can no
//! longer be looked at.

use std::collections::BTreeMap;
use std::mem::take;
use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Key, Number, Op, Order, Query, ScoreRange};

use super::keys::EventKeys;
use super::label::Labels;
use super::peak::FORGOTTEN;
use super::record::Person;
use super::registry::{Audience, Known};
use super::sightings::Sightings;
use super::statistics::RECORD_MS;
use super::times::{Moved, Moves};
use super::writing::stretch_member;
use super::{AudienceName, Stretch};
use crate::Result;

/// Viewers, or viewing sessions, in one batch.
const STEP: u64 = 1_000;
/// Records looked at together.
const PAGE: u32 = 5_000;
/// Fields of an event's totals: before when nobody was last seen, as of the last purge that looked at everyone; how many batches
/// had somebody who was seen long ago, now and when that purge began.
const OLDEST: &str = "oldest";
pub(super) const LATE: &str = "late";
const LATE_AT_OLDEST: &str = "late_at_oldest";
/// Who is seen longer ago than that is not covered by what the last purge found.
pub(super) const LATE_MS: i64 = 3_600_000;

impl Audience {
    /// Forgets some of what is older than a time. Returns how many viewers and viewing sessions; none when nothing is left.
    pub async fn purge(&self, account: Account, event: &AudienceName, before_ms: i64, now_ms: i64) -> Result<u64> {
        self.settle(account, event, now_ms).await?;
        let scopes = self.scopes(account, event).await?;
        // Nobody who is counted as active may go.
        let threshold_ms = scopes.first().map_or(0, |known| known.threshold_ms);
        let before_ms = before_ms.min(now_ms - threshold_ms);
        let mut purged = 0;
        if !self.store.is_shared() {
            purged += self.purge_records(account, event, &scopes, before_ms, now_ms).await?;
        }
        for known in &scopes {
            if known.is_shared {
                purged += unless_back(self.purge_sightings(account, known, before_ms).await)?.unwrap_or(0);
            }
            purged += unless_back(self.purge_stretches(account, known, before_ms).await)?.unwrap_or(0);
            self.purge_joins(account, known).await?;
        }
        Ok(purged)
    }

    /// Viewers of a scope, found by their sightings.
    async fn purge_sightings(&self, account: Account, known: &Known, before_ms: i64) -> Result<u64> {
        let (keys, sightings) = (&known.keys, known.sightings());
        let gone = Sightings::read(self.one(account, sightings.range(&(i64::MIN..before_ms), STEP)).await?)?;
        if gone.is_empty() {
            return Ok(0);
        }
        let users: Vec<Atom> = gone.iter().map(|(user, _)| user.clone()).collect();
        let locations = self.one(account, Query::SetAll { key: keys.locations() }).await?.members()?;
        let mut forgetting = self.forgetting(account, known, &users, i64::MAX).await?;
        forgetting.guards.extend(gone.iter().map(|sighting| sightings.guard(sighting)));
        let mut batch = self.forget(account, known, &mut forgetting, before_ms).await?;
        batch.ops.push(sightings.removal(users.clone()));
        for location in locations.iter().filter_map(Atom::as_str) {
            for key in [keys.viewing_start(&location), keys.viewing_end(&location)] {
                batch.ops.push(Op::SortedRemove { key, members: users.clone() });
            }
        }
        self.store.commit(account, batch).await?;
        Ok(users.len() as u64)
    }

    /// Viewers of all scopes, found by their records: all who are old, where any may be.
    async fn purge_records(
        &self,
        account: Account,
        event: &AudienceName,
        scopes: &[Known],
        before_ms: i64,
        now_ms: i64,
    ) -> Result<u64> {
        let Some(whole) = scopes.first() else { return Ok(0) };
        let OldestSeen { at_ms, late } = self.oldest_seen(account, whole).await?;
        if at_ms.is_some_and(|at_ms| at_ms >= before_ms) {
            return Ok(0);
        }
        let (mut purged, mut oldest_ms) = (0, now_ms - LATE_MS);
        let (mut labels, mut cursor) = (Labels::default(), None);
        loop {
            let (records, next) = self.page(account, whole.keys.statistics(), cursor, PAGE).await?;
            let mut old: BTreeMap<u32, Vec<Atom>> = BTreeMap::new();
            for (user, record) in &records {
                let Some(person) = Person::read(record, &mut labels) else { continue };
                for (scope, viewer) in person.viewers() {
                    if viewer.last_ms() < before_ms {
                        old.entry(scope).or_default().push(user.clone());
                    } else {
                        oldest_ms = oldest_ms.min(viewer.last_ms());
                    }
                }
            }
            for known in scopes {
                let Some(users) = old.remove(&known.number) else { continue };
                match unless_back(self.purge_viewers(account, event, known, &users, before_ms).await)? {
                    Some(()) => purged += users.len() as u64,
                    None => oldest_ms = i64::MIN,
                }
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let mut fields = vec![(Atom::from(OLDEST), Atom::from(oldest_ms))];
        fields.extend(late.map(|late| (Atom::from(LATE_AT_OLDEST), late)));
        let batch = Batch::new().guard(self.still_there(event, whole));
        let written = self.store.commit(account, batch.op(Op::HashSet { key: whole.keys.totals(), fields })).await;
        unless_back(written.map_err(Into::into))?;
        Ok(purged)
    }

    async fn purge_viewers(
        &self,
        account: Account,
        event: &AudienceName,
        known: &Known,
        users: &[Atom],
        before_ms: i64,
    ) -> Result<()> {
        let held = self.held(account, event);
        let _beside_others = held.lock.read().await;
        let edition = held.edition();
        let mut forgetting = self.forgetting(account, known, users, before_ms).await?;
        let mut batch = self.forget(account, known, &mut forgetting, before_ms).await?;
        batch.guards.push(self.still_there(event, known));
        batch.ops.push(self.one_more_batch(event));
        self.store.commit(account, batch).await?;
        let scopes = vec![(known.number, forgetting.moves)];
        held.follow(edition, Moved { scopes, labels: forgetting.labels, is_first: false });
        Ok(())
    }

    async fn oldest_seen(&self, account: Account, whole: &Known) -> Result<OldestSeen> {
        let fields = [OLDEST, LATE, LATE_AT_OLDEST].map(Atom::from).to_vec();
        let mut values = self.one(account, Query::HashGetMany { key: whole.keys.totals(), fields }).await?.values()?;
        let (late_then, late, at) = (values.pop().flatten(), values.pop().flatten(), values.pop().flatten());
        let at_ms = at.filter(|_| late == late_then).and_then(|at| at.as_int());
        Ok(OldestSeen { at_ms, late })
    }

    /// That the event was not deleted meanwhile.
    fn still_there(&self, event: &AudienceName, known: &Known) -> Guard {
        let key = EventKeys::of(self.placement(), event).event();
        Guard::Value { key, is: Some(Atom::from(known.threshold_ms)) }
    }

    /// All that is known of some viewers of a scope, unless they were seen again.
    async fn forgetting(&self, account: Account, known: &Known, users: &[Atom], before_ms: i64) -> Result<Forgetting> {
        let query = Query::HashGetMany { key: known.keys.statistics(), fields: users.to_vec() };
        let mut forgetting = Forgetting::default();
        for (user, record) in users.iter().zip(self.one(account, query).await?.values()?) {
            forgetting.viewer(known.number, user, record, before_ms);
        }
        Ok(forgetting)
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
        let mut forgetting = Forgetting::default();
        for (user, record) in users.iter().zip(records) {
            let person = record.as_ref().and_then(|record| Person::read(record, &mut forgetting.labels));
            let Some(mut person) = person else { continue };
            let Some(mut viewer) = person.get(known.number).cloned() else { continue };
            let old = viewer.before.partition_point(|stretch| stretch.end_ms < before_ms);
            for stretch in viewer.before.drain(..old) {
                forgetting.stretch(user, stretch);
            }
            person.put(known.number, viewer);
            forgetting.were.push((user.clone(), record));
            forgetting.keep(user, &person);
        }
        let mut batch = self.forget(account, known, &mut forgetting, before_ms).await?;
        // Those whose viewer is not known any more.
        let count = ended.len() as u64;
        batch.ops.push(Op::SortedRemove { key: keys.ended(), members: ended });
        self.store.commit(account, batch).await?;
        Ok(count)
    }

    /// The batch that forgets, and says since when.
    async fn forget(&self, account: Account, known: &Known, what: &mut Forgetting, before_ms: i64) -> Result<Batch> {
        let keys = &known.keys;
        let before_ms = self.forgotten_before_ms(account, known).await?.map_or(before_ms, |old| old.max(before_ms));
        let forgotten = vec![(Atom::from(FORGOTTEN), Atom::from(before_ms))];
        let mut guards = take(&mut what.guards);
        guards.push(Guard::Fields { key: keys.statistics(), are: take(&mut what.were) });
        let mut batch = Batch { guards, ops: vec![Op::HashSet { key: keys.totals(), fields: forgotten }] };
        if !what.ended.is_empty() {
            batch.ops.push(Op::SortedRemove { key: keys.ended(), members: take(&mut what.ended) });
        }
        if !what.durations.is_empty() {
            let fields = what.durations.iter().map(|(ms, count)| (Atom::from(*ms), Number::Int(*count))).collect();
            batch.ops.push(Op::HashIncrement { key: keys.purged(), fields });
        }
        if !what.kept.is_empty() {
            batch.ops.push(Op::HashSet { key: keys.statistics(), fields: take(&mut what.kept) });
        }
        Ok(batch)
    }

    /// What nobody will look at any more, because some of those who were active then are forgotten.
    async fn purge_joins(&self, account: Account, known: &Known) -> Result<()> {
        let keys = &known.keys;
        let Some(forgotten_before_ms) = self.forgotten_before_ms(account, known).await? else { return Ok(()) };
        let last = (forgotten_before_ms + known.threshold_ms).div_euclid(RECORD_MS);
        let stretches = self.oldest(account, keys.stretches(), last + 1).await?;
        if stretches.is_empty() {
            return Ok(());
        }
        let deleted = stretches.iter().filter_map(Atom::as_int).map(|stretch| Op::Delete { key: keys.joins(stretch) });
        let mut batch = Batch { guards: Vec::new(), ops: deleted.collect() };
        batch.ops.push(Op::SortedRemove { key: keys.stretches(), members: stretches });
        self.store.commit(account, batch).await?;
        Ok(())
    }

    async fn forgotten_before_ms(&self, account: Account, known: &Known) -> Result<Option<i64>> {
        let query = Query::HashGet { key: known.keys.totals(), field: Atom::from(FORGOTTEN) };
        Ok(self.one(account, query).await?.value()?.and_then(|before| before.as_int()))
    }

    /// Members of a sorted set with a score below another.
    async fn oldest(&self, account: Account, key: Key, score: i64) -> Result<Vec<Atom>> {
        let range = ScoreRange { from: Bound::Unbounded, to: Bound::Excluded(score as f64) };
        let query = Query::SortedRange { key, range, order: Order::Ascending, offset: 0, limit: STEP };
        Ok(self.one(account, query).await?.scored()?.into_iter().map(|(member, _)| member).collect())
    }
}

/// Before when nobody was last seen; none where nobody knows.
struct OldestSeen {
    at_ms: Option<i64>,
    late: Option<Atom>,
}

/// None where somebody came back meanwhile; the next time will do.
fn unless_back<T>(step: Result<T>) -> Result<Option<T>> {
    match step {
        Ok(done) => Ok(Some(done)),
        Err(crate::Error::Store(StoreError::GuardFailed { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What goes.
#[derive(Default)]
struct Forgetting {
    guards: Vec<Guard>,
    /// The records that it rests on.
    were: Vec<(Atom, Option<Atom>)>,
    /// What is left of them.
    kept: Vec<(Atom, Atom)>,
    ended: Vec<Atom>,
    durations: BTreeMap<i64, i64>,
    /// When who goes was last seen, and what the numbers of their labels stand for.
    moves: Moves,
    labels: Labels,
}

impl Forgetting {
    /// A viewer of a scope, who stays in others, if they were last seen before a time.
    fn viewer(&mut self, scope: u32, user: &Atom, record: Option<Atom>, before_ms: i64) {
        let person = record.as_ref().and_then(|record| Person::read(record, &mut self.labels));
        self.were.push((user.clone(), record));
        let Some(mut person) = person else { return };
        if person.get(scope).is_some_and(|viewer| viewer.last_ms() >= before_ms) {
            return;
        }
        if let Some(viewer) = person.forget(scope) {
            self.moves.from.push((viewer.last_ms(), viewer.label));
            viewer.before.iter().for_each(|stretch| self.stretch(user, *stretch));
            self.duration(viewer.latest);
        }
        self.keep(user, &person);
    }

    fn keep(&mut self, user: &Atom, person: &Person) {
        self.kept.push((user.clone(), person.write(&self.labels)));
    }

    /// A viewing session before the latest.
    fn stretch(&mut self, user: &Atom, stretch: Stretch) {
        self.ended.push(stretch_member(user, stretch.start_ms));
        self.duration(stretch);
    }

    fn duration(&mut self, stretch: Stretch) {
        *self.durations.entry(stretch.end_ms - stretch.start_ms).or_default() += 1;
    }
}
