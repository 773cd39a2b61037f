//! One viewer of one scope: when they watched, and what their latest heartbeat said.
//!
//! A heartbeat makes its viewer active from then until the threshold later. Heartbeats no further apart than that are one
//! viewing session, so a viewer is active exactly from the start of each viewing session until the threshold after its
//! end, and these stretches never overlap. What a heartbeat changes is therefore at most one stretch of time in which the
//! viewer was not active and now is: it is told to a [`Ledger`], and everything that is counted follows from that.

use super::Stretch;

/// What is known of a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Viewer {
    /// When they were first seen. Viewing sessions that long ago may no longer be known.
    pub(super) first_ms: i64,
    /// Viewing sessions before the latest, in order.
    pub(super) before: Vec<Stretch>,
    /// The latest viewing session.
    pub(super) latest: Stretch,
    /// The number of what the latest heartbeat said.
    pub(super) label: u32,
}

/// One heartbeat of a known viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beat {
    pub(super) at_ms: i64,
    pub(super) label: u32,
}

/// What hears of the changes.
pub(super) trait Ledger {
    /// The viewer became active from one time to another, both included, counted under a label.
    fn covered(&mut self, from_ms: i64, to_ms: i64, label: u32);
    /// In a stretch that the viewer was active in anyway, what they are counted under is another label.
    fn relabelled(&mut self, from_ms: i64, to_ms: i64, old: u32, new: u32);
    /// Viewing sessions and their summed durations changed by this much.
    fn viewed(&mut self, sessions: i64, duration_ms: i64);
}

impl Viewer {
    /// Someone's first heartbeat.
    pub(super) fn new(beat: Beat, threshold_ms: i64, ledger: &mut impl Ledger) -> Self {
        ledger.covered(beat.at_ms, beat.at_ms + threshold_ms, beat.label);
        ledger.viewed(1, 0);
        let latest = Stretch { start_ms: beat.at_ms, end_ms: beat.at_ms };
        Self { first_ms: beat.at_ms, before: Vec::new(), latest, label: beat.label }
    }

    pub(super) fn last_ms(&self) -> i64 {
        self.latest.end_ms
    }

