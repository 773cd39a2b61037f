//! When the viewers of an event were last seen, in memory.
//!
//! Where nobody else writes to the store, all of it is in the viewers' records, and keeping it in order there too would cost
//! more than the records themselves. So it is read from them when it is first asked for, and follows every batch of
//! heartbeats from then on. The store counts the batches: times that missed one are read anew.

use std::collections::BTreeMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::label::Labels;
use super::record::Person;

/// Times are held together by tenths of a second: a million viewers who come twice a minute are some thousands in each.
const SLOT_MS: i64 = 100;
/// Up to so many changes to a slot are made in place; more are merged into it.
const IN_PLACE_MAX: usize = 16;
/// More than so many who are still to be put in is a mistake.
const OWED_MAX: usize = 1_000;
/// Up to so many labels are remembered though nobody may have them any more.
const LABELS_IDLE_MAX: usize = 10_000;

/// By scope: the number of its part in the records of viewers.
#[derive(Debug, Default)]
pub(super) struct Times {
    scopes: HashMap<u32, Slots, RandomState>,
    labels: Labels,
    /// In all scopes together.
    entries: usize,
    /// Who was to be taken out before they were put in: of two batches of one viewer, the second may be told first.
    owed: Vec<(u32, i64, Instant)>,
    /// Batches that are in it; none when it can no longer be relied on.
    batches: Option<i64>,
    /// Those that were in it from the beginning.
    edition: i64,
}

/// Who was last seen in each slot since 1970, in order.
type Slots = BTreeMap<i64, Vec<Instant>>;

/// An instant of a slot, and the number of what the viewer's latest heartbeat said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instant {
    ms: u8,
    label: u32,
}

/// What a batch changes.
#[derive(Debug, Default)]
pub struct Moved {
    pub(super) scopes: Vec<(u32, Moves)>,
    /// What the numbers of labels stand for.
    pub(super) labels: Labels,
    /// Whether it is the first of its event.
    pub(super) is_first: bool,
}

impl Moved {
    /// Whether somebody was last seen before a time.
    pub(super) fn reaches_before(&self, at_ms: i64) -> bool {
        self.scopes.iter().any(|(_, moves)| moves.to.iter().any(|(to_ms, _)| *to_ms < at_ms))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scopes.iter().all(|(_, moves)| moves.from.is_empty() && moves.to.is_empty())
    }
}

/// When viewers of a scope were last seen before and after: a time and a label each.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) from: Vec<(i64, u32)>,
    pub(super) to: Vec<(i64, u32)>,
}

impl Times {
    /// Nobody's, with that many batches.
    pub(super) fn new(batches: i64) -> Self {
        Self { batches: Some(batches), edition: batches, ..Self::default() }
    }

    /// Tells these times from others of the same event that were read later.
    pub(super) fn edition(&self) -> i64 {
        self.edition
    }

    pub(super) fn batches(&self) -> Option<i64> {
        self.batches
    }

    /// Whether it has as many batches as there are.
    pub(super) fn is_fresh(&self, batches: i64) -> bool {
        self.batches == Some(batches) && self.owed.is_empty()
    }

    pub(super) fn labels(&mut self) -> &mut Labels {
        &mut self.labels
    }

    /// Adds somebody whose record was read with the labels of this.
    pub(super) fn add(&mut self, person: &Person) {
        for (scope, viewer) in person.viewers() {
            let (slot, instant) = place(viewer.last_ms(), viewer.label);
            self.scopes.entry(scope).or_default().entry(slot).or_default().push(instant);
            self.entries += 1;
        }
    }

    /// To be called once everybody was added.
    pub(super) fn sort(&mut self) {
        for instants in self.scopes.values_mut().flat_map(BTreeMap::values_mut) {
            instants.sort_unstable();
            instants.shrink_to_fit();
        }
    }

