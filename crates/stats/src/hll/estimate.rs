//! From registers to a number: Ertl's improved raw estimator.
//!
//! It needs only how many registers hold each value, is unbiased over the whole range, and so needs neither the
//! linear counting nor the correction tables of the older estimators. The order of the floating-point operations is
//! part of the contract, because the result is compared with Redis to the digit.

use super::register::{self, MAX_VALUE, RUN_BITS};

/// How many registers hold each value from 0 to 51.
pub(super) type Histogram = [u16; MAX_VALUE as usize + 1];

/// 1 / (2 ln 2): the limit of the bias correction for many registers.
const ALPHA: f64 = 0.721_347_520_444_481_7;
const REGISTERS: f64 = register::COUNT as f64;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative, and saturates")]
pub(super) fn cardinality(histogram: &Histogram) -> u64 {
    let saturated = f64::from(histogram[usize::from(MAX_VALUE)]);
    let mut z = REGISTERS * tau((REGISTERS - saturated) / REGISTERS);
    for &registers in histogram[1..=RUN_BITS as usize].iter().rev() {
        z = (z + f64::from(registers)) * 0.5;
    }
    z += REGISTERS * sigma(f64::from(histogram[0]) / REGISTERS);
    (ALPHA * REGISTERS * REGISTERS / z).round() as u64
}

/// What registers that are still zero contribute: x + Σ x^(2^k) · 2^(k-1), infinite for an empty sketch.
#[expect(clippy::float_cmp, reason = "the sum is complete when a term changes nothing any more")]
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let mut weight = 1.0;
    let mut sum = x;
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}

/// What registers that can grow no further contribute: (1 - x - Σ (1 - x^(2^-k))² · 2^-k) / 3.
#[expect(clippy::float_cmp, reason = "the sum is complete when a term changes nothing any more")]
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let mut weight = 1.0;
    let mut sum = 1.0 - x;
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(registers: &[(usize, u16)], expected: u64) {
        let mut histogram = [0; _];
        histogram[0] = register::COUNT;
        for &(value, count) in registers {
            histogram[0] -= count;
            histogram[value] += count;
        }
        assert_eq!(cardinality(&histogram), expected, "{registers:?}");
    }

    #[test]
    fn edges() {
        check(&[], 0);
        check(&[(1, 1)], 1);
        check(&[(51, 1)], 1);
        check(&[(1, 2)], 2);
        // Every register at its limit: more members than 64 bits of hash can tell apart.
        check(&[(51, 16_384)], u64::MAX);
    }
}
