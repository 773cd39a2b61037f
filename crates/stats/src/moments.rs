//! Mean and standard deviation of interval sums.
//!
//! In two passes: one-pass sums of squares lose every digit when the values are large and close. The mean, too, is
//! corrected by the mean of what is left around it, because a hundred thousand additions near 1e14 are each rounded
//! to a hundredth.

use crate::sums::Sums;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub mean: f64,
    /// Of a sample (n − 1); absent below two intervals.
    pub standard_deviation: Option<f64>,
}

impl Moments {
    /// The moments, from one interval on; absent, too, where a double cannot hold them.
    pub fn of(sums: &Sums) -> Option<Self> {
        let mean = mean(sums)?;
        let n = sums.count() as f64;
        let squares: f64 =
            sums.stretches().iter().map(|stretch| stretch.length * (stretch.sum - mean) * (stretch.sum - mean)).sum();
        let deviation = (squares / (n - 1.0)).sqrt();
        Some(Self { mean, standard_deviation: Some(deviation).filter(|_| n > 1.0).filter(|value| value.is_finite()) })
    }
}

/// The mean, from one interval on.
pub(crate) fn mean(sums: &Sums) -> Option<f64> {
    let n = sums.count() as f64;
    let around = |centre: f64| {
        let rest: f64 = sums.stretches().iter().map(|stretch| stretch.length * (stretch.sum - centre)).sum();
        centre + rest / n
    };
    Some(around(around(0.0))).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sums: &[f64], mean: f64, standard_deviation: Option<f64>) {
        let moments = Moments::of(&sums.iter().copied().collect());
        assert_eq!(moments, Some(Moments { mean, standard_deviation }), "{sums:?}");
    }

    #[test]
    fn small_numbers() {
        check(&[219.0], 219.0, None);
        check(&[1.0, 3.0], 2.0, Some(2_f64.sqrt()));
        check(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 5.0, Some((32.0_f64 / 7.0).sqrt()));
        check(&[0.0, 0.0, 0.0], 0.0, Some(0.0));
        check(&[0.1, 0.1, 0.1], 0.1, Some(0.0));
    }

    #[test]
    fn near_1e9() {
        let sums: Sums = (0..100_000).map(|i| 1e9 + f64::from(i % 2) * 2f64.powi(-10)).collect();
        let moments = Moments::of(&sums).unwrap();
        assert!((moments.mean - (1e9 + 2f64.powi(-11))).abs() < 1e-6);
        let expected = 2f64.powi(-11) * (100_000_f64 / 99_999.0).sqrt();
        assert!((moments.standard_deviation.unwrap() / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_is_absent() {
        assert_eq!(Moments::of(&Sums::new()), None);
        assert_eq!(Moments::of(&[f64::MAX, f64::MAX].into_iter().collect()), None);
        check(&[f64::MAX, -f64::MAX], 0.0, None);
    }
}
