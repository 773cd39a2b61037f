//! The registers in use as a sorted list: most buckets have few members, and a dense sketch for each would be waste.
//!
//! A register is found by bisection and inserted by moving the rest. Moving costs, but a register is inserted once
//! in a sketch's life, so at most [`CAPACITY`] moves of at most 4 KB are ever made.

use super::estimate::Histogram;
use super::register::{self, Register};

/// Beyond this many registers a sketch is dense.
pub(super) const CAPACITY: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sparse {
    /// Ascending by index, each index once.
    registers: Vec<Register>,
}

impl Sparse {
    pub(super) const fn new() -> Self {
        Self { registers: Vec::new() }
    }

    pub(super) fn raise(&mut self, register: Register) -> bool {
        // What is read from a disk comes in order, and needs no search.
        if self.registers.last().is_none_or(|last| last.index < register.index) {
            self.registers.push(register);
            return true;
        }
        match self.registers.binary_search_by_key(&register.index, |present| present.index) {
            Ok(at) if self.registers[at].value >= register.value => false,
            Ok(at) => {
                self.registers[at] = register;
                true
            }
            Err(at) => {
                self.registers.insert(at, register);
                true
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.registers.is_empty()
    }

    pub(super) fn is_over_capacity(&self) -> bool {
        self.registers.len() > CAPACITY
    }

    pub(super) fn registers(&self) -> impl Iterator<Item = Register> {
        self.registers.iter().copied()
    }

    pub(super) fn histogram(&self) -> Histogram {
        let mut histogram = [0; _];
        let mut unused = register::COUNT;
        for register in &self.registers {
            unused -= 1;
            histogram[usize::from(register.value)] += 1;
        }
        histogram[0] = unused;
        histogram
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.registers.capacity() * size_of::<Register>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_keeps_the_list_sorted_and_the_larger_value() {
        let mut sparse = Sparse::new();
        for (index, value, raised) in [(5, 3, true), (2, 1, true), (5, 2, false), (5, 3, false), (5, 4, true)] {
            assert_eq!(sparse.raise(Register { index, value }), raised, "{index} {value}");
        }
        let expected = [Register { index: 2, value: 1 }, Register { index: 5, value: 4 }];
        assert_eq!(sparse.registers().collect::<Vec<_>>(), expected);
        let histogram = sparse.histogram();
        assert_eq!((histogram[0], histogram[1], histogram[3], histogram[4]), (16_382, 1, 0, 1));
    }
}
