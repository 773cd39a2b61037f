//! How long a step takes by how often it repeats: seconds = a · iterations + b.
//!
//! Where the samples cannot tell a from b, because there is one or all have as many iterations, everything is put down
//! to the iterations: a guess, but one that is right at what was seen. Where there were no iterations at all, to b.

/// seconds = `slope` · iterations + `intercept`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// a
    pub slope: f64,
    /// b
    pub intercept: f64,
}

impl Line {
    /// The least squares line through samples of (iterations, seconds); absent without any, and where a double cannot
    /// hold it.
    #[expect(clippy::float_cmp, reason = "iterations are counts, and counts are exact")]
    pub fn fit(samples: &[(f64, f64)]) -> Option<Self> {
        let n = samples.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / n;
        let (iterations, seconds) = (mean(|sample| sample.0), mean(|sample| sample.1));
        let line = if samples.windows(2).any(|pair| pair[0].0 != pair[1].0) {
            let squares: f64 = samples.iter().map(|sample| (sample.0 - iterations).powi(2)).sum();
            let products: f64 = samples.iter().map(|sample| (sample.0 - iterations) * (sample.1 - seconds)).sum();
            let slope = products / squares;
            Self { slope, intercept: seconds - slope * iterations }
        } else if iterations == 0.0 {
            Self { slope: 0.0, intercept: seconds }
        } else {
            Self { slope: seconds / iterations, intercept: 0.0 }
        };
        Some(line).filter(|line| line.slope.is_finite() && line.intercept.is_finite())
    }

    pub fn at(self, iterations: f64) -> f64 {
        self.slope * iterations + self.intercept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[(f64, f64)], expected: Option<(f64, f64)>) {
        let expected = expected.map(|(slope, intercept)| Line { slope, intercept });
        assert_eq!(Line::fit(samples), expected, "{samples:?}");
    }

    #[test]
    fn lines() {
        check(&[(1.0, 5.0), (2.0, 7.0), (3.0, 9.0)], Some((2.0, 3.0)));
        check(&[(10.0, 4.0), (20.0, 4.0)], Some((0.0, 4.0)));
        check(&[(0.0, 1.0), (2.0, 5.0)], Some((2.0, 1.0)));
        check(&[(1.0, 1.0), (2.0, 2.0), (3.0, 1.0), (4.0, 2.0)], Some((0.2, 1.0)));
    }

    #[test]
    fn samples_that_cannot_tell() {
        check(&[], None);
        check(&[(10.0, 4.0)], Some((0.4, 0.0)));
        check(&[(10.0, 4.0), (10.0, 6.0)], Some((0.5, 0.0)));
        check(&[(0.0, 4.0)], Some((0.0, 4.0)));
        check(&[(1.0, f64::MAX), (2.0, f64::MAX)], None);
        check(&[(f64::NAN, 1.0)], None);
    }
}
