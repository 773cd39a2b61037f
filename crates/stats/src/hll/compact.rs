//! The form on the embedded store's disk.
//!
//! ```text
//! byte 0       0 listed, 1 dense
//! listed       for each register in use, by index: gap · 64 + value, as a little-endian base-128 number
//!              (gap: how many registers were skipped since the one before)
//! dense        12288 bytes, as in Redis
//! ```
//!
//! A listed register takes 3 bytes while there are few and 2 bytes from about a hundred on. Up to 4096 registers are
//! listed, which can never be longer than all of them dense; beyond that, listing would save little and cost ten
//! times as long. There is no checksum: the store has its own.

use super::dense::{self, Dense};
use super::register::Register;
use super::{Hll, HllError, Shape};

const LISTED: u8 = 0;
const DENSE: u8 = 1;
const VALUE_BITS: u32 = 6;
/// More registers than this are written dense.
const MAX_LISTED: usize = dense::BYTES / MAX_NUMBER_BYTES;
/// 14 bits of gap and 6 of value are at most three groups of seven bits.
const MAX_NUMBER_BYTES: usize = 3;

pub(super) fn encode(hll: &Hll) -> Vec<u8> {
    if let Shape::Dense(dense) = &hll.0
        && dense.registers_in_use() > MAX_LISTED
    {
        return [&[DENSE], dense.as_bytes()].concat();
    }
    let mut bytes = vec![LISTED];
    let mut next_index = 0;
    for register in hll.registers() {
        write_number(&mut bytes, u32::from(register.index - next_index) << VALUE_BITS | u32::from(register.value));
        next_index = register.index + 1;
    }
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Hll, HllError> {
    let (&encoding, rest) = bytes.split_first().ok_or(HllError::Truncated)?;
    match encoding {
        LISTED => decode_listed(rest),
        DENSE => {
            let length = HllError::WrongLength { expected: 1 + dense::BYTES, got: bytes.len() };
            Dense::from_bytes(rest.try_into().map_err(|_| length)?).map(Hll::from_dense)
        }
        encoding => Err(HllError::UnknownEncoding(encoding)),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number has 21 bits: 15 of gap and 6 of value")]
fn decode_listed(mut bytes: &[u8]) -> Result<Hll, HllError> {
    let mut hll = Hll::new();
    let mut next_index = 0_u16;
    while !bytes.is_empty() {
        let number = read_number(&mut bytes)?;
        let value = (number & ((1 << VALUE_BITS) - 1)) as u8;
        // Below 2^15 on at most 2^14: no overflow.
        let index = next_index + (number >> VALUE_BITS) as u16;
        hll.raise(Register::checked(index, value)?);
        next_index = index + 1;
    }
    Ok(hll)
}

fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn read_number(bytes: &mut &[u8]) -> Result<u32, HllError> {
    let mut number = 0;
    for at in 0..MAX_NUMBER_BYTES {
        let (&byte, rest) = bytes.split_first().ok_or(HllError::Truncated)?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(HllError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_sizes() {
        let mut hll = Hll::new();
        let mut members = 0_u32;
        for (size, most_bytes) in [
            (0, 1),
            (1, 4),
            (10, 31),
            (100, 300),
            (1_000, 2_100),
            (3_000, 6_000),
            (6_000, 12_289),
            (10_000, 12_289),
            (100_000, 12_289),
        ] {
            while members < size {
                hll.add(&members.to_le_bytes());
                members += 1;
            }
            let bytes = hll.to_compact();
            assert!(bytes.len() <= most_bytes, "{size} members take {} bytes", bytes.len());
            assert_eq!(Hll::from_compact(&bytes), Ok(hll.clone()), "{size} members");
        }
    }

    #[test]
    fn malformed_bytes_are_refused() {
        let impossible = |index, value| HllError::ImpossibleRegister { index, value };
        for (bytes, expected) in [
            (&[][..], HllError::Truncated),
            (&[2], HllError::UnknownEncoding(2)),
            (&[DENSE, 0], HllError::WrongLength { expected: 12_289, got: 2 }),
            (&[LISTED, 0x81], HllError::Truncated),
            (&[LISTED, 0x81, 0x80, 0x80, 0x00], HllError::Truncated),
            (&[LISTED, 0x00], impossible(0, 0)),
            (&[LISTED, 0x01, 0x34], impossible(1, 52)),
            (&[LISTED, 0xff, 0xff, 0x7f], impossible(32_767, 63)),
            (&[LISTED, 0xc1, 0xff, 0x3f, 0x01], impossible(16_384, 1)),
        ] {
            assert_eq!(Hll::from_compact(bytes), Err(expected), "{bytes:02x?}");
        }
    }
}
