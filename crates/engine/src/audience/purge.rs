//! Forgetting individuals after a while: who was last seen long ago, and viewing sessions that ended long ago.
//!
//! What is counted stays: attendance, the peak, the records, how many viewing sessions there were and how long they were.
//! Durations go on without their viewers, so that the median stays what it is. Everything is settled first: what has gone can no
//! longer be looked at.

use std::collections::BTreeMap;
use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Number, Op, Order, Query, ScoreRange};

use super::label::Labels;
use super::planning::{stretch_member, whole_ms};
use super::registry::{Audience, Known, next};
use super::sweep::{Sighting, WRITES};
use super::viewer::Viewer;
use super::{AudienceName, Stretch, record};
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
        for ((user, last_ms), text) in gone.iter().zip(records) {
            forgetting.guards.push(Guard::Score { key: keys.heartbeat(), member: user.clone(), is: Some(*last_ms) });
            forgetting.guards.push(Guard::Field { key: keys.statistics(), field: user.clone(), is: text.clone() });
            let viewer = text.and_then(|text| record::read(&text, whole_ms(*last_ms), &mut labels));
            forgetting.starts.push(user.clone());
            if let Some(Viewer { stretches, .. }) = viewer {
                let before = stretches.len() - 1;
                stretches[..before].iter().for_each(|stretch| forgetting.stretch(user, *stretch));
                forgetting.duration(stretches[before]);
            }
        }
        let mut batch = forgetting.batch(known);
        batch.ops.push(Op::SortedRemove { key: keys.heartbeat(), members: users.clone() });
        batch.ops.push(Op::HashRemove { key: keys.statistics(), fields: users.clone() });
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
        let queries = vec![
            Query::SortedScores { key: keys.heartbeat(), members: users.clone() },
            Query::HashGetMany { key: keys.statistics(), fields: users.clone() },
        ];
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let (scores, records) = (next(&mut replies)?.scores()?, next(&mut replies)?.values()?);
        let (mut forgetting, mut labels, mut kept) = (Forgetting::default(), Labels::default(), Vec::new());
        for ((user, last_ms), text) in users.iter().zip(scores).zip(records) {
            let (Some(last_ms), Some(text)) = (last_ms, text) else { continue };
            let Some(mut viewer) = record::read(&text, whole_ms(last_ms), &mut labels) else { continue };
            let old = viewer.stretches.partition_point(|stretch| stretch.end_ms < before_ms);
            let old = old.min(viewer.stretches.len() - 1);
            for stretch in viewer.stretches.drain(..old) {
                forgetting.stretch(user, stretch);
            }
            forgetting.guards.push(Guard::Score { key: keys.heartbeat(), member: user.clone(), is: Some(last_ms) });
            forgetting.guards.push(Guard::Field { key: keys.statistics(), field: user.clone(), is: Some(text) });
            kept.push((user.clone(), record::write(&viewer, &labels)));
        }
        let mut batch = forgetting.batch(known);
        if !kept.is_empty() {
            batch.ops.push(Op::HashSet { key: keys.statistics(), fields: kept });
        }
        // Those whose viewer is not known any more.
        let members: Vec<Atom> = ended.into_iter().map(|(member, _)| member).collect();
        let count = members.len() as u64;
        batch.ops.push(Op::SortedRemove { key: keys.starts(), members: members.clone() });
        batch.ops.push(Op::SortedRemove { key: keys.ended(), members });
        self.store.commit(account, batch).await?;
        Ok(count)
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
    starts: Vec<Atom>,
    ended: Vec<Atom>,
    durations: BTreeMap<i64, i64>,
}

impl Forgetting {
    /// A viewing session before the latest.
    fn stretch(&mut self, user: &Atom, stretch: Stretch) {
        let member = stretch_member(user, stretch.start_ms);
        self.starts.push(member.clone());
        self.ended.push(member);
        self.duration(stretch);
    }

    fn duration(&mut self, stretch: Stretch) {
        *self.durations.entry(stretch.end_ms - stretch.start_ms).or_default() += 1;
    }

    fn batch(self, known: &Known) -> Batch {
        let keys = &known.keys;
        let written = vec![(Atom::from(WRITES), Number::Int(1))];
        let mut batch =
            Batch { guards: self.guards, ops: vec![Op::HashIncrement { key: keys.live(), fields: written }] };
        if !self.starts.is_empty() {
            batch.ops.push(Op::SortedRemove { key: keys.starts(), members: self.starts });
        }
        if !self.ended.is_empty() {
            batch.ops.push(Op::SortedRemove { key: keys.ended(), members: self.ended });
        }
        if !self.durations.is_empty() {
            let fields = self.durations.into_iter().map(|(ms, count)| (Atom::from(ms), Number::Int(count))).collect();
            batch.ops.push(Op::HashIncrement { key: keys.purged(), fields });
        }
        batch
    }
}
