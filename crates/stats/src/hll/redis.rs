//! The value of a Redis key that holds a `HyperLogLog`.
//!
//! ```text
//! byte  0..4    "HYLL"
//!       4       encoding: 0 dense, 1 sparse
//!       5..8    unused, zero
//!       8..16   cached count, little-endian; the top bit means stale
//!      16..     registers
//! ```
//!
//! Dense registers are 12288 bytes, as in `dense.rs`. Sparse ones are runs that together must make
//! exactly 16384 registers:
//!
//! ```text
//! 00llllll            l + 1 registers of zero
//! 01llllll llllllll   l + 1 registers of zero, big-endian
//! 1vvvvvll            l + 1 registers of v + 1
//! ```
//!
//! So `7f ff` is an empty sketch, and `00 84 7f fd` has registers 1 at value 2 and every other at zero.
//!
//! We read both and write the dense one only. Redis, too, accepts either everywhere and turns sparse into dense as
//! sets grow; a second encoder here would be code without a reader.

use super::dense::{self, Dense};
use super::register::{self, Register};
use super::{Hll, HllError, Shape};

const MAGIC: &[u8; 4] = b"HYLL";
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
const HEADER_BYTES: usize = 16;
const STALE: u64 = 1 << 63;

pub(super) fn encode_dense(hll: &Hll) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + dense::BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[DENSE, 0, 0, 0]);
    bytes.extend_from_slice(&STALE.to_le_bytes());
    match &hll.0 {
        Shape::Dense(dense) => bytes.extend_from_slice(dense.as_bytes()),
        Shape::Sparse(sparse) => bytes.extend_from_slice(Dense::from_registers(sparse.registers()).as_bytes()),
    }
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Hll, HllError> {
    let (header, registers) = bytes.split_at_checked(HEADER_BYTES).ok_or(HllError::NotHyperLogLog)?;
    if !header.starts_with(MAGIC) {
        return Err(HllError::NotHyperLogLog);
    }
    match header[MAGIC.len()] {
        DENSE => {
            let length = HllError::WrongLength { expected: HEADER_BYTES + dense::BYTES, got: bytes.len() };
            Dense::from_bytes(registers.try_into().map_err(|_| length)?).map(Hll::from_dense)
        }
        SPARSE => decode_sparse(registers),
        encoding => Err(HllError::UnknownEncoding(encoding)),
    }
}

fn decode_sparse(mut runs: &[u8]) -> Result<Hll, HllError> {
    let mut hll = Hll::new();
    let mut index = 0;
    while let Some((&first, rest)) = runs.split_first() {
        runs = rest;
        let (length, value) = match first >> 6 {
            0b00 => (u16::from(first) + 1, 0),
            0b01 => {
                let (&second, rest) = runs.split_first().ok_or(HllError::Truncated)?;
                runs = rest;
                (u16::from_be_bytes([first & 0x3f, second]) + 1, 0)
            }
            _ => (u16::from(first & 0b11) + 1, (first >> 2 & 0x1f) + 1),
        };
        if index + length > register::COUNT {
            return Err(HllError::WrongRegisterCount(index + length));
        }
        if value > 0 {
            for index in index..index + length {
                hll.raise(Register { index, value });
            }
        }
        index += length;
    }
    if index == register::COUNT { Ok(hll) } else { Err(HllError::WrongRegisterCount(index)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(runs: &[u8]) -> Vec<u8> {
        [b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80", runs].concat()
    }

    fn check(bytes: &[u8], expected: Result<&[(u16, u8)], HllError>) {
        let registers = Hll::from_redis(bytes)
            .map(|hll| hll.registers().map(|register| (register.index, register.value)).collect::<Vec<_>>());
        assert_eq!(registers, expected.map(<[_]>::to_vec), "{bytes:02x?}");
    }

    #[test]
    fn sparse_runs() {
        check(&sparse(&[0x7f, 0xff]), Ok(&[]));
        check(&sparse(&[0x00, 0x84, 0x7f, 0xfd]), Ok(&[(1, 2)]));
        check(&sparse(&[0xff, 0x7f, 0xfb]), Ok(&[(0, 32), (1, 32), (2, 32), (3, 32)]));
        check(&sparse(&[0x7f, 0xfe, 0x80]), Ok(&[(16_383, 1)]));
    }

    #[test]
    fn malformed_values_are_refused() {
        check(b"", Err(HllError::NotHyperLogLog));
        check(b"HYLL\0\0\0\0\0\0\0\0\0\0\0", Err(HllError::NotHyperLogLog));
        check(b"HYLX\0\0\0\0\0\0\0\0\0\0\0\0", Err(HllError::NotHyperLogLog));
        check(b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\0", Err(HllError::UnknownEncoding(2)));
        check(b"HYLL\0\0\0\0\0\0\0\0\0\0\0\0", Err(HllError::WrongLength { expected: 12_304, got: 16 }));
        check(&sparse(&[]), Err(HllError::WrongRegisterCount(0)));
        check(&sparse(&[0x7f]), Err(HllError::Truncated));
        check(&sparse(&[0x7f, 0xfe]), Err(HllError::WrongRegisterCount(16_383)));
        check(&sparse(&[0x7f, 0xff, 0x00]), Err(HllError::WrongRegisterCount(16_385)));
        check(&sparse(&[0x7f, 0xfe, 0x81]), Err(HllError::WrongRegisterCount(16_385)));
    }

    #[test]
    fn dense_round_trip_for_both_shapes() {
        let mut hll = Hll::new();
        for member in 0_u32..5_000 {
            let bytes = hll.to_redis_dense();
            assert_eq!(bytes.len(), 12_304);
            if member % 250 == 0 {
                assert_eq!(Hll::from_redis(&bytes), Ok(hll.clone()), "{member} members");
            }
            hll.add(&member.to_le_bytes());
        }
    }
}
