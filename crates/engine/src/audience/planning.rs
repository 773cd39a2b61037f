//! From a request's heartbeats to the batch that keeps them.
//!
//! Everything of an event lives under one tag, so a request is one batch wherever it goes. What is known of its viewers is
//! read, each takes their heartbeats in order, and what changed is written under guards. A few heartbeats rest on when their
//! viewers were last seen, so that writers of different viewers never meet. Many rest on nobody having written to the scope
//! meanwhile, which is one guard instead of one a viewer. A heartbeat that only says "still there" writes two scores.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Key, Number, Op, Placement, Presence, Query, Reply};

use super::keys::{self, EventKeys, ScopeKeys, Stem};
use super::label::{self, LOCATION_DEFAULT, Labels};
use super::registry::{Audience, LOCATIONS_MAX, SESSIONS_MAX, next, write_stem};
use super::roll::{Attendance, Roll};
use super::sums::Sums;
use super::sweep::{COUNTED_AT, WRITES};
use super::viewer::{Beat, Viewer};
use super::{AudienceError, AudienceName, Scope, VIEWING_SESSIONS_MAX, record};
use crate::{Error, Result};

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
struct Target<'a> {
    attendance: Attendance<'a>,
    keys: ScopeKeys,
    /// As of when viewers are counted as active; none before the first.
    counted_at_ms: Option<i64>,
    /// How many writes there were.
    writes: Option<Atom>,
    locations: HashSet<String, RandomState>,
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
                labels: &mut labels,
                guarding: if roll.len() <= FEW { Guarding::Viewers } else { Guarding::Scope },
                sums: Sums::default(),
                changes: Changes::default(),
            };
            writing.write(&target, known, roll.now_ms(), &mut batch)?;
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

/// One scope's part of a batch in the making.
struct Writing<'a> {
    keys: &'a ScopeKeys,
    threshold_ms: i64,
    /// Who was last seen from then on is counted as active.
    counted_from_ms: i64,
    labels: &'a mut Labels,
    guarding: Guarding,
    sums: Sums,
    changes: Changes,
}

/// What a batch rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guarding {
    /// That each viewer was last seen when this was read.
    Viewers,
    /// That nobody wrote to the scope since it was read.
    Scope,
}

/// Elements to write, a list a key.
#[derive(Default)]
struct Changes {
    guards: Vec<Guard>,
    heartbeats: Vec<(Atom, f64)>,
    records: Vec<(Atom, Atom)>,
    attended: Vec<Atom>,
    starts: Vec<(Atom, f64)>,
    ended: Vec<(Atom, f64)>,
    /// Viewing sessions before the latest that became part of another.
    joined: Vec<Atom>,
    /// Durations of those that are no longer told one by one.
    folded: Vec<(Atom, Number)>,
    places: BTreeMap<String, Place>,
}

/// The latest viewing sessions of a location.
#[derive(Default)]
struct Place {
    starts: Vec<(Atom, f64)>,
    ends: Vec<(Atom, f64)>,
}