    /// Follows a batch that was begun when there was that edition, if any. Another may have the batch already, or not.
    pub(super) fn follow(&mut self, edition: Option<i64>, moved: Moved) {
        if edition != Some(self.edition) {
            self.batches = None;
            return;
        }
        let labels: Vec<u32> = moved.labels.texts().map(|text| self.labels.number(text)).collect();
        for (scope, moves) in moved.scopes {
            let slots = self.scopes.entry(scope).or_default();
            self.entries = (self.entries + moves.to.len()).saturating_sub(moves.from.len());
            for (slot, come) in by_slot(moves.to, &labels) {
                let is_new = |instant: &Instant| !settled(&mut self.owed, (scope, slot, *instant));
                let come: Vec<Instant> = come.into_iter().filter(is_new).collect();
                if !come.is_empty() {
                    put(slots.entry(slot).or_default(), come);
                }
            }
            for (slot, gone) in by_slot(moves.from, &labels) {
                self.owed.extend(take(slots, slot, &gone).into_iter().map(|instant| (scope, slot, instant)));
            }
        }
        let is_worn = self.labels.len() > LABELS_IDLE_MAX.max(2 * self.entries) || self.owed.len() > OWED_MAX;
        self.batches = self.batches.map(|batches| batches + 1).filter(|_| !is_worn);
    }

    /// How many were last seen from one time to before another.
    pub(super) fn count(&self, scope: u32, range: &Range<i64>) -> u64 {
        self.within(scope, range).map(|instants| instants.len() as u64).sum()
    }

    /// The same by label.
    pub(super) fn by_label(&self, scope: u32, range: &Range<i64>) -> Vec<(&str, i64)> {
        let mut counts: HashMap<u32, i64, RandomState> = HashMap::default();
        for instant in self.within(scope, range).flatten() {
            *counts.entry(instant.label).or_default() += 1;
        }
        counts.into_iter().map(|(label, count)| (self.labels.text(label), count)).collect()
    }

    fn within(&self, scope: u32, range: &Range<i64>) -> impl Iterator<Item = &[Instant]> {
        let (from, to) = (place(range.start, 0), place(range.end, 0));
        let slots = self.scopes.get(&scope).filter(|_| range.start < range.end);
        slots.into_iter().flat_map(move |slots| {
            slots.range(from.0..=to.0).map(move |(slot, instants)| {
                let start = if *slot == from.0 { instants.partition_point(|at| *at < from.1) } else { 0 };
                let end = if *slot == to.0 { instants.partition_point(|at| *at < to.1) } else { instants.len() };
                &instants[start..end]
            })
        })
    }
}

/// The slot of a time, and where in it.
fn place(at_ms: i64, label: u32) -> (i64, Instant) {
    let ms = u8::try_from(at_ms.rem_euclid(SLOT_MS)).unwrap_or(0);
    (at_ms.div_euclid(SLOT_MS), Instant { ms, label })
}

/// Times and labels of a request, sorted, slot by slot.
fn by_slot(times: Vec<(i64, u32)>, labels: &[u32]) -> Vec<(i64, Vec<Instant>)> {
    let mut places: Vec<(i64, Instant)> =
        times.into_iter().map(|(at_ms, label)| place(at_ms, labels[label as usize])).collect();
    places.sort_unstable();
    let slots = places.chunk_by(|(a, _), (b, _)| a == b);
    slots.map(|places| (places[0].0, places.iter().map(|(_, instant)| *instant).collect())).collect()
}

/// Whether somebody is owed, and then no longer.
fn settled(owed: &mut Vec<(u32, i64, Instant)>, come: (u32, i64, Instant)) -> bool {
    let at = owed.iter().position(|owed| *owed == come);
    at.map(|at| owed.swap_remove(at)).is_some()
}

fn put(instants: &mut Vec<Instant>, come: Vec<Instant>) {
    if come.len() > IN_PLACE_MAX || instants.is_empty() {
        instants.reserve_exact(come.len());
        instants.extend(come);
        // Two sorted runs, which this sort merges.
        instants.sort();
        return;
    }
    for instant in come {
        let at = instants.partition_point(|other| *other < instant);
        instants.insert(at, instant);
    }
}

