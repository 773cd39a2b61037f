//! From a request's heartbeats to the batch that keeps them.
//!
//! Everything of an event lives under one tag, so a request is one batch wherever it goes. What is known of its viewers is
//! read, each takes their heartbeats in order, and what changed is written if their records are still what was read: writers of
//! different viewers never meet. A heartbeat that only says "still there" writes the viewer's record and little more.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use tickmark_store::{Account, Atom, Batch, Guard, Number, Op, Placement, Presence, Query};

use super::keys::{self, EventKeys, ScopeKeys, Stem};
use super::label::Labels;
use super::purge::{LATE, LATE_MS};
use super::record::Person;
use super::registry::{Audience, Claim, LAST_SESSION, SESSIONS_MAX, next, read_claim, write_claim};
use super::roll::{Attendance, Roll};
use super::sweep::COUNTED_AT;
use super::times::Moved;
use super::writing::{ScopeWriting, Strangers, Writing};
use super::{AudienceError, AudienceName, Scope};
use crate::Result;

/// Viewers that are worked on before others have a turn on the same thread.
const AT_A_STRETCH: usize = 5_000;

/// What keeps a request.
#[derive(Debug)]
pub struct Planned {
    /// What is in the braces of all its keys on a Cluster.
    pub tag: String,
    pub batch: Batch,
    /// To be told to the [`Turn`](super::Turn) in which it is committed.
    pub moved: Moved,
}