impl Writing<'_> {
    fn write(
        mut self,
        target: &Target<'_>,
        known: Vec<(Option<f64>, Option<Atom>)>,
        now_ms: i64,
        batch: &mut Batch,
    ) -> Result<()> {
        for ((user, beats), (last_ms, record)) in target.attendance.viewers().zip(known) {
            self.viewer(user, beats, last_ms, record)?;
        }
        let new: Vec<Atom> = self
            .changes
            .places
            .keys()
            .filter(|place| !target.locations.contains(*place))
            .map(|place| Atom::from(place.as_str()))
            .collect();
        if target.locations.len() + new.len() > LOCATIONS_MAX {
            return Err(AudienceError::TooManyLocations.into());
        }
        let live = self.keys.live();
        let counted_at = Atom::from(COUNTED_AT);
        batch.guards.push(Guard::Field {
            key: live.clone(),
            field: counted_at.clone(),
            is: target.counted_at_ms.map(Atom::from),
        });
        if target.counted_at_ms.is_none() {
            batch.ops.push(Op::HashSet { key: live.clone(), fields: vec![(counted_at, Atom::from(now_ms))] });
        }
        if self.guarding == Guarding::Scope {
            let is = target.writes.clone();
            batch.guards.push(Guard::Field { key: live.clone(), field: Atom::from(WRITES), is });
        }
        batch.ops.push(Op::HashIncrement { key: live, fields: vec![(Atom::from(WRITES), Number::Int(1))] });
        if !new.is_empty() {
            batch.ops.push(Op::SetAdd { key: self.keys.locations(), members: new });
        }
        self.sums.ops(self.keys, self.labels, &mut batch.ops);
        self.changes.ops(self.keys, batch);
        batch.ops.push(Op::Publish { channel: self.keys.channel(), message: Box::default() });
        Ok(())
    }

    fn viewer(&mut self, user: &Atom, beats: &[Beat], last_ms: Option<f64>, record: Option<Atom>) -> Result<()> {
        let old = self.read(user, last_ms, record.as_ref())?;
        let mut new = old.clone();
        if let (None, Some(last_ms)) = (&old, last_ms) {
            // Seen by something else that writes these keys: known from now on, with what is known of them.
            let seen = Beat { at_ms: whole_ms(last_ms), label: self.labels.number(&format!("{LOCATION_DEFAULT}#")) };
            new = Some(Viewer::new(seen, self.threshold_ms, &mut self.sums));
        }
        // Where the latest viewing session was seen: location, until when.
        let mut sights: Vec<(u32, i64)> = Vec::new();
        for beat in beats {
            match &mut new {
                Some(viewer) => viewer.take(*beat, self.threshold_ms, &mut self.sums),
                None => new = Some(Viewer::new(*beat, self.threshold_ms, &mut self.sums)),
            }
            if new.as_ref().is_some_and(|viewer| viewer.last_ms() == beat.at_ms && viewer.label == beat.label) {
                sights.push((beat.label, beat.at_ms));
            }
        }
        let Some(mut new) = new.filter(|new| Some(new) != old.as_ref()) else { return Ok(()) };
        self.fold(&mut new);
        self.recount(old.as_ref(), &new);
        self.places(user, old.as_ref(), &new, &sights);
        self.stretches(user, old.as_ref(), &new);
        let changes = &mut self.changes;
        let is_guarded = self.guarding == Guarding::Viewers;
        if is_guarded {
            changes.guards.push(Guard::Score { key: self.keys.heartbeat(), member: user.clone(), is: last_ms });
        }
        if old.is_none() {
            changes.attended.push(user.clone());
        }
        if Some(new.last_ms()) != old.as_ref().map(Viewer::last_ms) {
            changes.heartbeats.push((user.clone(), new.last_ms() as f64));
        }
        let text = record::write(&new, self.labels);
        if record.as_ref() != Some(&text) {
            if is_guarded {
                changes.guards.push(Guard::Field { key: self.keys.statistics(), field: user.clone(), is: record });
            }
            changes.records.push((user.clone(), text));
        }
        Ok(())
    }

    fn read(&mut self, user: &Atom, last_ms: Option<f64>, record: Option<&Atom>) -> Result<Option<Viewer>> {
        let (Some(last_ms), Some(record)) = (last_ms, record) else { return Ok(None) };
        let viewer = record::read(record, whole_ms(last_ms), self.labels);
        let why = || format!("the record of {user} does not read back");
        viewer.map(Some).ok_or_else(|| Error::Record { key: self.keys.statistics().to_string(), why: why() })
    }

    /// Forgets the oldest viewing sessions of one who has too many.
    fn fold(&mut self, viewer: &mut Viewer) {
        let excess = viewer.stretches.len().saturating_sub(VIEWING_SESSIONS_MAX + 1);
        for stretch in viewer.stretches.drain(..excess) {
            self.changes.folded.push((Atom::from(stretch.end_ms - stretch.start_ms), Number::Int(1)));
        }
    }

    fn recount(&mut self, old: Option<&Viewer>, new: &Viewer) {
        let is_counted = |viewer: &&Viewer| viewer.last_ms() >= self.counted_from_ms;
        let (before, after) = (old.filter(is_counted), Some(new).filter(is_counted));
        if before.map(|viewer| viewer.label) == after.map(|viewer| viewer.label) {
            return;
        }
        if let Some(before) = before {
            self.sums.live.add(before.label, -1);
        }
        if let Some(after) = after {
            self.sums.live.add(after.label, 1);
        }
    }

    /// The latest viewing session in the sorted sets of the locations it was seen from.
    fn places(&mut self, user: &Atom, old: Option<&Viewer>, new: &Viewer, sights: &[(u32, i64)]) {
        let latest = new.latest();
        let old_location = old.map(|old| label::location(self.labels.text(old.label)).to_owned());
        let has_moved_start = old.map(|old| old.latest().start_ms) != Some(latest.start_ms);
        let mut touched: BTreeMap<&str, Option<i64>> = BTreeMap::new();
        if let (Some(location), true) =
            (&old_location, has_moved_start && old.is_some_and(|old| old.last_ms() >= latest.start_ms))
        {
            touched.insert(location, None);
        }
        for (label, at_ms) in sights.iter().filter(|(_, at_ms)| *at_ms >= latest.start_ms) {
            touched.insert(label::location(self.labels.text(*label)), Some(*at_ms));
        }
        for (location, end_ms) in touched {
            if !self.changes.places.contains_key(location) {
                self.changes.places.insert(location.to_owned(), Place::default());
            }
            let Some(place) = self.changes.places.get_mut(location) else { continue };
            if has_moved_start || old_location.as_deref() != Some(location) {
                place.starts.push((user.clone(), latest.start_ms as f64));
            }
            if let Some(end_ms) = end_ms {
                place.ends.push((user.clone(), end_ms as f64));
            }
        }
    }

    /// What differs in the starts and ends of viewing sessions.
    fn stretches(&mut self, user: &Atom, old: Option<&Viewer>, new: &Viewer) {
        let changes = &mut self.changes;
        if old.map(|old| old.latest().start_ms) != Some(new.latest().start_ms) {
            changes.starts.push((user.clone(), new.latest().start_ms as f64));
        }
        let before = |viewer: &Viewer| viewer.stretches[..viewer.stretches.len() - 1].to_vec();
        let (old, new) = (old.map(before).unwrap_or_default(), before(new));
        if old == new {
            return;
        }
        let still: HashMap<i64, i64, RandomState> =
            new.iter().map(|stretch| (stretch.start_ms, stretch.end_ms)).collect();
        let were: HashMap<i64, i64, RandomState> =
            old.iter().map(|stretch| (stretch.start_ms, stretch.end_ms)).collect();
        for stretch in old.iter().filter(|stretch| !still.contains_key(&stretch.start_ms)) {
            changes.joined.push(stretch_member(user, stretch.start_ms));
        }
        for stretch in new.iter().filter(|stretch| were.get(&stretch.start_ms) != Some(&stretch.end_ms)) {
            let member = stretch_member(user, stretch.start_ms);
            changes.starts.push((member.clone(), stretch.start_ms as f64));
            changes.ended.push((member, stretch.end_ms as f64));
        }
    }
}

