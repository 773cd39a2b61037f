//! When to look again at something that grows old: often at first, then ever less.
//!
//! The first tick is at age 0; after a tick at age a the next is min(cap, round(tick · (a / 86400 + 1)^decay)) seconds
//! later. So all ticks follow from the settings alone, and the next one can be found again after any interruption
//! without remembering the last.
//!
//! To find it, ticks are not walked one by one, which for a fixed interval of a second would be millions. Intervals are
//! whole seconds and so stay the same for a while: ticks come in stretches, and each stretch is one step.

use std::iter;
use std::ops::RangeInclusive;

const DAY_SECONDS: f64 = 86_400.0;
/// Windows end here at the latest: 34,000 years, far past every time that is accepted.
const MAX_AGE: u64 = 1 << 40;

/// A schedule that slows as its subject ages. Ages are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The first interval.
    pub tick_seconds: u64,
    /// The longest interval.
    pub cap_seconds: u64,
    /// 0 is a fixed interval.
    pub decay: f64,
    /// The ages at which there are ticks, both ends included.
    pub window: RangeInclusive<u64>,
}

/// Ticks at equal intervals.
struct Stretch {
    first: u64,
    interval: u64,
    count: u64,
}

impl Schedule {
    /// How long after a tick at an age the next one is: at least a second, whatever the settings.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is then limited")]
    pub fn interval_seconds(&self, age: u64) -> u64 {
        let interval = self.tick_seconds as f64 * (age as f64 / DAY_SECONDS + 1.0).powf(self.decay);
        (interval.round() as u64).min(self.cap_seconds).max(1)
    }

    /// The age of the first tick that is later than an age and in the window. Before the start (a negative age) that
    /// is the first of all.
    pub fn next_after(&self, age: i64) -> Option<u64> {
        // Ticks are at whole seconds: later than the age before the window is in it.
        let least = u64::try_from(age.saturating_add(1)).unwrap_or(0).max(*self.window.start());
        self.stretches().find_map(|stretch| {
            let steps = least.saturating_sub(stretch.first).div_ceil(stretch.interval);
            (steps < stretch.count).then(|| stretch.first + steps * stretch.interval)
        })
    }

    /// How many ticks there are in the window at some ages, both ends included.
    pub fn count(&self, ages: RangeInclusive<u64>) -> u64 {
        let least = *ages.start().max(self.window.start());
        let most = *ages.end();
        let until = |stretch: &Stretch, age: u64| {
            age.checked_sub(stretch.first).map_or(0, |past| (past / stretch.interval + 1).min(stretch.count))
        };
        self.stretches()
            .take_while(|stretch| stretch.first <= most)
            .map(|stretch| {
                let before = least.checked_sub(1).map_or(0, |age| until(&stretch, age));
                until(&stretch, most).saturating_sub(before)
            })
            .sum()
    }

    /// All ticks from age 0 to the end of the window.
    fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let mut next = Some(0);
        iter::from_fn(move || {
            let first = next.filter(|age| *age <= self.last_age())?;
            let stretch = self.stretch(first);
            next = stretch.interval.checked_mul(stretch.count).and_then(|length| first.checked_add(length));
            Some(stretch)
        })
    }

    fn last_age(&self) -> u64 {
        *self.window.end().min(&MAX_AGE)
    }

    /// The ticks from one on that are followed after the same interval, as far as the window goes.
    fn stretch(&self, first: u64) -> Stretch {
        let interval = self.interval_seconds(first);
        let in_window = (self.last_age() - first) / interval + 1;
        let same = |steps: u64| self.interval_seconds(first + steps * interval) == interval;
        // Between `same` and not `same`: doubled until it is not, then halved to where it begins not to be.
        let (mut low, mut high) = (0, 1);
        while high < in_window && same(high) {
            low = high;
            high *= 2;
        }
        high = high.min(in_window);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if same(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Stretch { first, interval, count: high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: u64 = 604_800;

    fn defaults() -> Schedule {
        Schedule { tick_seconds: 300, cap_seconds: WEEK, decay: 1.7, window: 0..=31_449_600 }
    }

    #[test]
    fn goldens() {
        let hourly = Schedule { tick_seconds: 3_600, decay: 2.0, ..defaults() };
        assert_eq!(hourly.interval_seconds(WEEK), 230_400);
        assert_eq!(defaults().count(0..=WEEK), 318);
        assert_eq!(defaults().interval_seconds(86_400), 975, "16.2 minutes");
    }

    #[test]
    fn intervals() {
        for (tick_seconds, cap_seconds, decay, age, expected) in [
            (300, WEEK, 1.7, 0, 300),
            (300, WEEK, 0.0, 31_449_600, 300),
            (300, WEEK, 1.7, 31_449_600, WEEK.min(6_776_560)),
            (300, 200, 1.7, 0, 200),
            (0, WEEK, 1.0, 0, 1),
            (300, 0, 1.0, 0, 1),
            (300, WEEK, f64::NAN, 86_400, 1),
            (300, WEEK, 1e300, 86_400, WEEK),
            (300, WEEK, -1.0, 86_400, 150),
        ] {
            let schedule = Schedule { tick_seconds, cap_seconds, decay, ..defaults() };
            assert_eq!(schedule.interval_seconds(age), expected, "{schedule:?} at {age}");
        }
    }

    #[test]
    fn next_ticks() {
        let fixed = Schedule { tick_seconds: 60, decay: 0.0, window: 90..=300, ..defaults() };
        for (age, next) in [
            (-1_000, Some(120)),
            (0, Some(120)),
            (119, Some(120)),
            (120, Some(180)),
            (239, Some(240)),
            (240, Some(300)),
            (299, Some(300)),
            (300, None),
            (i64::MAX, None),
            (i64::MIN, Some(120)),
        ] {
            assert_eq!(fixed.next_after(age), next, "after {age}");
        }
        assert_eq!(fixed.count(0..=u64::MAX), 4);
        assert_eq!(fixed.count(121..=239), 1);
        #[expect(clippy::reversed_empty_ranges, reason = "an empty one is the point")]
        let nothing = fixed.count(200..=100);
        assert_eq!(nothing, 0);
    }

    #[test]
    fn a_tick_a_second_for_ten_thousand_years_is_found_at_once() {
        let forever = Schedule { tick_seconds: 1, decay: 0.0, window: 0..=u64::MAX, ..defaults() };
        assert_eq!(forever.next_after(315_360_000_000), Some(315_360_000_001));
        let slowing = Schedule { decay: 0.1, ..forever };
        assert!(slowing.next_after(315_360_000_000).is_some_and(|next| next > 315_360_000_000));
    }
}
