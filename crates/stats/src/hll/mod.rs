//! `HyperLogLog`, register for register what Redis 7 keeps, so that estimates agree to the digit.
//!
//! A member is hashed to 64 bits. The low 14 bits choose one of 16384 registers; the register remembers the longest
//! run of zeros, plus one, that the other 50 bits ever began with. Long runs are rare, so the registers together tell
//! how many different members there were, with a standard error of 1.04 / sqrt(16384) = 0.81 %.
//!
//! Papers: Flajolet, Fusy, Gandouet, Meunier, *`HyperLogLog`: the analysis of a near-optimal cardinality estimation
//! algorithm* (2007); Heule, Nunkesser, Hall, *`HyperLogLog` in practice* (2013) for the 64-bit hash; Ertl, *New
//! cardinality estimation algorithms for `HyperLogLog` sketches* (2017) for the estimator.
//!
//! There are four shapes, each in its own file:
//!
//! | shape | size | where |
//! |---|---|---|
//! | `sparse` | 4 bytes a register in use | memory, up to 1024 registers |
//! | `dense` | 12288 bytes and a histogram | memory, from then on |
//! | `compact` | 1 byte, then about 2 a register in use, at most 12289 | the embedded store's disk |
//! | `redis` | 12304 bytes, or Redis's own run lengths when reading | Redis strings |
//!
//! Which of the two memory shapes a sketch has depends only on how many registers are in use, never on its history.
//! Hence equal sketches are equal values, whatever the order of additions and merges that led to them.

mod compact;
mod dense;
mod estimate;
mod redis;
mod register;
mod sparse;

use std::mem;

use dense::Dense;
use register::Register;
use sparse::Sparse;

/// What was wrong with bytes that should have been a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HllError {
    #[error("a HyperLogLog of Redis has at least 16 bytes and begins with HYLL")]
    NotHyperLogLog,
    #[error("unknown HyperLogLog encoding {0}")]
    UnknownEncoding(u8),
    #[error("a HyperLogLog of {got} bytes where {expected} are right")]
    WrongLength { expected: usize, got: usize },
    #[error("a HyperLogLog ends in the middle of a register")]
    Truncated,
    #[error("a HyperLogLog describes {0} registers where 16384 are right")]
    WrongRegisterCount(u16),
    #[error("HyperLogLog register {index} holds {value}, which no member can cause")]
    ImpossibleRegister { index: u16, value: u8 },
}

/// A set's approximate number of distinct members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hll(Shape);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Sparse(Sparse),
    Dense(Box<Dense>),
}

impl Hll {
    pub const fn new() -> Self {
        Self(Shape::Sparse(Sparse::new()))
    }

    /// Adds a member; true if that changed a register, which is what `PFADD` answers for a key that exists.
    pub fn add(&mut self, member: &[u8]) -> bool {
        self.raise(Register::of(member))
    }

    /// Makes this the sketch of the union of both sets.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (Shape::Dense(ours), Shape::Dense(theirs)) => ours.merge(theirs),
            (Shape::Sparse(_), Shape::Dense(theirs)) => {
                // The larger side is copied and the smaller raised into it: at most `CAPACITY` steps.
                let ours = mem::replace(self, Self(Shape::Dense(theirs.clone())));
                ours.registers().for_each(|register| {
                    self.raise(register);
                });
            }
            (_, Shape::Sparse(theirs)) => {
                for register in theirs.registers() {
                    self.raise(register);
                }
            }
        }
    }

    /// The estimate, equal to Redis's `PFCOUNT`.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Shape::Sparse(sparse) => estimate::cardinality(&sparse.histogram()),
            Shape::Dense(dense) => estimate::cardinality(dense.histogram()),
        }
    }

    /// True as long as nothing was added.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Shape::Sparse(sparse) if sparse.is_empty())
    }

    /// Reads the value of a Redis key, dense or sparse. The cached count in it is ignored: it follows from the rest.
    pub fn from_redis(bytes: &[u8]) -> Result<Self, HllError> {
        redis::decode(bytes)
    }

    /// The value to `SET` in Redis: dense, its cached count marked stale, so that the bytes depend on the registers
    /// alone and Redis computes the count itself when it is first asked.
    pub fn to_redis_dense(&self) -> Vec<u8> {
        redis::encode_dense(self)
    }

    /// Reads what [`to_compact`](Self::to_compact) wrote.
    pub fn from_compact(bytes: &[u8]) -> Result<Self, HllError> {
        compact::decode(bytes)
    }

    /// A small form, for the embedded store: equal sketches give equal bytes.
    pub fn to_compact(&self) -> Vec<u8> {
        compact::encode(self)
    }

    /// What this value occupies in memory, itself included.
    pub fn memory_bytes(&self) -> usize {
        let heap = match &self.0 {
            Shape::Sparse(sparse) => sparse.heap_bytes(),
            Shape::Dense(_) => mem::size_of::<Dense>(),
        };
        mem::size_of::<Self>() + heap
    }

    /// Raises one register to at least a value; true if it was lower.
    fn raise(&mut self, register: Register) -> bool {
        match &mut self.0 {
            Shape::Dense(dense) => dense.raise(register),
            Shape::Sparse(sparse) => {
                let raised = sparse.raise(register);
                if sparse.is_over_capacity() {
                    self.0 = Shape::Dense(Box::new(Dense::from_registers(sparse.registers())));
                }
                raised
            }
        }
    }

    /// The registers in use, by index.
    fn registers(&self) -> Box<dyn Iterator<Item = Register> + '_> {
        match &self.0 {
            Shape::Sparse(sparse) => Box::new(sparse.registers()),
            Shape::Dense(dense) => Box::new(dense.registers()),
        }
    }

    /// Takes registers that were read densely and gives them the shape their number asks for.
    fn from_dense(dense: Dense) -> Self {
        if dense.registers_in_use() > sparse::CAPACITY {
            return Self(Shape::Dense(Box::new(dense)));
        }
        let mut hll = Self::new();
        for register in dense.registers() {
            hll.raise(register);
        }
        hll
    }
}

impl Default for Hll {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: std::ops::Range<u32>) -> Hll {
        let mut hll = Hll::new();
        for member in members {
            hll.add(&member.to_le_bytes());
        }
        hll
    }

    #[test]
    fn add_tells_whether_a_register_changed() {
        let mut hll = Hll::new();
        assert!(hll.is_empty());
        assert!(hll.add(b"max"));
        assert!(!hll.add(b"max"));
        assert!(hll.add(b"hugo"));
        assert!(!hll.is_empty());
        assert_eq!(hll.count(), 2);
    }

    #[test]
    fn estimates_stay_within_two_percent() {
        for size in [0, 1, 2, 10, 100, 1_000, 10_000, 300_000] {
            let estimate = of(0..size).count() as f64;
            let error = (estimate - f64::from(size)).abs();
            assert!(error <= 0.02 * f64::from(size), "{size} members are estimated as {estimate}");
        }
    }

    #[test]
    fn a_merge_is_the_union_for_every_pair_of_shapes() {
        let sizes = [0, 5, 900, 1_500, 40_000];
        for left in sizes {
            for right in sizes {
                let (start, end) = (left / 2, left / 2 + right);
                let mut merged = of(0..left);
                merged.merge(&of(start..end));
                assert_eq!(merged, of(0..left.max(end)), "{left} and {right} members");
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut hll = Hll::new();
        assert!(hll.memory_bytes() <= 32);
        for member in 0_u32..200_000 {
            hll.add(&member.to_le_bytes());
            assert!(hll.memory_bytes() < 12_500);
        }
    }
}
