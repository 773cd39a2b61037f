//! One register, and how a member finds it.
//!
//! The hash is `MurmurHash64A` with Redis's seed, read little-endian on every machine, because the registers must be
//! those that Redis would have. It is not keyed: someone who chooses the members can make the estimate wrong, here
//! as there. Exact counts are for those who cannot have that.

use super::HllError;

/// Bits of the hash that choose the register.
const INDEX_BITS: u32 = 14;
/// Registers in a sketch.
pub(super) const COUNT: u16 = 1 << INDEX_BITS;
/// Bits of the hash that are searched for the run of zeros.
pub(super) const RUN_BITS: u32 = u64::BITS - INDEX_BITS;
/// The largest value: all of the searched bits are zero.
pub(super) const MAX_VALUE: u8 = 51;

const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// A register in use: `index` below 16384, `value` from 1 to 51.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) index: u16,
    pub(super) value: u8,
}

impl Register {
    /// The register a member belongs to, with the value it asks for.
    #[expect(clippy::cast_possible_truncation, reason = "a run is at most 50 long")]
    pub(super) fn of(member: &[u8]) -> Self {
        let hash = murmur64a(member);
        let [low, high, ..] = hash.to_le_bytes();
        let index = u16::from_le_bytes([low, high]) & (COUNT - 1);
        // The bit above the searched ones ends the run when all of them are zero.
        let run = ((hash >> INDEX_BITS) | 1 << RUN_BITS).trailing_zeros() as u8;
        Self { index, value: run + 1 }
    }

    /// A register that was read from somewhere.
    pub(super) fn checked(index: u16, value: u8) -> Result<Self, HllError> {
        if index < COUNT && (1..=MAX_VALUE).contains(&value) {
            Ok(Self { index, value })
        } else {
            Err(HllError::ImpossibleRegister { index, value })
        }
    }
}

fn murmur64a(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word ^= word >> SHIFT;
        hash = (hash ^ word.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !tail.is_empty() {
        let mut word = [0; 8];
        word[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_possible_registers_are_accepted() {
        for (index, value, possible) in [
            (0, 1, true),
            (16_383, 51, true),
            (0, 0, false),
            (0, 52, false),
            (16_384, 1, false),
            (u16::MAX, 255, false),
        ] {
            assert_eq!(Register::checked(index, value).is_ok(), possible, "{index} {value}");
        }
    }

    #[test]
    fn every_length_of_tail_counts() {
        let bytes = [7; 24];
        let hashes: std::collections::HashSet<_> = (0..=24).map(|length| murmur64a(&bytes[..length])).collect();
        assert_eq!(hashes.len(), 25);
    }
}
