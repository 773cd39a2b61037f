//! Moments and lines against figures made with `SciPy` and exact fractions by `figures/make.py`.
//!
//! The cases are made here by the same formulas as there, double for double.

use tickmark_stats::{Moments, Regression, Sums};

const FIGURES: &str = include_str!("figures/figures.txt");

/// Mean, standard deviation, intercept, slope, and the half-widths at 90, 95 and 99 %.
fn expected(case: &str, n: u32) -> Vec<f64> {
    let line = FIGURES.lines().find_map(|line| line.strip_prefix(&format!("{case} {n} "))).expect("a case of make.py");
    line.split(' ').map(|figure| figure.parse().unwrap()).collect()
}

fn check(case: &str, n: u32, value: impl Fn(u32) -> f64) {
    let sums: Sums = (0..n).map(value).collect();
    check_sums(case, n, &sums);
}

fn check_sums(case: &str, n: u32, sums: &Sums) {
    let expected = expected(case, n);
    let (moments, line) = (Moments::of(sums).unwrap(), Regression::fit(sums).unwrap());
    let confidence = line.confidence.unwrap();
    let close = |what: &str, value: f64, expected: f64, scale: f64| {
        let error = (value - expected).abs() / scale.abs();
        assert!(error < 1e-10, "{what} of {case} is {value} instead of {expected}, wrong by {error:e}");
    };
    // A mean is as good as its values are far apart or large; a slope as it is steep or unsure.
    close("mean", moments.mean, expected[0], expected[0].abs().max(expected[1]));
    close("standard deviation", moments.standard_deviation.unwrap(), expected[1], expected[1]);
    close("intercept", line.intercept, expected[2], expected[2].abs().max(expected[1]));
    close("slope", line.slope, expected[3], expected[3].abs().max(expected[4]));
    close("ci_90", confidence.ci_90, expected[4], expected[4]);
    close("ci_95", confidence.ci_95, expected[5], expected[5]);
    close("ci_99", confidence.ci_99, expected[6], expected[6]);
}

#[test]
fn ordinary() {
    check("golden", 6, |i| [38.0, 91.0, 93.0, 94.0, 85.0, 81.0][i as usize]);
    check("three", 3, |i| [1.0, 2.5, 2.0][i as usize]);
    check("falling", 50, |i| 1_000.0 - 3.25 * f64::from(i) + f64::from(i * i * 31 % 17));
    check("noise", 1_000, |i| f64::from(i * 7_919 % 1_009));
    check("tiny", 200, |i| f64::from(i * 37 % 53) * 1e-12);
}

#[test]
fn large_and_close() {
    check("near_1e9", 100_000, |i| 1e9 + f64::from(i * 7_919 % 1_000) * 1e-3);
    check("near_1e9_rising", 100_000, |i| 1e9 + f64::from(i) * 1e-3 + f64::from(i * 31 % 101) * 1e-3);
    check("near_minus_1e9_few", 4, |i| -1e9 + f64::from(i * i) * 1e-3);
}

#[test]
fn with_gaps() {
    let mut gaps = Sums::new();
    for i in (0..7_000).step_by(7) {
        gaps.push(f64::from(i % 100 + 1));
        gaps.push_gap(6);
    }
    check_sums("gaps", 7_000, &gaps);

    let mut rare = Sums::new();
    for gap in [39_999, 46_399, 0] {
        rare.push(12.5);
        rare.push_gap(gap);
    }
    check_sums("rare", 86_401, &rare);
}
