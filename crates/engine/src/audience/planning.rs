//! From a request's heartbeats to the batch that keeps them.
//!
//! Everything of an event lives under one tag, so a request is one batch wherever it goes. What is known of its viewers is
//! read, each takes their heartbeats in order, and what changed is written under guards. A few heartbeats rest on when their
//! viewers were last seen, so that writers of different viewers never meet. Many rest on nobody having written to the scope
//! meanwhile, which is one guard instead of one a viewer. A heartbeat that only says "still there" writes two scores.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use tickmark_store::{Account, Atom, Batch, Guard, Op, Placement, Presence, Query, Reply};

use super::keys::{self, EventKeys, ScopeKeys, Stem};
use super::registry::{Audience, SESSIONS_MAX, next, write_stem};
use super::roll::{Attendance, Roll};
use super::sums::Sums;
use super::sweep::{COUNTED_AT, WRITES};
use super::writing::{Changes, Guarding, Writing};
use super::{AudienceError, AudienceName, Scope};
use crate::Result;

/// Heartbeats that are guarded one by one.
pub(super) const FEW: usize = 100;

/// What keeps a request.
#[derive(Debug)]
pub struct Planned {
    /// What is in the braces of all its keys on a Cluster.
    pub tag: String,
    pub batch: Batch,
}

/// A scope that heartbeats are for.
pub(super) struct Target<'a> {
    pub(super) attendance: Attendance<'a>,
    pub(super) keys: ScopeKeys,
    /// As of when viewers are counted as active; none before the first.
    pub(super) counted_at_ms: Option<i64>,
    /// How many writes there were.
    pub(super) writes: Option<Atom>,
    pub(super) locations: HashSet<String, RandomState>,
}

impl Audience {
    /// What is in the braces of the keys of an event on a Cluster.
    pub fn tag(event: &AudienceName) -> String {
        event.to_string()
    }

    /// What counts these heartbeats. To be planned again when a guard no longer holds.
    pub async fn count(&self, account: Account, event: &AudienceName, roll: &Roll) -> Result<Planned> {
        let mut batch = Batch::new();
        if roll.is_empty() {
            return Ok(Planned { tag: Self::tag(event), batch });
        }
        let event_keys = EventKeys::of(self.placement(), event);
        let declared = self.declared(account, event).await?;
        batch.guards.push(Guard::Value { key: event_keys.event(), is: declared.record.clone() });
        if declared.record.is_none() {
            self.finish_removal(account, event).await?;
            batch.guards.push(Guard::Key { key: event_keys.gone(), is: Presence::Absent });
            batch.ops.push(Op::Set { key: event_keys.event(), value: Atom::from(declared.threshold_ms) });
            self.enlist(account, event, &mut batch).await?;
        }
        let stems = self.claim(account, event, roll, &mut batch).await?;
        let targets = self.targets(account, event, roll, &stems).await?;
        let known = self.viewers(account, &targets).await?;
        let mut labels = roll.labels.clone();
        for (target, known) in targets.into_iter().zip(known) {
            let writing = Writing {
                keys: &target.keys,
                threshold_ms: declared.threshold_ms,
                counted_from_ms: target.counted_at_ms.unwrap_or(roll.now_ms()) - declared.threshold_ms,
                now_ms: roll.now_ms(),
                is_shared: self.store.is_shared(),
                labels: &mut labels,
                guarding: if roll.len() <= FEW { Guarding::Viewers } else { Guarding::Scope },
                sums: Sums::default(),
                changes: Changes::default(),
            };
            writing.write(&target, known, &mut batch)?;
        }
        Ok(Planned { tag: Self::tag(event), batch })
    }

