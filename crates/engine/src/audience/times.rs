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

const SECOND_MS: i64 = 1_000;
/// Up to so many changes to a second are made in place; more are merged into it.
const IN_PLACE_MAX: usize = 16;
/// Up to so many labels are remembered though nobody may have them any more.
const LABELS_IDLE_MAX: usize = 10_000;

/// By scope: the number of its part in the records of viewers.
#[derive(Debug, Default)]
pub(super) struct Times {
    scopes: HashMap<u32, Seconds, RandomState>,
    labels: Labels,
    viewers: usize,
    /// Batches that are in it; none when it can no longer be relied on.
    batches: Option<i64>,
    /// Those that were in it from the beginning.
    edition: i64,
}

/// Who was last seen in each second since 1970, in order.
type Seconds = BTreeMap<i64, Vec<Instant>>;

/// An instant of a second, and the number of what the viewer's latest heartbeat said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instant {
    ms: u16,
    label: u32,
}

/// What a batch changes.
#[derive(Debug, Default)]
pub struct Moved {
    pub(super) scopes: Vec<(u32, Moves)>,
    /// What the numbers of labels stand for.
    pub(super) labels: Labels,
}

impl Moved {
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
        self.batches == Some(batches)
    }

    pub(super) fn labels(&mut self) -> &mut Labels {
        &mut self.labels
    }

    /// Adds somebody whose record was read with the labels of this.
    pub(super) fn add(&mut self, person: &Person) {
        for (scope, viewer) in person.viewers() {
            let (second, instant) = place(viewer.last_ms(), viewer.label);
            self.scopes.entry(scope).or_default().entry(second).or_default().push(instant);
            self.viewers += 1;
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
        let mut is_right = true;
        for (scope, moves) in moved.scopes {
            let seconds = self.scopes.entry(scope).or_default();
            self.viewers = (self.viewers + moves.to.len()).saturating_sub(moves.from.len());
            for (second, gone) in by_second(moves.from, &labels) {
                is_right &= take(seconds, second, &gone);
            }
            for (second, come) in by_second(moves.to, &labels) {
                put(seconds.entry(second).or_default(), &come);
            }
        }
        let is_worn = self.labels.len() > LABELS_IDLE_MAX.max(2 * self.viewers);
        self.batches = self.batches.map(|batches| batches + 1).filter(|_| is_right && !is_worn);
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
        let seconds = self.scopes.get(&scope).filter(|_| range.start < range.end);
        seconds.into_iter().flat_map(move |seconds| {
            seconds.range(from.0..=to.0).map(move |(second, instants)| {
                let start = if *second == from.0 { instants.partition_point(|at| *at < from.1) } else { 0 };
                let end = if *second == to.0 { instants.partition_point(|at| *at < to.1) } else { instants.len() };
                &instants[start..end]
            })
        })
    }
}

/// The second of a time, and where in it.
fn place(at_ms: i64, label: u32) -> (i64, Instant) {
    let ms = u16::try_from(at_ms.rem_euclid(SECOND_MS)).unwrap_or(0);
    (at_ms.div_euclid(SECOND_MS), Instant { ms, label })
}

/// Times and labels of a request, sorted, second by second.
fn by_second(times: Vec<(i64, u32)>, labels: &[u32]) -> Vec<(i64, Vec<Instant>)> {
    let mut places: Vec<(i64, Instant)> =
        times.into_iter().map(|(at_ms, label)| place(at_ms, labels[label as usize])).collect();
    places.sort_unstable();
    let seconds = places.chunk_by(|(a, _), (b, _)| a == b);
    seconds.map(|places| (places[0].0, places.iter().map(|(_, instant)| *instant).collect())).collect()
}

fn put(instants: &mut Vec<Instant>, come: &[Instant]) {
    if come.len() > IN_PLACE_MAX || instants.is_empty() {
        instants.reserve_exact(come.len());
        instants.extend_from_slice(come);
        // Two sorted runs, which this sort merges.
        instants.sort();
        return;
    }
    for instant in come {
        let at = instants.partition_point(|other| other < instant);
        instants.insert(at, *instant);
    }
}

/// Whether all of them were there.
fn take(seconds: &mut Seconds, second: i64, gone: &[Instant]) -> bool {
    let Some(instants) = seconds.get_mut(&second) else { return false };
    let before = instants.len();
    if gone.len() > IN_PLACE_MAX {
        let mut gone = gone.iter().peekable();
        // One that is not there stops those after it, and then too few have gone.
        instants.retain(|instant| gone.next_if(|gone| *gone == instant).is_none());
    } else {
        for instant in gone {
            if let Ok(at) = instants.binary_search(instant) {
                instants.remove(at);
            }
        }
    }
    let is_right = before - instants.len() == gone.len();
    if instants.is_empty() {
        seconds.remove(&second);
    } else if instants.capacity() > 2 * instants.len() + IN_PLACE_MAX {
        instants.shrink_to_fit();
    }
    is_right
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few seconds, so that many changes come together in one.
    fn time() -> impl Strategy<Value = (i64, u32)> {
        (-2_000_i64..2_000, 0_u32..3)
    }

    fn moved(from: Vec<(i64, u32)>, to: Vec<(i64, u32)>) -> Moved {
        let mut labels = Labels::default();
        for text in ["web#HK", "web#DE", "app#"] {
            labels.number(text);
        }
        Moved { scopes: vec![(7, Moves { from, to })], labels }
    }

    proptest! {
        #[test]
        fn counts_what_is_there(
            batches in prop::collection::vec((prop::collection::vec(time(), 0..60), 0_usize..60), 1..8),
            ranges in prop::collection::vec((-2_500_i64..2_500, 0_i64..3_000), 1..8),
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
    fn taking_out_what_is_not_there_is_noticed() {
        for stranger in [(5, 0), (4, 1), (3_000, 0)] {
            let mut times = Times::new(3);
            times.follow(Some(3), moved(Vec::new(), vec![(4, 0), (6, 0)]));
            assert!(times.is_fresh(4));
            times.follow(Some(3), moved(vec![stranger], vec![(9, 0)]));
            assert!(!times.is_fresh(5), "{stranger:?}");
        }
        let many: Vec<(i64, u32)> = (0..40).map(|at_ms| (at_ms, 0)).collect();
        let mut times = Times::new(0);
        times.follow(Some(0), moved(Vec::new(), many.clone()));
        times.follow(Some(0), moved(many.into_iter().map(|(at_ms, _)| (at_ms + 1, 0)).collect(), Vec::new()));
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
            times.follow(Some(0), Moved { scopes: vec![(0, Moves { from, to: vec![(1, now)] })], labels });
            times.batches.is_some()
        };
        assert!((1..LABELS_IDLE_MAX).all(&mut follow));
        assert!(!follow(LABELS_IDLE_MAX));
    }
}
