//! Statistics against slow and obvious versions: integers computed exactly, samples sorted, ticks walked one by one.

use proptest::collection::vec;
use proptest::prelude::*;
use tickmark_stats::{Exact, Line, Moments, Regression, Schedule, Sums, means, percentile};

fn sums(values: &[i32]) -> Sums {
    values.iter().copied().map(f64::from).collect()
}

/// n, Σx, Σy, Σx², Σxy and Σy², in integers that cannot overflow.
fn exact_totals(points: &[(i32, i32)]) -> [i128; 6] {
    points.iter().fold([0; 6], |[n, sx, sy, sxx, sxy, syy], &(x, y)| {
        let (x, y) = (i128::from(x), i128::from(y));
        [n + 1, sx + x, sy + y, sxx + x * x, sxy + x * y, syy + y * y]
    })
}

fn numbered(values: &[i32]) -> Vec<(i32, i32)> {
    (1..).zip(values.iter().copied()).collect()
}

fn ratio(numerator: i128, denominator: i128) -> f64 {
    numerator as f64 / denominator as f64
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
}

proptest! {
    #[test]
    fn moments_of_integers(values in vec(-1_000_000..1_000_000, 1..200)) {
        let [n, _, sy, _, _, syy] = exact_totals(&numbered(&values));
        let moments = Moments::of(&sums(&values)).unwrap();
        prop_assert!(close(moments.mean, ratio(sy, n)));
        let deviation = (n > 1).then(|| ratio(n * syy - sy * sy, n * (n - 1)).sqrt());
        prop_assert_eq!(moments.standard_deviation.is_some(), deviation.is_some());
        prop_assert!(moments.standard_deviation.zip(deviation).is_none_or(|(ours, exact)| close(ours, exact)));
    }

    #[test]
    fn regression_of_integers(values in vec(-1_000_000..1_000_000, 2..200)) {
        let [n, sx, sy, sxx, sxy, syy] = exact_totals(&numbered(&values));
        let (spread_x, products, spread_y) = (n * sxx - sx * sx, n * sxy - sx * sy, n * syy - sy * sy);
        let line = Regression::fit(&sums(&values)).unwrap();
        prop_assert!(close(line.slope, ratio(products, spread_x)));
        prop_assert!(close(line.intercept, ratio(sy * spread_x - products * sx, n * spread_x)));
        let Some(confidence) = line.confidence else {
            prop_assert_eq!(n, 2);
            return Ok(());
        };
        prop_assert!(confidence.ci_90 <= confidence.ci_95 && confidence.ci_95 <= confidence.ci_99);
        // t(0.995, 1) = 63.66 and no degree of freedom has more; the normal distribution has 2.576.
        let variance = ratio(spread_y * spread_x - products * products, spread_x * spread_x * (n - 2));
        let errors = confidence.ci_99 / variance.max(0.0).sqrt();
        prop_assert!(variance == 0.0 || (2.5758..63.657).contains(&errors), "{} errors", errors);
    }

    #[test]
    fn gaps_are_zeros(stretches in vec((-1_000..1_000, 0_u64..50), 1..40)) {
        let (mut short, mut long) = (Sums::new(), Sums::new());
        for (sum, gap) in stretches {
            short.push(f64::from(sum));
            short.push_gap(gap);
            long.push(f64::from(sum));
            (0..gap).for_each(|_| long.push(0.0));
        }
        prop_assert_eq!(short.count(), long.count());
        let (left, right) = (Moments::of(&short).unwrap(), Moments::of(&long).unwrap());
        prop_assert!(close(left.mean, right.mean));
        prop_assert_eq!(left.standard_deviation.is_some(), right.standard_deviation.is_some());
        if let (Some(left), Some(right)) = (left.standard_deviation, right.standard_deviation) {
            prop_assert!(close(left, right));
        }
        if let (Some(left), Some(right)) = (Regression::fit(&short), Regression::fit(&long)) {
            prop_assert!(close(left.slope, right.slope) && close(left.intercept, right.intercept));
            if let (Some(left), Some(right)) = (left.confidence, right.confidence) {
                prop_assert!(close(left.ci_95, right.ci_95));
            }
        }
    }

    #[test]
    fn nothing_is_ever_not_a_number(values in vec(any::<f64>(), 0..20)) {
        let sums: Sums = values.iter().copied().collect();
        if let Some(moments) = Moments::of(&sums) {
            prop_assert!(moments.mean.is_finite() && moments.standard_deviation.is_none_or(f64::is_finite));
        }
        if let Some(line) = Regression::fit(&sums) {
            prop_assert!(line.slope.is_finite() && line.intercept.is_finite());
            let widths = line.confidence.map_or([0.0; 3], |widths| [widths.ci_90, widths.ci_95, widths.ci_99]);
            prop_assert!(widths.into_iter().all(f64::is_finite));
        }
        for mean in [means::arithmetic_mean, means::geometric_mean, means::harmonic_mean] {
            prop_assert!(mean(&values).is_none_or(f64::is_finite));
        }
        let pairs: Vec<_> = values.iter().copied().zip(values.iter().rev().copied()).collect();
        prop_assert!(Line::fit(&pairs).is_none_or(|line| line.slope.is_finite() && line.intercept.is_finite()));
    }

    #[test]
    fn a_line_through_integers(points in vec((0..1_000, 0..100_000), 1..50)) {
        let [n, sx, sy, sxx, sxy, _] = exact_totals(&points);
        let spread = n * sxx - sx * sx;
        let samples: Vec<_> = points.iter().map(|&(x, y)| (f64::from(x), f64::from(y))).collect();
        let line = Line::fit(&samples).unwrap();
        if spread != 0 {
            prop_assert!(close(line.slope, ratio(n * sxy - sx * sy, spread)));
            prop_assert!((line.intercept - ratio(sy * sxx - sx * sxy, spread)).abs() < 1e-6);
        } else if sx != 0 {
            prop_assert!(close(line.slope, ratio(sy, sx)) && line.intercept == 0.0);
        } else {
            prop_assert!(line.slope == 0.0 && close(line.intercept, ratio(sy, n)));
        }
    }

    #[test]
    fn a_percentile_is_the_sample_at_its_index(values in vec(0..100, 1..50), percent in 0_u8..=100) {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let index = (values.len() * usize::from(percent) / 100).min(values.len() - 1);
        let mut samples: Vec<_> = values.into_iter().map(f64::from).collect();
        prop_assert_eq!(percentile(&mut samples, percent), Some(f64::from(sorted[index])));
    }

    #[test]
    fn means_are_in_order(values in vec(1_u32..1_000_000, 1..50)) {
        let samples: Vec<_> = values.into_iter().map(f64::from).collect();
        let all = [means::harmonic_mean, means::geometric_mean, means::arithmetic_mean];
        let [harmonic, geometric, arithmetic] = all.map(|mean| mean(&samples).unwrap());
        prop_assert!(harmonic <= geometric * (1.0 + 1e-12) && geometric <= arithmetic * (1.0 + 1e-12));
    }

    #[test]
    fn ticks_are_those_walked_one_by_one(
        tick_seconds in 1_u64..2_000,
        cap_seconds in 1_u64..20_000,
        decay in prop_oneof![Just(0.0), 0.0..3.0],
        (start, length) in (0_u64..100_000, 0_u64..400_000),
        (age, reach) in (-10_i64..500_000, 0_u64..300_000),
    ) {
        let schedule = Schedule { tick_seconds, cap_seconds, decay, window: start..=start + length };
        let mut ticks = vec![0];
        while ticks[ticks.len() - 1] <= start + length {
            let last = ticks[ticks.len() - 1];
            ticks.push(last + schedule.interval_seconds(last));
        }
        ticks.retain(|tick| schedule.window.contains(tick));
        let next = ticks.iter().find(|tick| i64::try_from(**tick).unwrap() > age);
        prop_assert_eq!(schedule.next_after(age), next.copied());
        let ages = age.unsigned_abs()..=age.unsigned_abs() + reach;
        let count = ticks.iter().filter(|tick| ages.contains(tick)).count();
        prop_assert_eq!(usize::try_from(schedule.count(ages)), Ok(count));
    }
}

