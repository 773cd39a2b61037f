//! A percentile is one of the samples, never a number between two of them.

/// The sample that has index ⌊n · percent / 100⌋, at most n − 1, when they are in order. The samples are moved about
/// to find it, which is faster than to sort them.
pub fn percentile(samples: &mut [f64], percent: u8) -> Option<f64> {
    let last = samples.len().checked_sub(1)?;
    let index = (samples.len().saturating_mul(percent.into()) / 100).min(last);
    let (_, sample, _) = samples.select_nth_unstable_by(index, f64::total_cmp);
    Some(*sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[f64], percent: u8, expected: Option<f64>) {
        assert_eq!(percentile(&mut samples.to_vec(), percent), expected, "{percent} of {samples:?}");
    }

    #[test]
    fn percentiles() {
        check(&[], 75, None);
        check(&[3.0], 0, Some(3.0));
        check(&[3.0], 100, Some(3.0));
        check(&[4.0, 1.0, 3.0, 2.0], 0, Some(1.0));
        check(&[4.0, 1.0, 3.0, 2.0], 24, Some(1.0));
        check(&[4.0, 1.0, 3.0, 2.0], 25, Some(2.0));
        check(&[4.0, 1.0, 3.0, 2.0], 50, Some(3.0));
        check(&[4.0, 1.0, 3.0, 2.0], 75, Some(4.0));
        check(&[4.0, 1.0, 3.0, 2.0], 100, Some(4.0));
        check(&[4.0, 1.0, 3.0, 2.0], 255, Some(4.0));
        check(&[2.0, 2.0, 1.0], 50, Some(2.0));
    }
}
