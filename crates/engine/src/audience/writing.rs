//! What one scope's heartbeats write.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use tickmark_store::{AddWhen, Atom, Batch, Guard, Key, Number, Op};

use super::keys::ScopeKeys;
use super::label::{self, LOCATION_DEFAULT, Labels};
use super::planning::Target;
use super::registry::LOCATIONS_MAX;
use super::sums::Sums;
use super::sweep::{COUNTED_AT, WRITES};
use super::viewer::{Beat, Viewer};
use super::{AudienceError, Stretch, VIEWING_SESSIONS_MAX, record};
use crate::{Error, Result};

/// One scope's part of a batch in the making.
pub(super) struct Writing<'a> {
    pub(super) keys: &'a ScopeKeys,
    pub(super) threshold_ms: i64,
    /// Who was last seen from then on is counted as active.
    pub(super) counted_from_ms: i64,
    pub(super) now_ms: i64,
    /// Whether the sorted sets of viewing sessions are wanted, which others may read but this program never does.
    pub(super) is_shared: bool,
    pub(super) labels: &'a mut Labels,
    pub(super) guarding: Guarding,
    pub(super) sums: Sums,
    pub(super) changes: Changes,
}

/// What a batch rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarding {
    /// That each viewer was last seen when this was read.
    Viewers,
    /// That nobody wrote to the scope since it was read.
    Scope,
}

/// Elements to write, a list a key.
#[derive(Default)]
pub(super) struct Changes {
    guards: Vec<Guard>,
    heartbeats: Vec<(Atom, f64)>,
    records: Vec<(Atom, Atom)>,
    attended: Vec<Atom>,
    /// Who begins to watch later than now.
    ahead: Vec<(Atom, f64)>,
    ended: Vec<(Atom, f64)>,
    /// Viewing sessions before the latest that became part of another.
    joined: Vec<Atom>,
    /// Durations of those that are no longer told one by one.
    folded: Vec<(Atom, Number)>,
    places: BTreeMap<String, Place>,
    /// Labels whose location is among the places.
    placed: HashSet<u32, RandomState>,
}

/// The latest viewing sessions of a location.
#[derive(Default)]
struct Place {
    starts: Vec<(Atom, f64)>,
    ends: Vec<(Atom, f64)>,
}

impl Writing<'_> {
    pub(super) fn write(
        mut self,
        target: &Target<'_>,
        known: Vec<(Option<f64>, Option<Atom>)>,
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
            batch.ops.push(Op::HashSet { key: live.clone(), fields: vec![(counted_at, Atom::from(self.now_ms))] });
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
        self.recount(old.as_ref(), &new);
        if self.is_shared {
            self.places(user, old.as_ref(), &new, &sights);
        } else {
            sights.iter().for_each(|(label, _)| self.place(*label));
        }
        self.stretches(user, old.as_ref(), &new);
        self.fold(&mut new);
        let changes = &mut self.changes;
        let is_guarded = self.guarding == Guarding::Viewers;
        if is_guarded {
            changes.guards.push(Guard::Score { key: self.keys.heartbeat(), member: user.clone(), is: last_ms });
        }
        if old.is_none() {
            changes.attended.push(user.clone());
        }
        if new.latest().start_ms > self.now_ms {
            changes.ahead.push((user.clone(), new.latest().start_ms as f64));
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
            let place = self.changes.places.entry(location.to_owned()).or_default();
            if has_moved_start || old_location.as_deref() != Some(location) {
                place.starts.push((user.clone(), latest.start_ms as f64));
            }
            if let Some(end_ms) = end_ms {
                place.ends.push((user.clone(), end_ms as f64));
            }
        }
    }

    /// Notes the location of a label.
    fn place(&mut self, label: u32) {
        if self.changes.placed.insert(label) {
            let location = label::location(self.labels.text(label)).to_owned();
            self.changes.places.entry(location).or_default();
        }
    }

    /// What differs in the starts and ends of viewing sessions.
    fn stretches(&mut self, user: &Atom, old: Option<&Viewer>, new: &Viewer) {
        let old: &[Stretch] = old.map_or(&[], |old| &old.stretches);
        let new = &new.stretches[..];
        if let ([old_before @ .., old], [new_before @ .., new]) = (old, new)
            && (old_before, old.start_ms) == (new_before, new.start_ms)
        {
            return;
        }
        let changes = &mut self.changes;
        let find = |stretches: &[Stretch], start_ms: i64| {
            stretches.binary_search_by_key(&start_ms, |stretch| stretch.start_ms).ok().map(|at| stretches[at].end_ms)
        };
        for stretch in old.iter().filter(|stretch| find(new, stretch.start_ms).is_none()) {
            self.sums.joined.add(stretch.start_ms, -1);
        }
        for stretch in new.iter().filter(|stretch| find(old, stretch.start_ms).is_none()) {
            self.sums.joined.add(stretch.start_ms, 1);
        }
        let (old, new) = (all_but_last(old), all_but_last(new));
        for stretch in old.iter().filter(|stretch| find(new, stretch.start_ms).is_none()) {
            changes.joined.push(stretch_member(user, stretch.start_ms));
        }
        for stretch in new.iter().filter(|stretch| find(old, stretch.start_ms) != Some(stretch.end_ms)) {
            changes.ended.push((stretch_member(user, stretch.start_ms), stretch.end_ms as f64));
        }
    }
}

fn all_but_last(stretches: &[Stretch]) -> &[Stretch] {
    stretches.split_last().map_or(&[], |(_, before)| before)
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
            ops.push(Op::SortedRemove { key: keys.ended(), members: self.joined });
        }
        add(ops, keys.ahead(), self.ahead);
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

/// A viewing session before the latest, in the set of ends. No user has a `#` in it.
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
