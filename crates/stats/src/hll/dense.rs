//! All registers, six bits each, and how many there are of each value.
//!
//! Six bits do not divide a byte, but four registers are exactly three bytes, so nothing is ever read past the end.
//! Within the three bytes the first register has the lowest bits, which is Redis's layout.
//!
//! The histogram is kept up to date, by each addition and once at the end of a merge. Counting, which a live page asks
//! for again and again, is then 52 steps instead of a walk over 12 KB.

use super::HllError;
use super::estimate::Histogram;
use super::register::{self, MAX_VALUE, Register};

const REGISTER_BITS: u16 = 6;
const REGISTER_MASK: u32 = (1 << REGISTER_BITS) - 1;
const LANES: u16 = 4;
const GROUPS: usize = (register::COUNT / LANES) as usize;
/// The packed registers.
pub(super) const BYTES: usize = GROUPS * 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dense {
    /// Four registers a group.
    groups: [[u8; 3]; GROUPS],
    histogram: Histogram,
}

impl Dense {
    fn new() -> Self {
        let mut histogram = [0; _];
        histogram[0] = register::COUNT;
        Self { groups: [[0; 3]; _], histogram }
    }

    pub(super) fn from_registers(registers: impl Iterator<Item = Register>) -> Self {
        let mut dense = Self::new();
        for register in registers {
            dense.raise(register);
        }
        dense
    }

    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Result<Self, HllError> {
        let mut dense = Self::new();
        let (groups, _) = bytes.as_chunks();
        dense.groups.copy_from_slice(groups);
        if let Some(register) = dense.registers().find(|register| register.value > MAX_VALUE) {
            return Err(HllError::ImpossibleRegister { index: register.index, value: register.value });
        }
        dense.recount();
        Ok(dense)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.groups.as_flattened()
    }

    pub(super) fn raise(&mut self, register: Register) -> bool {
        let (group, at) = (&mut self.groups[usize::from(register.index / LANES)], register.index % LANES);
        let word = unpack(*group);
        let before = lane(word, at);
        if before >= register.value {
            return false;
        }
        *group = pack(word ^ u32::from(before ^ register.value) << (at * REGISTER_BITS));
        self.histogram[usize::from(before)] -= 1;
        self.histogram[usize::from(register.value)] += 1;
        true
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.groups.iter_mut().zip(&other.groups) {
            // Sketches of similar sets agree in most places.
            if ours != theirs {
                let (left, right) = (unpack(*ours), unpack(*theirs));
                let larger = |at| u32::from(lane(left, at).max(lane(right, at))) << (at * REGISTER_BITS);
                *ours = pack(larger(0) | larger(1) | larger(2) | larger(3));
            }
        }
        self.recount();
    }

    /// Makes the histogram anew. Each lane has its own until the end, because neighbours are often equal, and
    /// adding to one place four times in a row has to wait each time for the addition before.
    fn recount(&mut self) {
        let mut lanes = [[0; 1 << REGISTER_BITS]; LANES as usize];
        for group in &self.groups {
            let word = unpack(*group);
            for (at, counts) in (0..LANES).zip(&mut lanes) {
                counts[usize::from(lane(word, at))] += 1;
            }
        }
        for (value, count) in self.histogram.iter_mut().enumerate() {
            *count = lanes.iter().map(|counts: &[u16; _]| counts[value]).sum();
        }
    }

    pub(super) fn registers(&self) -> impl Iterator<Item = Register> {
        (0..register::COUNT).step_by(LANES.into()).zip(&self.groups).flat_map(|(first, group)| {
            let word = unpack(*group);
            (0..LANES)
                .map(move |at| Register { index: first + at, value: lane(word, at) })
                .filter(|register| register.value > 0)
        })
    }

    pub(super) fn registers_in_use(&self) -> usize {
        usize::from(register::COUNT - self.histogram[0])
    }

    pub(super) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

fn unpack(group: [u8; 3]) -> u32 {
    u32::from_le_bytes([group[0], group[1], group[2], 0])
}

fn pack(word: u32) -> [u8; 3] {
    let [first, second, third, _] = word.to_le_bytes();
    [first, second, third]
}

fn lane(word: u32, at: u16) -> u8 {
    (word >> (at * REGISTER_BITS) & REGISTER_MASK) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recounted(dense: &Dense) -> Histogram {
        let mut histogram = [0; _];
        histogram[0] = register::COUNT;
        for register in dense.registers() {
            histogram[0] -= 1;
            histogram[usize::from(register.value)] += 1;
        }
        histogram
    }

    #[test]
    fn registers_do_not_touch_their_neighbours() {
        let mut dense = Dense::new();
        for (index, value) in [(0, 51), (1, 1), (2, 42), (3, 21), (16_382, 3), (16_383, 51)] {
            assert!(dense.raise(Register { index, value }));
            assert!(!dense.raise(Register { index, value }));
        }
        let found: Vec<_> = dense.registers().map(|register| (register.index, register.value)).collect();
        assert_eq!(found, [(0, 51), (1, 1), (2, 42), (3, 21), (16_382, 3), (16_383, 51)]);
        assert_eq!(dense.as_bytes()[..3], [0b0111_0011, 0b1010_0000, 0b0101_0110]);
        assert_eq!(dense.histogram, recounted(&dense));
    }

    #[test]
    fn the_histogram_survives_a_merge() {
        let every = |step: u16, value: u8| {
            Dense::from_registers((0..16_384).step_by(step.into()).map(|index| Register { index, value }))
        };
        let mut dense = every(3, 7);
        dense.merge(&every(5, 9));
        dense.merge(&every(2, 1));
        assert_eq!(dense.histogram, recounted(&dense));
        assert_eq!(dense.histogram[9], 3_277);
    }

    #[test]
    fn bytes_with_a_value_that_cannot_be_are_refused() {
        let mut bytes = [0; BYTES];
        bytes[BYTES - 1] = 52 << 2;
        let refused = HllError::ImpossibleRegister { index: 16_383, value: 52 };
        assert_eq!(Dense::from_bytes(&bytes), Err(refused));
    }
}
