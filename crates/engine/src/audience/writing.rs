//! What heartbeats write.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use tickmark_store::{AddWhen, Atom, Batch, Guard, Key, Number, Op};

use super::keys::ScopeKeys;
use super::label::{self, LOCATION_DEFAULT, Labels};
use super::planning::Target;
use super::record::Person;
use super::registry::LOCATIONS_MAX;
use super::roll::Sight;
use super::sightings::Sightings;
use super::sums::Sums;
use super::sweep::COUNTED_AT;
use super::times::{Moved, Moves};
use super::viewer::{Beat, Viewer};
use super::{AudienceError, Stretch, VIEWING_SESSIONS_MAX};
use crate::{Error, Result};

/// A batch in the making.
pub(super) struct Writing<'a> {
    pub(super) threshold_ms: i64,
    pub(super) now_ms: i64,
    /// Whether others read the same keys, who want more than this program does.
    pub(super) is_shared: bool,
    pub(super) labels: Labels,
    /// By their number in the request.
    pub(super) scopes: Vec<ScopeWriting<'a>>,
    /// The records to write, and what they were.
    pub(super) records: Vec<(Atom, Atom)>,
    pub(super) were: Vec<(Atom, Option<Atom>)>,
}

/// One scope's part of it.
pub(super) struct ScopeWriting<'a> {
    target: &'a Target,
    /// Who was last seen from then on is counted as active.
    counted_from_ms: i64,
    sums: Sums,
    changes: Changes,
    moves: Moves,
}

/// When users without a record were last seen, by number of the scope in the request.
pub(super) type Strangers = HashMap<(u32, Atom), f64, RandomState>;

/// Elements to write, a list a key.
#[derive(Default)]
struct Changes {
    /// Who was last seen when, where others read it too.
    seen: Vec<(Atom, f64)>,
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
    /// Takes a viewer's heartbeats.
    pub(super) fn viewer(
        &mut self,
        user: &Atom,
        sights: &[Sight],
        record: Option<Atom>,
        strangers: &Strangers,
    ) -> Result<()> {
        let mut person = match &record {
            None => Person::default(),
            Some(held) => Person::read(held, &mut self.labels).ok_or_else(|| self.unread(user))?,
        };
        let mut has_changed = self.take(0, user, sights, &mut person, strangers);
        match sights {
            [Sight { scope: 0, .. }] => {}
            [Sight { scope, .. }] => has_changed |= self.take(*scope, user, sights, &mut person, strangers),
            many => {
                let mut many: Vec<Sight> = many.iter().filter(|sight| sight.scope != 0).copied().collect();
                // Those of one session stay in order of time.
                many.sort_by_key(|sight| sight.scope);
                for of_session in many.chunk_by(|a, b| a.scope == b.scope) {
                    has_changed |= self.take(of_session[0].scope, user, of_session, &mut person, strangers);
                }
            }
        }
        if has_changed {
            self.records.push((user.clone(), person.write(&self.labels)));
            self.were.push((user.clone(), record));
        }
        Ok(())
    }

