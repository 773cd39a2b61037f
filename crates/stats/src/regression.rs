//! Linear regression of interval sums on their number.
//!
//! Keeps nothing: takes the sums, returns the line. Everything is measured from the means, and the error from what the
//! line leaves over, because the textbook's differences of large sums lose every digit when the values are large and
//! close. A gap is one term, exactly: over `length` equal values around `middle`, the squares of what a line of slope
//! b leaves over are those of the middle, `length` times, and b² · length · (length² − 1) / 12.

use crate::moments;
use crate::student;
use crate::sums::{Stretch, Sums};

/// A fitted line y = intercept + slope · x, and how sure we are of its slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regression {
    pub intercept: f64,
    pub slope: f64,
    /// Absent below three points.
    pub confidence: Option<Confidence>,
}

/// Half-widths of the slope's two-sided confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    pub ci_90: f64,
    pub ci_95: f64,
    pub ci_99: f64,
}

impl Regression {
    /// The least squares line, from two intervals on; absent, too, where a double cannot hold it.
    pub fn fit(sums: &Sums) -> Option<Self> {
        if sums.count() < 2 {
            return None;
        }
        let n = sums.count() as f64;
        let centre = (moments::mean(sums)?, f64::midpoint(1.0, n));
        let slope = products(sums, centre) / squares_of_numbers(n);
        let intercept = centre.0 - slope * centre.1;
        let confidence = Confidence::of(sums, centre, slope);
        Some(Self { intercept, slope, confidence }).filter(|_| intercept.is_finite() && slope.is_finite())
    }
}

impl Confidence {
    fn of(sums: &Sums, centre: (f64, f64), slope: f64) -> Option<Self> {
        let n = sums.count() as f64;
        if n < 3.0 {
            return None;
        }
        let freedom = n - 2.0;
        let left_over: f64 = sums.stretches().iter().map(|stretch| left_over(stretch, centre, slope)).sum();
        let standard_error = (left_over / freedom / squares_of_numbers(n)).sqrt();
        let half_width = |level| student::two_sided(level, freedom) * standard_error;
        let confidence = Self {
            ci_90: half_width(student::Level::Of90),
            ci_95: half_width(student::Level::Of95),
            ci_99: half_width(student::Level::Of99),
        };
        Some(confidence).filter(|widths| widths.ci_99.is_finite())
    }
}

/// Σ(x − x̄)(y − ȳ)
fn products(sums: &Sums, (mean_y, mean_x): (f64, f64)) -> f64 {
    let product = |stretch: &Stretch| stretch.length * (stretch.middle - mean_x) * (stretch.sum - mean_y);
    sums.stretches().iter().map(product).sum()
}

/// Σ(x − x̄)² for x = 1…n
fn squares_of_numbers(n: f64) -> f64 {
    n * (n - 1.0) * (n + 1.0) / 12.0
}

/// Σ(y − ŷ)² of a stretch
fn left_over(stretch: &Stretch, (mean_y, mean_x): (f64, f64), slope: f64) -> f64 {
    let at_middle = stretch.sum - mean_y - slope * (stretch.middle - mean_x);
    stretch.length * at_middle * at_middle + slope * slope * squares_of_numbers(stretch.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(sums: &[f64]) -> Option<Regression> {
        Regression::fit(&sums.iter().copied().collect())
    }

    #[track_caller]
    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} should be {expected}");
    }

    #[test]
    fn the_golden_six_weeks() {
        for sums in [[38, 91, 93, 94, 85, 81], [38, 94, 90, 94, 82, 84]] {
            let numbered = || (1..).zip(sums);
            assert_eq!(sums.iter().sum::<i32>(), 482);
            assert_eq!(numbered().map(|(x, y)| x * y).sum::<i32>(), 1_786);
            assert_eq!(sums.iter().map(|y| y * y).sum::<i32>(), 40_996);

            let line = fit(&sums.map(f64::from)).unwrap();
            let confidence = line.confidence.unwrap();
            close(line.intercept, 60.533_333_333_333_33, 1e-13);
            close(line.slope, 5.657_142_857_142_857_5, 1e-14);
            close(confidence.ci_99, 22.790_941_884, 1e-9);
            close(confidence.ci_95, 13.743_808_675, 1e-9);
            close(confidence.ci_90, 10.552_952_875, 1e-9);
        }
    }

    #[test]
    fn what_n_does_not_allow_is_absent() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[5.0]), None);
        assert_eq!(fit(&[5.0, 7.0]), Some(Regression { intercept: 3.0, slope: 2.0, confidence: None }));
        assert!(fit(&[5.0, 7.0, 8.0]).unwrap().confidence.is_some());
    }

    #[test]
    fn a_perfect_line_is_certain() {
        let certain = Some(Confidence { ci_90: 0.0, ci_95: 0.0, ci_99: 0.0 });
        assert_eq!(fit(&[3.0, 5.0, 7.0, 9.0]), Some(Regression { intercept: 1.0, slope: 2.0, confidence: certain }));
        assert_eq!(fit(&[0.0; 5]), Some(Regression { intercept: 0.0, slope: 0.0, confidence: certain }));
    }

    #[test]
    fn what_a_double_cannot_hold_is_absent() {
        assert_eq!(fit(&[f64::MAX, f64::MAX, f64::MAX]), None);
        let steep = fit(&[-f64::MAX, 0.0, f64::MAX]);
        assert!(steep.is_none_or(|line| line.slope.is_finite() && line.confidence.is_none()), "{steep:?}");
    }

    #[test]
    fn a_gap_is_as_many_zeros() {
        let mut short = Sums::new();
        short.push(5.0);
        short.push_gap(1_000_000);
        short.push(8.0);
        let long = (0..1_000_002).map(|at| [5.0, 0.0, 8.0][usize::from(at > 0) + usize::from(at > 1_000_000)]);
        let (short, long) = (Regression::fit(&short).unwrap(), Regression::fit(&long.collect()).unwrap());
        close(short.slope / long.slope, 1.0, 1e-9);
        close(short.intercept / long.intercept, 1.0, 1e-9);
        close(short.confidence.unwrap().ci_95 / long.confidence.unwrap().ci_95, 1.0, 1e-9);
    }
}