/// A scope that heartbeats are for.
pub(super) struct Target {
    pub(super) keys: ScopeKeys,
    /// Of its part in the records of viewers.
    pub(super) number: u32,
    /// As of when viewers are counted as active; none before the first.
    pub(super) counted_at_ms: Option<i64>,
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
            return Ok(Planned { tag: Self::tag(event), batch, moved: Moved::default() });
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
        let claims = self.claim(account, event, roll, &mut batch).await?;
        let targets = self.targets(account, event, roll, &claims).await?;
        let attendance = roll.attendance();
        let records = self.records_of(account, &targets[0].keys, &attendance).await?;
        let mut writing = Writing {
            threshold_ms: declared.threshold_ms,
            now_ms: roll.now_ms(),
            is_shared: self.store.is_shared(),
            labels: roll.labels.clone(),
            scopes: targets
                .iter()
                .map(|target| ScopeWriting::new(target, declared.threshold_ms, roll.now_ms()))
                .collect(),
            records: Vec::new(),
            were: Vec::new(),
        };
        let strangers = self.strangers(account, &targets, &attendance, &records).await?;
        for (number, ((user, sights), record)) in attendance.viewers().zip(records).enumerate() {
            if number % AT_A_STRETCH == AT_A_STRETCH - 1 {
                tokio::task::yield_now().await;
            }
            writing.viewer(user, sights, record, &strangers)?;
        }
        let mut moved = writing.finish(&mut batch)?;
        moved.is_first = declared.record.is_none();
        if !moved.is_empty() {
            batch.ops.push(self.one_more_batch(event));
        }
        if moved.reaches_before(roll.now_ms() - LATE_MS) {
            let fields = vec![(Atom::from(LATE), Number::Int(1))];
            batch.ops.push(Op::HashIncrement { key: targets[0].keys.totals(), fields });
        }
        Ok(Planned { tag: Self::tag(event), batch, moved })
    }

    /// Which sessions the request names. New ones are put into the batch.
    async fn claim(
        &self,
        account: Account,
        event: &AudienceName,
        roll: &Roll,
        batch: &mut Batch,
    ) -> Result<Vec<Claim>> {
        if roll.sessions.is_empty() {
            return Ok(Vec::new());
        }
        let sessions = EventKeys::of(self.placement(), event).sessions();
        let fields: Vec<_> = roll.sessions.iter().map(|session| Atom::from(session.as_str())).collect();
        let mut queries = vec![
            Query::HashGetMany { key: sessions.clone(), fields: fields.clone() },
            Query::HashGet { key: sessions.clone(), field: Atom::from(LAST_SESSION) },
        ];
        if self.placement() == Placement::Together {
            queries.extend(roll.sessions.iter().map(|session| Query::Get { key: keys::owner(session.as_str()) }));
        }
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let known = next(&mut replies)?.values()?;
        let last = next(&mut replies)?.value()?;
        let mut number = last.as_ref().and_then(Atom::as_int).and_then(|last| u32::try_from(last).ok()).unwrap_or(0);
        let mut claims = Vec::with_capacity(known.len());
        let mut new = Vec::new();
        for ((field, claim), session) in fields.into_iter().zip(known).zip(&roll.sessions) {
            let owner = match self.placement() {
                Placement::Together => next(&mut replies)?.value()?,
                Placement::ByTag => None,
            };
            if let Some(claim) = claim {
                claims.push(read_claim(&sessions, &claim)?);
                continue;
            }
            number += 1;
            if number as usize > SESSIONS_MAX {
                return Err(AudienceError::TooManySessions { event: event.to_string() }.into());
            }
            let own = Atom::from(event.as_str());
            let stem = if owner.as_ref().is_some_and(|owner| *owner != own) { Stem::Joined } else { Stem::Seed };
            let claim = Claim { number, stem };
            batch.guards.push(Guard::Field { key: sessions.clone(), field: field.clone(), is: None });
            new.push((field, write_claim(claim)));
            if self.placement() == Placement::Together {
                let key = keys::owner(session.as_str());
                batch.guards.push(Guard::Value { key: key.clone(), is: owner.clone() });
                if owner.is_none() {
                    batch.ops.push(Op::Set { key, value: own });
                }
            }
            claims.push(claim);
        }
        if !new.is_empty() {
            let field = Atom::from(LAST_SESSION);
            batch.guards.push(Guard::Field { key: sessions.clone(), field: field.clone(), is: last });
            new.push((field, Atom::from(i64::from(number))));
            batch.ops.push(Op::HashSet { key: sessions, fields: new });
        }
        Ok(claims)
    }

    /// The event, then the sessions that the request names.
    async fn targets(
        &self,
        account: Account,
        event: &AudienceName,
        roll: &Roll,
        claims: &[Claim],
    ) -> Result<Vec<Target>> {
        let whole = Scope { event: event.clone(), session: None };
        let mut scopes = vec![(self.scope_keys(&whole, Stem::Seed), 0)];
        scopes.extend(roll.sessions.iter().zip(claims).map(|(session, claim)| {
            let scope = Scope { session: Some(session.clone()), ..whole.clone() };
            (self.scope_keys(&scope, claim.stem), claim.number)
        }));
        let queries = scopes.iter().flat_map(|(keys, _)| {
            let counted_at = Query::HashGet { key: keys.live(), field: Atom::from(COUNTED_AT) };
            [counted_at, Query::SetAll { key: keys.locations() }]
        });
        let mut replies = self.store.read(account, queries.collect()).await?.into_iter();
        let mut targets = Vec::with_capacity(scopes.len());
        for (keys, number) in scopes {
            let counted_at_ms = next(&mut replies)?.value()?.and_then(|at| at.as_int());
            let locations = next(&mut replies)?.members()?;
            let locations = locations.iter().filter_map(|location| Some(location.as_str()?.into_owned())).collect();
            targets.push(Target { keys, number, counted_at_ms, locations });
        }
        Ok(targets)
    }

    async fn records_of(
        &self,
        account: Account,
        keys: &ScopeKeys,
        attendance: &Attendance<'_>,
    ) -> Result<Vec<Option<Atom>>> {
        let fields = attendance.users().iter().copied().cloned().collect();
        Ok(self.one(account, Query::HashGetMany { key: keys.statistics(), fields }).await?.values()?)
    }

    /// Who is not known in a scope, but was seen there by something else that writes the same keys.
    async fn strangers(
        &self,
        account: Account,
        targets: &[Target],
        attendance: &Attendance<'_>,
        records: &[Option<Atom>],
    ) -> Result<Strangers> {
        let mut strangers = Strangers::default();
        if !self.store.is_shared() {
            return Ok(strangers);
        }
        let mut unknown: Vec<Vec<Atom>> = vec![Vec::new(); targets.len()];
        let mut labels = Labels::default();
        for ((user, sights), record) in attendance.viewers().zip(records) {
            let person = record.as_ref().and_then(|record| Person::read(record, &mut labels)).unwrap_or_default();
            let scopes = [0].into_iter().chain(sights.iter().map(|sight| sight.scope as usize));
            for scope in scopes.filter(|scope| person.get(targets[*scope].number).is_none()) {
                unknown[scope].push(user.clone());
            }
        }
        let asked = unknown
            .iter()
            .zip(targets)
            .map(|(users, target)| Query::SortedScores { key: target.keys.heartbeat(), members: users.clone() });
        let replies = self.store.read(account, asked.collect()).await?;
        for ((scope, users), reply) in (0..).zip(unknown).zip(replies) {
            for (user, last_ms) in users.into_iter().zip(reply.scores()?) {
                strangers.extend(last_ms.map(|last_ms| ((scope, user), last_ms)));
            }
        }
        Ok(strangers)
    }
}