/// Takes some out. Returns those who were not there.
fn take(slots: &mut Slots, slot: i64, gone: &[Instant]) -> Vec<Instant> {
    let Some(instants) = slots.get_mut(&slot) else { return gone.to_vec() };
    let mut missing = Vec::new();
    if gone.len() > IN_PLACE_MAX {
        let mut gone = gone.iter().copied().peekable();
        instants.retain(|instant| {
            while let Some(earlier) = gone.next_if(|gone| gone < instant) {
                missing.push(earlier);
            }
            gone.next_if_eq(instant).is_none()
        });
        missing.extend(gone);
    } else {
        for instant in gone {
            match instants.binary_search(instant) {
                Ok(at) => drop(instants.remove(at)),
                Err(_) => missing.push(*instant),
            }
        }
    }
    if instants.is_empty() {
        slots.remove(&slot);
    } else if instants.capacity() > 2 * instants.len() + IN_PLACE_MAX {
        instants.shrink_to_fit();
    }
    missing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few slots, so that many changes come together in one.
    fn time() -> impl Strategy<Value = (i64, u32)> {
        (-200_i64..200, 0_u32..3)
    }

    fn moved(from: Vec<(i64, u32)>, to: Vec<(i64, u32)>) -> Moved {
        let mut labels = Labels::default();
        for text in ["web#HK", "web#DE", "app#"] {
            labels.number(text);
        }
        Moved { scopes: vec![(7, Moves { from, to })], labels, is_first: false }
    }

    proptest! {
        #[test]
        fn counts_what_is_there(
            batches in prop::collection::vec((prop::collection::vec(time(), 0..60), 0_usize..60), 1..8),
            ranges in prop::collection::vec((-250_i64..250, 0_i64..300), 1..8),
        ) {
            let mut times = Times::new(0);
            let mut there: Vec<(i64, u32)> = Vec::new();
            for (to, gone) in batches {
                let from: Vec<_> = there.drain(..gone.min(there.len())).collect();
                there.extend(&to);
                times.follow(Some(0), moved(from, to));
            }
            prop_assert!(times.batches.is_some());
            for (start, length) in ranges {
                let range = start..start + length;
                let here: Vec<_> = there.iter().filter(|(at_ms, _)| range.contains(at_ms)).collect();
                prop_assert_eq!(times.count(7, &range), here.len() as u64);
                let of_label = here.iter().filter(|(_, label)| *label == 1).count();
                let found = times.by_label(7, &range).into_iter().find(|(label, _)| *label == "web#DE");
                prop_assert_eq!(found.map_or(0, |(_, count)| count), i64::try_from(of_label).unwrap());
                prop_assert_eq!(times.count(8, &range), 0);
            }
        }
    }

    #[test]
    fn the_second_batch_of_a_viewer_may_be_told_first() {
        let many: Vec<(i64, u32)> = (0..40).map(|at_ms| (at_ms, 0)).collect();
        for viewers in [&many[..1], &many[..]] {
            let later = |by_ms: i64| viewers.iter().map(|(at_ms, label)| (at_ms + by_ms, *label)).collect::<Vec<_>>();
            let mut times = Times::new(3);
            times.follow(Some(3), moved(Vec::new(), later(0)));
            assert!(times.is_fresh(4));
            times.follow(Some(3), moved(later(1_000), later(2_000)));
            assert!(!times.is_fresh(5));
            times.follow(Some(3), moved(later(0), later(1_000)));
            assert!(times.is_fresh(6));
            assert_eq!(times.count(7, &(0..2_000)), 0);
            assert_eq!(times.count(7, &(2_000..2_040)), viewers.len() as u64);
        }
    }

    #[test]
    fn who_is_owed_for_ever_is_noticed() {
        let mut times = Times::new(0);
        times.follow(Some(0), moved(vec![(5, 0)], vec![(9, 0)]));
        assert!(!times.is_fresh(1));
        let strangers = (0..=1_000).map(|at_ms| (at_ms, 0)).collect();
        times.follow(Some(0), moved(strangers, Vec::new()));
        assert_eq!(times.batches, None);
    }

    #[test]
    fn a_batch_begun_before_they_were_read_is_not_followed() {
        for edition in [None, Some(2)] {
            let mut times = Times::new(3);
            times.follow(edition, moved(Vec::new(), vec![(4, 0)]));
            assert_eq!((times.batches, times.count(7, &(0..9))), (None, 0));
        }
    }

    #[test]
    fn labels_that_nobody_has_are_not_kept_for_ever() {
        let mut times = Times::new(0);
        let mut follow = |number: usize| {
            let mut labels = Labels::default();
            let [before, now] = [number - 1, number].map(|number| labels.number(&format!("web##{number}")));
            let from = if number == 1 { Vec::new() } else { vec![(1, before)] };
            times.follow(
                Some(0),
                Moved { scopes: vec![(0, Moves { from, to: vec![(1, now)] })], labels, is_first: false },
            );
            times.batches.is_some()
        };
        assert!((1..LABELS_IDLE_MAX).all(&mut follow));
        assert!(!follow(LABELS_IDLE_MAX));
    }
}
