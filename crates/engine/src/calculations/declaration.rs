//! Which calculations over which intervals.

use std::fmt;

use tickmark_stats::Interval;

use super::Calculation;

/// A set of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals(u8);

impl Intervals {
    pub fn contains(self, interval: Interval) -> bool {
        self.0 & bit(interval) != 0
    }

    pub fn insert(&mut self, interval: Interval) {
        self.0 |= bit(interval);
    }

    pub fn remove(&mut self, interval: Interval) {
        self.0 &= !bit(interval);
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The shortest first.
    pub fn iter(self) -> impl Iterator<Item = Interval> {
        Interval::ALL.into_iter().filter(move |interval| self.contains(*interval))
    }

    pub(super) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub(super) fn common(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut intervals = Self::default();
        if text != "-" {
            text.split('+').try_for_each(|name| name.parse().map(|interval| intervals.insert(interval))).ok()?;
        }
        Some(intervals)
    }
}

/// `weeks+months`, or `-` for none.
impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for interval in self.iter() {
            f.write_str(separator)?;
            f.write_str(interval.as_str())?;
            separator = "+";
        }
        if self.is_empty() { f.write_str("-") } else { Ok(()) }
    }
}

/// What is to be calculated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    intervals: [Intervals; Calculation::ALL.len()],
}

impl Declaration {
    pub fn of(&self, calculation: Calculation) -> Intervals {
        self.intervals[calculation.index()]
    }

    pub fn contains(&self, calculation: Calculation, interval: Interval) -> bool {
        self.of(calculation).contains(interval)
    }

    pub fn insert(&mut self, calculation: Calculation, interval: Interval) {
        self.intervals[calculation.index()].insert(interval);
    }

    pub fn remove(&mut self, calculation: Calculation, interval: Interval) {
        self.intervals[calculation.index()].remove(interval);
    }

    /// Calculations that have an interval.
    pub fn calculations(&self) -> impl Iterator<Item = (Calculation, Intervals)> {
        let all = Calculation::ALL.map(|calculation| (calculation, self.of(calculation)));
        all.into_iter().filter(|(_, intervals)| !intervals.is_empty())
    }

    /// Each calculation with each of its intervals.
    pub fn pairs(&self) -> impl Iterator<Item = (Calculation, Interval)> {
        self.calculations()
            .flat_map(|(calculation, intervals)| intervals.iter().map(move |interval| (calculation, interval)))
    }

    /// The intervals that any calculation is over.
    pub fn all_intervals(&self) -> Intervals {
        Intervals(self.intervals.iter().fold(0, |all, intervals| all | intervals.0))
    }

    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (mine, others) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.0 |= others.0;
        }
        self
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut declaration = Self::default();
        if text != "-" {
            for part in text.split(',') {
                let (calculation, intervals) = part.split_once('=')?;
                let calculation: Calculation = calculation.parse().ok()?;
                declaration.intervals[calculation.index()] = Intervals::read(intervals)?;
            }
        }
        Some(declaration)
    }
}

/// `count=weeks+months,average=days`, or `-` for nothing.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (calculation, intervals) in self.calculations() {
            write!(f, "{separator}{}={intervals}", calculation.as_str())?;
            separator = ",";
        }
        if separator.is_empty() { f.write_str("-") } else { Ok(()) }
    }
}

const fn bit(interval: Interval) -> u8 {
    1 << interval as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for text in ["-", "count=weeks+months", "count=seconds,standard_deviation=years,linear_regression=weeks"] {
            assert_eq!(Declaration::read(text).unwrap().to_string(), text);
        }
        for nonsense in ["", "count", "count=", "count=fortnights", "mode=days", "count=days,"] {
            assert!(Declaration::read(nonsense).is_none(), "{nonsense:?}");
        }
    }

    #[test]
    fn together_they_are_both() {
        let [left, right] = ["count=weeks,sum=days", "count=days"].map(|text| Declaration::read(text).unwrap());
        assert_eq!(left.with(&right).to_string(), "count=days+weeks,sum=days");
        assert_eq!(left.with(&right).all_intervals().to_string(), "days+weeks");
    }
}