    /// The heartbeats of one scope. Whether they changed anything.
    fn take(&mut self, scope: u32, user: &Atom, sights: &[Sight], person: &mut Person, strangers: &Strangers) -> bool {
        let (labels, threshold_ms) = (&mut self.labels, self.threshold_ms);
        let writing = &mut self.scopes[scope as usize];
        let number = writing.target.number;
        let old = person.get(number).cloned();
        let mut new = old.clone();
        if old.is_none()
            && !strangers.is_empty()
            && let Some(last_ms) = strangers.get(&(scope, user.clone()))
        {
            // Seen by something else that writes these keys: known from now on, with what is known of them.
            let seen = Beat { at_ms: whole_ms(*last_ms), label: labels.number(&format!("{LOCATION_DEFAULT}#")) };
            new = Some(Viewer::new(seen, threshold_ms, &mut writing.sums));
        }
        // Where the latest viewing session was seen: location, until when.
        let mut seen: Vec<(u32, i64)> = Vec::new();
        for Sight { beat, .. } in sights {
            match &mut new {
                Some(viewer) => viewer.take(*beat, threshold_ms, &mut writing.sums),
                None => new = Some(Viewer::new(*beat, threshold_ms, &mut writing.sums)),
            }
            if new.as_ref().is_some_and(|viewer| viewer.last_ms() == beat.at_ms && viewer.label == beat.label) {
                if self.is_shared {
                    seen.push((beat.label, beat.at_ms));
                } else {
                    writing.changes.place(beat.label, labels);
                }
            }
        }
        let Some(mut new) = new.filter(|new| Some(new) != old.as_ref()) else { return false };
        writing.recount(old.as_ref(), &new);
        if self.is_shared {
            writing.changes.places(user, old.as_ref(), &new, &seen, labels);
        }
        writing.stretches(user, old.as_ref(), &new);
        writing.changes.fold(&mut new, person.before_elsewhere(number));
        let changes = &mut writing.changes;
        if !person.has_attended(number) {
            writing.sums.attended += 1;
            if self.is_shared {
                changes.attended.push(user.clone());
            }
        }
        if new.latest.start_ms > self.now_ms {
            changes.ahead.push((user.clone(), new.latest.start_ms as f64));
        }
        let seen = |viewer: &Viewer| (viewer.last_ms(), viewer.label);
        let (before, after) = (old.as_ref().map(seen), seen(&new));
        if before != Some(after) {
            if self.is_shared {
                changes.seen.push((user.clone(), after.0 as f64));
            } else {
                writing.moves.from.extend(before);
                writing.moves.to.push(after);
            }
        }
        person.put(number, new);
        true
    }

    fn unread(&self, user: &Atom) -> Error {
        let key = self.scopes[0].target.keys.statistics();
        Error::Record { key: key.to_string(), why: format!("the record of {user} does not read back") }
    }

    /// Puts all of it into a batch. Returns who was seen at another time than before.
    pub(super) fn finish(self, batch: &mut Batch) -> Result<Moved> {
        if !self.records.is_empty() {
            let key = self.scopes[0].target.keys.statistics();
            batch.guards.push(Guard::Fields { key: key.clone(), are: self.were });
            batch.ops.push(Op::HashSet { key, fields: self.records });
        }
        let mut moved = Moved::default();
        for mut scope in self.scopes {
            moved.scopes.push((scope.target.number, std::mem::take(&mut scope.moves)));
            scope.finish(&self.labels, self.now_ms, batch)?;
        }
        moved.labels = self.labels;
        Ok(moved)
    }
}

impl<'a> ScopeWriting<'a> {
    pub(super) fn new(target: &'a Target, threshold_ms: i64, now_ms: i64) -> Self {
        let counted_from_ms = target.counted_at_ms.unwrap_or(now_ms) - threshold_ms;
        let (sums, changes, moves) = (Sums::default(), Changes::default(), Moves::default());
        Self { target, counted_from_ms, sums, changes, moves }
    }

