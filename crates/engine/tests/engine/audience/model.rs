//! An audience that keeps every heartbeat and counts them all whenever it is asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tickmark_engine::audience::{Peak, RECORD_MS, Statistics, Stretch, Viewing};

#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) user: String,
    pub(super) session: Option<String>,
    pub(super) country: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) at_ms: i64,
}

/// One scope.
#[derive(Debug)]
pub(super) struct Model {
    threshold_ms: i64,
    /// Of each user, in the order they came.
    heartbeats: HashMap<String, Vec<Sent>>,
}

impl Model {
    pub(super) fn new(threshold_ms: i64) -> Self {
        Self { threshold_ms, heartbeats: HashMap::new() }
    }

    /// Takes the heartbeats of a request, which are taken in order of time.
    pub(super) fn take(&mut self, sent: &[Sent]) {
        let mut sorted: Vec<&Sent> = sent.iter().collect();
        sorted.sort_by_key(|sent| sent.at_ms);
        for sent in sorted {
            self.heartbeats.entry(sent.user.clone()).or_default().push(sent.clone());
        }
    }

    pub(super) fn active(&self, now_ms: i64) -> u64 {
        self.heartbeats.values().filter(|sent| self.is_active(sent, now_ms)).count() as u64
    }

    pub(super) fn active_within(&self, within_ms: i64, now_ms: i64) -> u64 {
        let last_ms = self.heartbeats.values().filter_map(|sent| sent.iter().map(|sent| sent.at_ms).max());
        last_ms.filter(|last_ms| (now_ms - within_ms..=now_ms).contains(last_ms)).count() as u64
    }

    pub(super) fn attended(&self) -> u64 {
        self.heartbeats.len() as u64
    }

    pub(super) fn users(&self) -> BTreeSet<String> {
        self.heartbeats.keys().cloned().collect()
    }

    pub(super) fn sessions(&self, user: &str) -> Vec<Stretch> {
        let mut times: Vec<i64> = self.heartbeats[user].iter().map(|sent| sent.at_ms).collect();
        times.sort_unstable();
        let chunks = times.chunk_by(|a, b| b - a <= self.threshold_ms);
        chunks.map(|chunk| Stretch { start_ms: chunk[0], end_ms: chunk[chunk.len() - 1] }).collect()
    }

    pub(super) fn viewing(&self) -> Viewing {
        let mut durations: Vec<u64> = Vec::new();
        for user in self.heartbeats.keys() {
            durations
                .extend(self.sessions(user).iter().map(|stretch| (stretch.end_ms - stretch.start_ms).unsigned_abs()));
        }
        durations.sort_unstable();
        let count = durations.len();
        let median_ms =
            (count > 0).then(|| f64::midpoint(durations[(count - 1) / 2] as f64, durations[count / 2] as f64));
        Viewing {
            viewers: self.heartbeats.len() as u64,
            viewing_sessions: count as u64,
            duration_ms: durations.iter().sum(),
            median_ms,
        }
    }

    /// Plays all viewing sessions from beginning to end.
    pub(super) fn peak(&self) -> Peak {
        let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
        for user in self.heartbeats.keys() {
            for stretch in self.sessions(user) {
                *changes.entry(stretch.start_ms).or_default() += 1;
                *changes.entry(stretch.end_ms + self.threshold_ms + 1).or_default() -= 1;
            }
        }
        let (mut active, mut peak) = (0, Peak::default());
        for (at_ms, change) in changes {
            active += change;
            if u64::try_from(active).unwrap() > peak.viewers {
                peak = Peak { viewers: u64::try_from(active).unwrap(), at_ms: Some(at_ms) };
            }
        }
        peak
    }

    /// Each active user once, by their latest heartbeat.
    pub(super) fn live(&self, now_ms: i64) -> Statistics {
        let mut statistics = Statistics { at_ms: now_ms, ..Statistics::default() };
        for sent in self.heartbeats.values().filter(|sent| self.is_active(sent, now_ms)) {
            // The first of those at the same time.
            let latest = sent.iter().rev().max_by_key(|sent| sent.at_ms).unwrap();
            count(&mut statistics, latest);
        }
        statistics
    }

    /// Each user who was active then once, by what counts them then.
    pub(super) fn record(&self, at_ms: i64) -> Statistics {
        let mut statistics = Statistics { at_ms, ..Statistics::default() };
        for sent in self.heartbeats.values().filter(|sent| self.is_active(sent, at_ms)) {
            count(&mut statistics, self.counted_by(sent, at_ms));
        }
        statistics
    }

    pub(super) fn record_times(&self, now_ms: i64) -> Vec<i64> {
        let all = || self.heartbeats.values().flatten();
        let Some(first_ms) = all().map(|sent| sent.at_ms).min() else { return Vec::new() };
        let last_ms = all().map(|sent| sent.at_ms + self.threshold_ms).max().unwrap().min(now_ms);
        let covered = |number: &i64| {
            all().any(|sent| (sent.at_ms..=sent.at_ms + self.threshold_ms).contains(&(number * RECORD_MS)))
        };
        let numbers: Vec<i64> = (first_ms / RECORD_MS..=last_ms / RECORD_MS).filter(covered).collect();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Vec::new() };
        (*first..=*last).map(|number| number * RECORD_MS).collect()
    }

    fn is_active(&self, sent: &[Sent], at_ms: i64) -> bool {
        sent.iter().any(|sent| sent.at_ms <= at_ms && at_ms <= sent.at_ms + self.threshold_ms)
    }

    /// A heartbeat later than all before it counts its user from then on. One that comes late counts them only at times
    /// that nothing before made them active at.
    fn counted_by<'a>(&self, sent: &'a [Sent], at_ms: i64) -> &'a Sent {
        let (mut latest_ms, mut counted_by) = (i64::MIN, None);
        for sent in sent {
            let makes_active = sent.at_ms <= at_ms && at_ms <= sent.at_ms + self.threshold_ms;
            if (sent.at_ms > latest_ms && sent.at_ms <= at_ms && (makes_active || counted_by.is_some()))
                || (makes_active && counted_by.is_none())
            {
                counted_by = Some(sent);
            }
            latest_ms = latest_ms.max(sent.at_ms);
        }
        counted_by.unwrap()
    }
}

fn count(statistics: &mut Statistics, sent: &Sent) {
    statistics.viewers += 1;
    for group in sent.groups.iter().collect::<BTreeSet<_>>() {
        *statistics.by_group.entry(group.clone()).or_default() += 1;
    }
    if let Some(country) = &sent.country {
        *statistics.by_country.entry(country.clone()).or_default() += 1;
    }
}