    /// All viewing sessions, in order.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        self.before.iter().copied().chain([self.latest])
    }

    pub(super) fn is_active(&self, at_ms: i64, threshold_ms: i64) -> bool {
        self.stretches().any(|stretch| stretch.start_ms <= at_ms && at_ms <= stretch.end_ms + threshold_ms)
    }

    pub(super) fn take(&mut self, beat: Beat, threshold_ms: i64, ledger: &mut impl Ledger) {
        let last_ms = self.last_ms();
        if beat.at_ms <= last_ms {
            return self.take_late(beat, threshold_ms, ledger);
        }
        if beat.label != self.label {
            if beat.at_ms <= last_ms + threshold_ms {
                ledger.relabelled(beat.at_ms, last_ms + threshold_ms, self.label, beat.label);
            }
            self.label = beat.label;
        }
        ledger.covered(beat.at_ms.max(last_ms + threshold_ms + 1), beat.at_ms + threshold_ms, beat.label);
        if beat.at_ms - last_ms <= threshold_ms {
            ledger.viewed(0, beat.at_ms - last_ms);
            self.latest.end_ms = beat.at_ms;
        } else {
            ledger.viewed(1, 0);
            self.before.push(self.latest);
            self.latest = Stretch { start_ms: beat.at_ms, end_ms: beat.at_ms };
        }
    }

    /// One that is not the latest: it fills a gap, or changes nothing. What it says is not what the latest says, so only
    /// the time that it adds is counted under its label.
    fn take_late(&mut self, beat: Beat, threshold_ms: i64, ledger: &mut impl Ledger) {
        let at_ms = beat.at_ms;
        self.first_ms = self.first_ms.min(at_ms);
        // The first viewing session that ends at or after the heartbeat; there is one, because the heartbeat is late.
        let next = self.before.partition_point(|stretch| stretch.end_ms < at_ms);
        let after = self.before.get(next).copied().unwrap_or(self.latest);
        if after.start_ms <= at_ms {
            return;
        }
        let before = next.checked_sub(1).and_then(|index| self.before.get(index)).copied();
        let from_ms = before.map_or(at_ms, |before| at_ms.max(before.end_ms + threshold_ms + 1));
        let to_ms = (at_ms + threshold_ms).min(after.start_ms - 1);
        if from_ms <= to_ms {
            ledger.covered(from_ms, to_ms, beat.label);
        }
        let joins_before = before.filter(|before| at_ms - before.end_ms <= threshold_ms);
        let joins_after = after.start_ms - at_ms <= threshold_ms;
        match (joins_before, joins_after) {
            (Some(before), true) => {
                ledger.viewed(-1, after.start_ms - before.end_ms);
                self.nth_mut(next).start_ms = before.start_ms;
                self.before.remove(next - 1);
            }
            (Some(before), false) => {
                ledger.viewed(0, at_ms - before.end_ms);
                self.nth_mut(next - 1).end_ms = at_ms;
            }
            (None, true) => {
                ledger.viewed(0, after.start_ms - at_ms);
                self.nth_mut(next).start_ms = at_ms;
            }
            (None, false) => {
                ledger.viewed(1, 0);
                self.before.insert(next, Stretch { start_ms: at_ms, end_ms: at_ms });
            }
        }
    }

    fn nth_mut(&mut self, index: usize) -> &mut Stretch {
        self.before.get_mut(index).unwrap_or(&mut self.latest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const THRESHOLD_MS: i64 = 10;

    /// Activity instant by instant, and sums.
    #[derive(Default)]
    struct Slow {
        active: BTreeMap<i64, u32>,
        sessions: i64,
        duration_ms: i64,
    }

    impl Ledger for Slow {
        fn covered(&mut self, from_ms: i64, to_ms: i64, label: u32) {
            for at in from_ms..=to_ms {
                assert_eq!(self.active.insert(at, label), None, "{at} was covered already");
            }
        }

        fn relabelled(&mut self, from_ms: i64, to_ms: i64, old: u32, new: u32) {
            for at in from_ms..=to_ms {
                assert_eq!(self.active.insert(at, new), Some(old), "{at} was not covered by that label");
            }
        }

        fn viewed(&mut self, sessions: i64, duration_ms: i64) {
            self.sessions += sessions;
            self.duration_ms += duration_ms;
        }
    }

    proptest! {
        /// Whatever order heartbeats come in, activity is the union of what each makes active, and the viewing sessions are
        /// those of the sorted heartbeats.
        #[test]
        fn any_order(times in prop::collection::vec((0_i64..200, 0_u32..3), 1..40)) {
            let mut ledger = Slow::default();
            let mut viewer: Option<Viewer> = None;
            for (at_ms, label) in &times {
                let beat = Beat { at_ms: *at_ms, label: *label };
                match &mut viewer {
                    Some(viewer) => viewer.take(beat, THRESHOLD_MS, &mut ledger),
                    None => viewer = Some(Viewer::new(beat, THRESHOLD_MS, &mut ledger)),
                }
            }
            let viewer = viewer.unwrap();
            let mut sorted: Vec<i64> = times.iter().map(|(at, _)| *at).collect();
            sorted.sort_unstable();
            let sessions: Vec<Stretch> = sorted
                .chunk_by(|a, b| b - a <= THRESHOLD_MS)
                .map(|chunk| Stretch { start_ms: chunk[0], end_ms: chunk[chunk.len() - 1] })
                .collect();
            prop_assert_eq!(&viewer.stretches().collect::<Vec<_>>(), &sessions);
            prop_assert_eq!(ledger.sessions, i64::try_from(sessions.len()).unwrap());
            prop_assert_eq!(ledger.duration_ms, sessions.iter().map(|stretch| stretch.end_ms - stretch.start_ms).sum::<i64>());
            for at in -5..250 {
                let active = sorted.iter().any(|beat| *beat <= at && at <= beat + THRESHOLD_MS);
                prop_assert_eq!(ledger.active.contains_key(&at), active, "{}", at);
                prop_assert_eq!(viewer.is_active(at, THRESHOLD_MS), active, "{}", at);
            }
        }

        /// In order, each instant has the label of the latest heartbeat before it.
        #[test]
        fn in_order(times in prop::collection::btree_map(0_i64..200, 0_u32..3, 1..40)) {
            let mut ledger = Slow::default();
            let mut viewer: Option<Viewer> = None;
            for (at_ms, label) in &times {
                let beat = Beat { at_ms: *at_ms, label: *label };
                match &mut viewer {
                    Some(viewer) => viewer.take(beat, THRESHOLD_MS, &mut ledger),
                    None => viewer = Some(Viewer::new(beat, THRESHOLD_MS, &mut ledger)),
                }
            }
            for (at, label) in ledger.active {
                prop_assert_eq!(Some(label), times.range(..=at).next_back().map(|(_, label)| *label), "{}", at);
            }
        }
    }
}
