//! Reading digits from the front of a text.
//!
//! Every method leaves the text as it was when it does not find what it looks for, and otherwise takes it away.

/// What is left to read.
pub(super) struct Digits<'a>(pub(super) &'a [u8]);

impl Digits<'_> {
    pub(super) fn literal(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// A number of exactly so many digits.
    pub(super) fn number(&mut self, digits: usize) -> Option<i64> {
        (0..digits).try_fold(0, |number, _| Some(number * 10 + self.digit()?))
    }

    /// Four digits, or five: local times reach into the year 10000.
    pub(super) fn year(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        Some(self.digit().map_or(year, |fifth| year * 10 + fifth))
    }

    pub(super) fn digit(&mut self) -> Option<i64> {
        let (&first, rest) = self.0.split_first()?;
        let digit = first.is_ascii_digit().then(|| i64::from(first - b'0'))?;
        self.0 = rest;
        Some(digit)
    }

    /// A point and digits, in microseconds; 0 where there is no point.
    pub(super) fn fraction(&mut self) -> Option<i64> {
        if self.literal(b".").is_none() {
            return Some(0);
        }
        let mut micros = self.digit()? * 100_000;
        for weight in [10_000, 1_000, 100, 10, 1] {
            micros += self.digit().unwrap_or(0) * weight;
        }
        micros += i64::from(self.digit().is_some_and(|seventh| seventh >= 5));
        while self.digit().is_some() {}
        Some(micros)
    }
}
