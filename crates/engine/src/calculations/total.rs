//! What is kept of one interval of one key: how many values there are, and their sum without rounding.
//!
//! As text, `COUNT PART PART…`, where the parts add up to the sum exactly and the first is the sum to the nearest double.
//! So a value can be replaced, and nothing depends on the order in which values came.

use std::fmt::Write;

use tickmark_stats::Exact;
use tickmark_store::Atom;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Total {
    pub(super) count: u64,
    parts: Vec<f64>,
}

/// Up to here every whole number has its own double, and a sum beyond it is never rounded to one within.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;

impl Total {
    /// So many values whose sum is yet to be added.
    pub(super) fn of_count(count: u64) -> Self {
        Self { count, parts: Vec::new() }
    }

    /// The sum, rounded once; infinite where it is larger than any double.
    pub(super) fn sum(&self) -> f64 {
        match self.parts[..] {
            [] => 0.0,
            [first, second, ..] if first.abs() >= f64::MAX && first.signum() == second.signum() => first * 2.0,
            [sum, ..] => sum,
        }
    }

    /// Takes numbers in, or out where they are negative.
    pub(super) fn add(&mut self, numbers: impl Iterator<Item = f64> + Clone) {
        if let Some(sum) = self.whole_sum(numbers.clone()) {
            self.parts.clear();
            self.parts.extend(Some(sum).filter(|sum| *sum != 0.0));
            return;
        }
        let mut exact: Exact = self.parts.iter().copied().collect();
        exact.extend(numbers);
        self.parts = exact.parts();
    }

    /// The sum where all are whole numbers that need no care.
    fn whole_sum(&self, numbers: impl Iterator<Item = f64>) -> Option<f64> {
        let mut sum = match self.parts[..] {
            [] => 0.0,
            [sum] => sum,
            _ => return None,
        };
        let is_whole = |number: f64| number.fract() == 0.0 && number.abs() <= WHOLE_MAX;
        if !is_whole(sum) {
            return None;
        }
        for number in numbers {
            if !is_whole(number) {
                return None;
            }
            sum += number;
            if sum.abs() > WHOLE_MAX {
                return None;
            }
        }
        Some(sum)
    }

    /// `None` for what no [`Total::write`] wrote.
    pub(super) fn read(atom: &Atom) -> Option<Self> {
        if let Atom::Int(count) = atom {
            return Some(Self { count: u64::try_from(*count).ok()?, parts: Vec::new() });
        }
        let text = atom.as_str()?;
        let mut words = text.split(' ');
        let count = words.next()?.parse().ok()?;
        let parts = words.map(|part| part.parse().ok().filter(|part: &f64| part.is_finite())).collect::<Option<_>>()?;
        Some(Self { count, parts })
    }

    pub(super) fn write(&self) -> Atom {
        let mut text = String::with_capacity(32);
        text.push_str(itoa::Buffer::new().format(self.count));
        for part in &self.parts {
            let _ =
                if (1e-5..1e17).contains(&part.abs()) { write!(text, " {part}") } else { write!(text, " {part:e}") };
        }
        Atom::from(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for (numbers, text) in [
            (&[][..], "0"),
            (&[8.0, 5.0], "2 13"),
            (&[8.0, -8.0], "2"),
            (&[0.1, 0.2, 0.3], "3 0.6 2.7755575615628914e-17"),
            (&[1e300, 1.0], "2 1e300 1"),
            (&[9_007_199_254_740_992.0, 1.0], "2 9007199254740992 1"),
        ] {
            let mut total = Total::of_count(numbers.len() as u64);
            total.add(numbers.iter().copied());
            let written = total.write();
            assert_eq!(written, Atom::from(text), "{numbers:?}");
            assert_eq!(Total::read(&written), Some(total));
        }
        for nonsense in ["", "-1", "x", "1 x", "1 inf", "1  2"] {
            assert!(Total::read(&Atom::from(nonsense)).is_none(), "{nonsense:?}");
        }
    }

    #[test]
    fn what_is_larger_than_any_double_comes_back_from_there() {
        let mut total = Total::default();
        total.add([f64::MAX, f64::MAX].into_iter());
        assert!(total.sum().is_infinite());
        let mut again = Total::read(&total.write()).unwrap();
        again.add([-f64::MAX].into_iter());
        assert_eq!(again.sum().to_bits(), f64::MAX.to_bits());
    }
}
