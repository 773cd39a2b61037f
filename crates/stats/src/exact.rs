//! Sums of doubles without rounding, so that they do not depend on order and can be taken back.
//!
//! A double is a whole number of 2⁻¹⁰⁷⁴, so any sum of doubles is one large integer in that unit. It is held as limbs of 32 bits
//! in 64, which leaves room for two thousand million additions before a carry has to be handed on. Only when the sum is
//! asked for is it rounded, once, to the nearest double (ties to even).
//!
//! What is kept between two uses is [`Exact::parts`]: the nearest double, the nearest double to what it leaves over, and so on.
//! For most data that is one number, and equal sums always have equal parts.

const LIMB_BITS: usize = 32;
const LIMB_MASK: i64 = 0xffff_ffff;
/// 2,098 bits of the largest double, and room for as many of them as there can be.
const LIMBS: usize = 68;
/// Additions after which carries are handed on.
const ADDITIONS_MAX: u32 = 1 << 30;
const MANTISSA_BITS: u32 = 52;

/// A sum that is not rounded.
#[derive(Clone, Debug)]
pub struct Exact {
    /// In units of 2⁻¹⁰⁷⁴, the lowest first.
    limbs: [i64; LIMBS],
    additions: u32,
}

impl Default for Exact {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], additions: 0 }
    }
}

impl Exact {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number; taking one back is adding its negative. What is not finite is left out, because no sum would
    /// come back from it.
    pub fn add(&mut self, number: f64) {
        if number == 0.0 || !number.is_finite() {
            return;
        }
        let bits = number.to_bits();
        let exponent = usize::try_from((bits >> MANTISSA_BITS) & 0x7ff).unwrap_or(0);
        let fraction = i128::from(bits & ((1 << MANTISSA_BITS) - 1));
        let (mantissa, position) =
            if exponent == 0 { (fraction, 0) } else { (fraction | (1 << MANTISSA_BITS), exponent - 1) };
        let signed = if number < 0.0 { -mantissa } else { mantissa };
        let wide = signed << (position % LIMB_BITS);
        let first = position / LIMB_BITS;
        for (limb, shift) in (first..).zip([0, LIMB_BITS]) {
            self.limbs[limb] += low_limb(wide >> shift);
        }
        // At most 21 bits and the sign are left.
        self.limbs[first + 2] += i64::try_from(wide >> (2 * LIMB_BITS)).unwrap_or(0);
        self.additions += 1;
        if self.additions >= ADDITIONS_MAX {
            self.carry();
        }
    }

    /// The nearest double; infinite where the sum is larger than any.
    pub fn round(&self) -> f64 {
        let mut sum = self.clone();
        sum.carry();
        let is_negative = sum.limbs[LIMBS - 1] < 0;
        if is_negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let magnitude = sum.magnitude();
        if is_negative { -magnitude } else { magnitude }
    }

    /// Finite doubles, each the nearest to what is left, that add up to exactly this. None for zero.
    pub fn parts(&self) -> Vec<f64> {
        let mut rest = self.clone();
        let mut parts = Vec::new();
        loop {
            let part = rest.round().clamp(f64::MIN, f64::MAX);
            if part == 0.0 {
                return parts;
            }
            parts.push(part);
            rest.add(-part);
        }
    }

    /// Brings every limb but the last into 0 ≤ limb < 2³².
    fn carry(&mut self) {
        let mut carried = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let sum = *limb + carried;
            carried = sum >> LIMB_BITS;
            *limb = sum & LIMB_MASK;
        }
        self.limbs[LIMBS - 1] += carried;
        self.additions = 0;
    }

    /// Of a sum that is not negative and has its carries handed on.
    fn magnitude(&self) -> f64 {
        let Some(top) = self.limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        let base = top.saturating_sub(2);
        let limb = |index: usize| u128::try_from(self.limbs[index]).unwrap_or(0);
        let window = (base..=top).rev().fold(0, |window: u128, index| (window << LIMB_BITS) | limb(index));
        let bits = u128::BITS - window.leading_zeros();
        if bits <= MANTISSA_BITS + 1 {
            // There is nothing below, and a double has these bits at every exponent.
            return f64::from_bits(1) * window as f64;
        }
        let shift = bits - (MANTISSA_BITS + 1);
        let (kept, cut) = (window >> shift, window & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let has_more = self.limbs[..base].iter().any(|limb| *limb != 0);
        let is_up = cut > half || (cut == half && (has_more || kept & 1 == 1));
        let kept = u64::try_from(kept).unwrap_or(0) + u64::from(is_up);
        // The implicit bit of `kept` adds the one that is missing here, and a carry out of it one more.
        let exponent = (base * LIMB_BITS) as u64 + u64::from(shift);
        if exponent >= 0x7fe {
            return f64::INFINITY;
        }
        f64::from_bits((exponent << MANTISSA_BITS) + kept)
    }
}

impl Extend<f64> for Exact {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.add(number));
    }
}

impl FromIterator<f64> for Exact {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sum = Self::new();
        sum.extend(numbers);
        sum
    }
}

fn low_limb(wide: i128) -> i64 {
    i64::try_from(wide & i128::from(LIMB_MASK)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(numbers: &[f64], expected: f64) {
        for turned in 0..numbers.len().max(1) {
            let sum: Exact = numbers.iter().cycle().skip(turned).take(numbers.len()).copied().collect();
            assert_eq!(sum.round().to_bits(), expected.to_bits(), "{numbers:?} gave {}", sum.round());
            let again: Exact = sum.parts().into_iter().collect();
            assert_eq!((again.round().to_bits(), again.parts()), (expected.to_bits(), sum.parts()));
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        check(&[], 0.0);
        check(&[0.1, 0.2], 0.300_000_000_000_000_04);
        check(&[0.1; 10], 1.0);
        check(&[1e16, 1.0, -1e16], 1.0);
        check(&[1e308, 1e308, -1e308], 1e308);
        check(&[1.0, 1e-300, -1.0], 1e-300);
        check(&[f64::MAX, f64::MAX], f64::INFINITY);
        check(&[-f64::MAX, -f64::MAX, f64::MAX], -f64::MAX);
        check(&[f64::from_bits(1), f64::from_bits(2)], f64::from_bits(3));
        check(&[f64::MIN_POSITIVE, -f64::from_bits(1)], f64::MIN_POSITIVE - f64::from_bits(1));
        check(&[9_007_199_254_740_992.0, 1.0], 9_007_199_254_740_992.0);
        check(&[9_007_199_254_740_992.0, 1.0, 2.0], 9_007_199_254_740_996.0);
        check(&[9_007_199_254_740_992.0, 1.0, 1e-200], 9_007_199_254_740_994.0);
        check(&[-8.0, 3.0], -5.0);
    }

    #[test]
    fn what_is_taken_back_was_never_there() {
        let mut sum: Exact = [0.1, 1e300, -7.25, 1e-310].into_iter().collect();
        for number in [-1e300, 7.25, -1e-310] {
            sum.add(number);
        }
        assert_eq!(sum.parts(), [0.1]);
        sum.add(-0.1);
        assert!(sum.parts().is_empty());
    }

    #[test]
    fn what_is_not_finite_is_left_out() {
        let sum: Exact = [f64::NAN, f64::INFINITY, 1.5].into_iter().collect();
        assert_eq!(sum.parts(), [1.5]);
    }
}