    /// How the keys of the request's sessions begin. New sessions are put into the batch.
    async fn claim(&self, account: Account, event: &AudienceName, roll: &Roll, batch: &mut Batch) -> Result<Vec<Stem>> {
        if roll.sessions.is_empty() {
            return Ok(Vec::new());
        }
        let sessions = EventKeys::of(self.placement(), event).sessions();
        let fields: Vec<_> = roll.sessions.iter().map(|session| Atom::from(session.as_str())).collect();
        let mut queries = vec![
            Query::HashGetMany { key: sessions.clone(), fields: fields.clone() },
            Query::HashLen { key: sessions.clone() },
        ];
        if self.placement() == Placement::Together {
            queries.extend(roll.sessions.iter().map(|session| Query::Get { key: keys::owner(session.as_str()) }));
        }
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let known = next(&mut replies)?.values()?;
        let mut count = next(&mut replies)?.count()?;
        let mut stems = Vec::with_capacity(known.len());
        for ((field, stem), session) in fields.into_iter().zip(known).zip(&roll.sessions) {
            let owner = match self.placement() {
                Placement::Together => next(&mut replies)?.value()?,
                Placement::ByTag => None,
            };
            if let Some(stem) = stem {
                stems.push(if stem == write_stem(Stem::Joined) { Stem::Joined } else { Stem::Seed });
                continue;
            }
            count += 1;
            if count > SESSIONS_MAX as u64 {
                return Err(AudienceError::TooManySessions { event: event.to_string() }.into());
            }
            let own = Atom::from(event.as_str());
            let stem = if owner.as_ref().is_some_and(|owner| *owner != own) { Stem::Joined } else { Stem::Seed };
            batch.guards.push(Guard::Field { key: sessions.clone(), field: field.clone(), is: None });
            batch.ops.push(Op::HashSet { key: sessions.clone(), fields: vec![(field, write_stem(stem))] });
            if self.placement() == Placement::Together {
                let key = keys::owner(session.as_str());
                batch.guards.push(Guard::Value { key: key.clone(), is: owner.clone() });
                if owner.is_none() {
                    batch.ops.push(Op::Set { key, value: own });
                }
            }
            stems.push(stem);
        }
        Ok(stems)
    }

    async fn targets<'a>(
        &self,
        account: Account,
        event: &AudienceName,
        roll: &'a Roll,
        stems: &[Stem],
    ) -> Result<Vec<Target<'a>>> {
        let stem_of: HashMap<&AudienceName, Stem, RandomState> =
            roll.sessions.iter().zip(stems.iter().copied()).collect();
        let scopes = roll.by_scope().into_iter().map(|attendance| {
            let stem = attendance.session.and_then(|session| stem_of.get(session)).copied().unwrap_or(Stem::Seed);
            let scope = Scope { event: event.clone(), session: attendance.session.cloned() };
            (attendance, self.scope_keys(&scope, stem))
        });
        let scopes: Vec<_> = scopes.collect();
        let queries = scopes.iter().flat_map(|(_, keys)| {
            let fields = [COUNTED_AT, WRITES].map(Atom::from).to_vec();
            [Query::HashGetMany { key: keys.live(), fields }, Query::SetAll { key: keys.locations() }]
        });
        let mut replies = self.store.read(account, queries.collect()).await?.into_iter();
        let target = |(attendance, keys)| {
            let mut live = next(&mut replies)?.values()?.into_iter();
            let counted_at_ms = live.next().flatten().and_then(|at| at.as_int());
            let writes = live.next().flatten();
            let locations = next(&mut replies)?.members()?;
            let locations = locations.iter().filter_map(|location| Some(location.as_str()?.into_owned())).collect();
            Ok(Target { attendance, keys, counted_at_ms, writes, locations })
        };
        scopes.into_iter().map(target).collect()
    }

    /// What is known of each viewer: when last seen, and their record.
    async fn viewers(&self, account: Account, targets: &[Target<'_>]) -> Result<Vec<Vec<(Option<f64>, Option<Atom>)>>> {
        let queries = targets.iter().flat_map(|target| {
            let users: Vec<Atom> = target.attendance.users().cloned().collect();
            [
                Query::SortedScores { key: target.keys.heartbeat(), members: users.clone() },
                Query::HashGetMany { key: target.keys.statistics(), fields: users },
            ]
        });
        let mut replies: std::vec::IntoIter<Reply> = self.store.read(account, queries.collect()).await?.into_iter();
        let mut known = Vec::with_capacity(targets.len());
        for _ in targets {
            let scores = next(&mut replies)?.scores()?;
            let records = next(&mut replies)?.values()?;
            known.push(scores.into_iter().zip(records).collect());
        }
        Ok(known)
    }
}
