//! The three means a duration can be estimated by.
//!
//! Of nothing there is no mean. The geometric and the harmonic one are for numbers that are not negative, and are 0 as
//! soon as one of the numbers is.

/// Σx / n
pub fn arithmetic_mean(samples: &[f64]) -> Option<f64> {
    let n = samples.len() as f64;
    Some(samples.iter().sum::<f64>() / n).filter(|mean| mean.is_finite())
}

/// The n-th root of the product, by way of logarithms, because the product itself overflows.
pub fn geometric_mean(samples: &[f64]) -> Option<f64> {
    let n = samples.len() as f64;
    let logarithms: f64 = samples.iter().map(|sample| sample.ln()).sum();
    Some((logarithms / n).exp()).filter(|mean| mean.is_finite())
}

/// n / Σ(1/x)
pub fn harmonic_mean(samples: &[f64]) -> Option<f64> {
    let n = samples.len() as f64;
    // A zero without its sign, because 1/−0 is the wrong infinity.
    let inverses: f64 = samples.iter().map(|sample| if *sample == 0.0 { f64::INFINITY } else { sample.recip() }).sum();
    Some(n / inverses).filter(|mean| mean.is_finite() && samples.iter().all(|sample| *sample >= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[f64], expected: [Option<f64>; 3]) {
        let means = [arithmetic_mean, geometric_mean, harmonic_mean].map(|mean| mean(samples));
        for (mean, expected) in means.into_iter().zip(expected) {
            let close = match (mean, expected) {
                (Some(mean), Some(expected)) => (mean - expected).abs() <= 1e-12 * expected,
                (mean, expected) => mean == expected,
            };
            assert!(close, "{samples:?} gave {means:?}");
        }
    }

    #[test]
    fn means() {
        check(&[], [None, None, None]);
        check(&[7.0], [Some(7.0), Some(7.0), Some(7.0)]);
        check(&[1.0, 2.0, 4.0], [Some(7.0 / 3.0), Some(2.0), Some(12.0 / 7.0)]);
        check(&[2.0, 8.0], [Some(5.0), Some(4.0), Some(3.2)]);
        check(&[0.0, 8.0], [Some(4.0), Some(0.0), Some(0.0)]);
        check(&[-0.0, 8.0], [Some(4.0), Some(0.0), Some(0.0)]);
        check(&[0.0, -0.0], [Some(0.0), Some(0.0), Some(0.0)]);
        check(&[-1.0, 3.0], [Some(1.0), None, None]);
        check(&[1e300, 1e300, 1e300], [Some(1e300), Some(1e300), Some(1e300)]);
    }
}