    fn finish(self, labels: &Labels, now_ms: i64, batch: &mut Batch) -> Result<()> {
        let Target { keys, counted_at_ms, locations, .. } = self.target;
        let new = self.changes.places.keys().filter(|place| !locations.contains(*place));
        let new: Vec<Atom> = new.map(|place| Atom::from(place.as_str())).collect();
        if locations.len() + new.len() > LOCATIONS_MAX {
            return Err(AudienceError::TooManyLocations.into());
        }
        let (key, field) = (keys.live(), Atom::from(COUNTED_AT));
        if counted_at_ms.is_none() {
            batch.ops.push(Op::HashSet { key: key.clone(), fields: vec![(field.clone(), Atom::from(now_ms))] });
        }
        batch.guards.push(Guard::Field { key, field, is: counted_at_ms.map(Atom::from) });
        if !new.is_empty() {
            batch.ops.push(Op::SetAdd { key: keys.locations(), members: new });
        }
        self.sums.ops(keys, labels, &mut batch.ops);
        self.changes.ops(keys, &mut batch.ops);
        batch.ops.push(Op::Publish { channel: keys.channel(), message: Box::default() });
        Ok(())
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

    /// What differs in the starts and ends of viewing sessions.
    fn stretches(&mut self, user: &Atom, old: Option<&Viewer>, new: &Viewer) {
        if old.is_some_and(|old| old.latest.start_ms == new.latest.start_ms && old.before == new.before) {
            return;
        }
        let began = |viewer: &Viewer, start_ms: i64| {
            viewer.latest.start_ms == start_ms || ended_at(&viewer.before, start_ms).is_some()
        };
        for stretch in old.iter().flat_map(|old| old.stretches()).filter(|stretch| !began(new, stretch.start_ms)) {
            self.sums.joined.add(stretch.start_ms, -1);
        }
        let is_new = |stretch: &Stretch| old.is_none_or(|old| !began(old, stretch.start_ms));
        for stretch in new.stretches().filter(is_new) {
            self.sums.joined.add(stretch.start_ms, 1);
        }
        let old: &[Stretch] = old.map_or(&[], |old| &old.before);
        for stretch in old.iter().filter(|stretch| ended_at(&new.before, stretch.start_ms).is_none()) {
            self.changes.joined.push(stretch_member(user, stretch.start_ms));
        }
        for stretch in new.before.iter().filter(|stretch| ended_at(old, stretch.start_ms) != Some(stretch.end_ms)) {
            self.changes.ended.push((stretch_member(user, stretch.start_ms), stretch.end_ms as f64));
        }
    }
}

/// When the viewing session that began at a time ended, if it is one of these.
fn ended_at(stretches: &[Stretch], start_ms: i64) -> Option<i64> {
    let at = stretches.binary_search_by_key(&start_ms, |stretch| stretch.start_ms).ok()?;
    Some(stretches[at].end_ms)
}

impl Changes {
    /// Forgets the oldest viewing sessions of one who has too many.
    fn fold(&mut self, viewer: &mut Viewer, elsewhere: usize) {
        let excess = (viewer.before.len() + elsewhere).saturating_sub(VIEWING_SESSIONS_MAX).min(viewer.before.len());
        for stretch in viewer.before.drain(..excess) {
            self.folded.push((Atom::from(stretch.end_ms - stretch.start_ms), Number::Int(1)));
        }
    }

    /// Notes the location of a label.
    fn place(&mut self, label: u32, labels: &Labels) {
        if self.placed.insert(label) {
            self.places.entry(label::location(labels.text(label)).to_owned()).or_default();
        }
    }

    /// The latest viewing session in the sorted sets of the locations it was seen from.
    fn places(&mut self, user: &Atom, old: Option<&Viewer>, new: &Viewer, seen: &[(u32, i64)], labels: &Labels) {
        let latest = new.latest;
        let old_location = old.map(|old| label::location(labels.text(old.label)).to_owned());
        let has_moved_start = old.map(|old| old.latest.start_ms) != Some(latest.start_ms);
        let mut touched: BTreeMap<&str, Option<i64>> = BTreeMap::new();
        if let (Some(location), true) =
            (&old_location, has_moved_start && old.is_some_and(|old| old.last_ms() >= latest.start_ms))
        {
            touched.insert(location, None);
        }
        for (label, at_ms) in seen.iter().filter(|(_, at_ms)| *at_ms >= latest.start_ms) {
            touched.insert(label::location(labels.text(*label)), Some(*at_ms));
        }
        for (location, end_ms) in touched {
            let place = self.places.entry(location.to_owned()).or_default();
            if has_moved_start || old_location.as_deref() != Some(location) {
                place.starts.push((user.clone(), latest.start_ms as f64));
            }
            if let Some(end_ms) = end_ms {
                place.ends.push((user.clone(), end_ms as f64));
            }
        }
    }

    fn ops(self, keys: &ScopeKeys, ops: &mut Vec<Op>) {
        if !self.seen.is_empty() {
            ops.push(Sightings::of(keys).addition(self.seen));
        }
        let add = |ops: &mut Vec<Op>, key: Key, members: Vec<(Atom, f64)>| {
            if !members.is_empty() {
                ops.push(Op::SortedAdd { key, when: AddWhen::Always, members });
            }
        };
        if !self.joined.is_empty() {
            ops.push(Op::SortedRemove { key: keys.ended(), members: self.joined });
        }
        add(ops, keys.ahead(), self.ahead);
        add(ops, keys.ended(), self.ended);
        for (location, place) in self.places {
            add(ops, keys.viewing_start(&location), place.starts);
            add(ops, keys.viewing_end(&location), place.ends);
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
