//! Quantiles of Student's t distribution for the three levels of confidence we give.
//!
//! `statrs` has them, but not for all degrees of freedom: its inverse is good to 11 digits up to a few hundred, off by
//! 6e-5 at a million, and does not return at a hundred million (0.19.1). So from [`LARGE`] degrees on we take the
//! expansion around the normal quantile (Abramowitz and Stegun 26.7.5), which by then is good to 12 digits and
//! becomes exact in the limit.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// From here on the expansion is the better of the two.
const LARGE: f64 = 500.0;

/// How sure to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Of90,
    Of95,
    Of99,
}

/// How many standard errors to go to either side, to be so sure.
pub(crate) fn two_sided(level: Level, freedom: f64) -> f64 {
    let (beyond, normal) = match level {
        Level::Of90 => (0.05, 1.644_853_626_951_472_7),
        Level::Of95 => (0.025, 1.959_963_984_540_054_2),
        Level::Of99 => (0.005, 2.575_829_303_548_901),
    };
    match StudentsT::new(0.0, 1.0, freedom) {
        // The lower tail, because near 1 a probability has fewer digits left.
        Ok(distribution) if freedom < LARGE => -distribution.inverse_cdf(beyond),
        _ => expanded(normal, freedom),
    }
}

fn expanded(normal: f64, freedom: f64) -> f64 {
    let x = normal;
    let square = x * x;
    let terms = [
        x,
        x * (square + 1.0) / 4.0,
        x * (square * (5.0 * square + 16.0) + 3.0) / 96.0,
        x * (square * (square * (3.0 * square + 19.0) + 17.0) - 15.0) / 384.0,
        x * (square * (square * (square * (79.0 * square + 776.0) + 1_482.0) - 1_920.0) - 945.0) / 92_160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = include_str!("../tests/figures/figures.txt");

    #[test]
    fn quantiles_are_those_of_scipy() {
        let lines: Vec<_> = FIGURES.lines().filter_map(|line| line.strip_prefix("quantiles ")).collect();
        assert!(lines.len() > 50);
        for line in lines {
            let figures: Vec<f64> = line.split(' ').map(|figure| figure.parse().unwrap()).collect();
            for (level, expected) in [Level::Of90, Level::Of95, Level::Of99].into_iter().zip(&figures[1..]) {
                let quantile = two_sided(level, figures[0]);
                assert!((quantile / expected - 1.0).abs() < 2e-12, "{level:?} of {} is {quantile}", figures[0]);
            }
        }
    }

    #[test]
    fn both_ways_meet() {
        for level in [Level::Of90, Level::Of95, Level::Of99] {
            let (below, above) = (two_sided(level, LARGE - 1e-6), two_sided(level, LARGE));
            assert!((below / above - 1.0).abs() < 1e-11, "{below} and {above}");
        }
    }

    #[test]
    fn the_limit_is_normal() {
        for freedom in [1e12, 1e300, f64::INFINITY] {
            assert!((two_sided(Level::Of95, freedom) - 1.959_963_984_540_054).abs() < 1e-11, "{freedom}");
        }
    }
}
