//! The sums of consecutive intervals: y₁ … yₙ, where most may be gaps.
//!
//! A key with one value a day has 86,399 empty seconds between two sums. A gap is therefore one entry however long it
//! is, and whoever computes over the sums treats it as one: a stretch of equal values around its middle.

/// Sums in the order of their intervals, numbered from 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    stretches: Vec<Stretch>,
    count: u64,
}

/// Intervals next to each other with the same sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) sum: f64,
    pub(crate) length: f64,
    /// The mean of its intervals' numbers.
    pub(crate) middle: f64,
}

impl Sums {
    pub const fn new() -> Self {
        Self { stretches: Vec::new(), count: 0 }
    }

    /// Appends the next interval.
    pub fn push(&mut self, sum: f64) {
        self.append(sum, 1);
    }

    /// Appends so many intervals without a value, which count as 0. To leave gaps out, do not append them.
    pub fn push_gap(&mut self, intervals: u64) {
        if intervals > 0 {
            self.append(0.0, intervals);
        }
    }

    /// n: how many intervals there are, gaps included.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    fn append(&mut self, sum: f64, length: u64) {
        let middle = self.count as f64 + f64::midpoint(1.0, length as f64);
        self.stretches.push(Stretch { sum, length: length as f64, middle });
        self.count = self.count.saturating_add(length);
    }
}

impl FromIterator<f64> for Sums {
    fn from_iter<I: IntoIterator<Item = f64>>(sums: I) -> Self {
        let mut collected = Self::new();
        for sum in sums {
            collected.push(sum);
        }
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_lie_end_to_end() {
        let mut sums = Sums::new();
        sums.push(5.0);
        sums.push_gap(0);
        sums.push_gap(3);
        sums.push(-1.5);
        let stretch = |sum, length, middle| Stretch { sum, length, middle };
        assert_eq!(sums.stretches(), [stretch(5.0, 1.0, 1.0), stretch(0.0, 3.0, 3.0), stretch(-1.5, 1.0, 5.0)]);
        assert_eq!(sums.count(), 5);
    }
}