impl Changes {
    fn ops(self, keys: &ScopeKeys, batch: &mut Batch) {
        batch.guards.extend(self.guards);
        let ops = &mut batch.ops;
        let add = |ops: &mut Vec<Op>, key: Key, members: Vec<(Atom, f64)>| {
            if !members.is_empty() {
                ops.push(Op::SortedAdd { key, when: AddWhen::Always, members });
            }
        };
        add(ops, keys.heartbeat(), self.heartbeats);
        if !self.joined.is_empty() {
            ops.push(Op::SortedRemove { key: keys.starts(), members: self.joined.clone() });
            ops.push(Op::SortedRemove { key: keys.ended(), members: self.joined });
        }
        add(ops, keys.starts(), self.starts);
        add(ops, keys.ended(), self.ended);
        for (location, place) in self.places {
            add(ops, keys.viewing_start(&location), place.starts);
            add(ops, keys.viewing_end(&location), place.ends);
        }
        if !self.records.is_empty() {
            ops.push(Op::HashSet { key: keys.statistics(), fields: self.records });
        }
        if !self.attended.is_empty() {
            ops.push(Op::SetAdd { key: keys.attended(), members: self.attended });
        }
        if !self.folded.is_empty() {
            ops.push(Op::HashIncrement { key: keys.purged(), fields: self.folded });
        }
    }
}

/// A viewing session before the latest, in the sets of starts and ends. No user has a `#` in it.
pub(super) fn stretch_member(user: &Atom, start_ms: i64) -> Atom {
    let mut bytes = Vec::with_capacity(user.len() + 14);
    user.write_to(&mut bytes);
    bytes.push(b'#');
    bytes.extend_from_slice(itoa::Buffer::new().format(start_ms).as_bytes());
    Atom::from(bytes)
}

/// A score as milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is no number of milliseconds was not written by this program"
)]
pub(super) fn whole_ms(score: f64) -> i64 {
    score as i64
}