proptest! {
    #[test]
    fn exact_sums_do_not_depend_on_order(numbers in vec(any::<f64>(), 0..40), turned in 0_usize..40) {
        let finite: Vec<f64> = numbers.into_iter().filter(|number| number.is_finite()).collect();
        let sum: Exact = finite.iter().copied().collect();
        let mut others = finite.clone();
        others.rotate_left(turned % finite.len().max(1));
        let mut other: Exact = others.iter().rev().copied().collect();
        prop_assert_eq!(sum.parts(), other.parts());
        prop_assert_eq!(sum.parts(), sum.parts().into_iter().collect::<Exact>().parts());
        other.extend(finite.iter().map(|number| -number));
        prop_assert!(other.parts().is_empty());
    }

    #[test]
    fn exact_sums_of_scaled_integers(numbers in vec(any::<i64>(), 1..40), scale in -900_i32..900) {
        // Halves of 64 bits are doubles, so the sum of integers is exact and has one rounding.
        let parts: Vec<i64> = numbers.iter().flat_map(|number| [*number >> 32 << 32, *number & 0xffff_ffff]).collect();
        let total: i128 = parts.iter().map(|part| i128::from(*part)).sum();
        let factor = 2_f64.powi(scale);
        let sum: Exact = parts.iter().map(|part| *part as f64 * factor).collect();
        prop_assert_eq!(sum.round().to_bits(), (total as f64 * factor).to_bits());
    }
}
