//! What an element carries: a value, a score, or nothing.

use super::ranks::ordered_score;
use crate::Atom;
use crate::embedded::codec::{Malformed, Reader, put_atom, put_column};

pub(crate) trait Payload: Clone {
    /// Elements that a collection of these may have and still be held whole.
    const SMALL_ELEMENTS_MAX: usize = 2_048;

    fn put(&self, out: &mut Vec<u8>);
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// The payloads of a packed collection, one after the other or better.
    fn put_all<'a>(out: &mut Vec<u8>, payloads: impl Iterator<Item = &'a Self> + Clone)
    where
        Self: 'a,
    {
        payloads.for_each(|payload| payload.put(out));
    }

    fn read_all(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Self>, Malformed> {
        (0..count).map(|_| Self::read(reader)).collect()
    }

    /// Bytes on the heap, besides the payload itself.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// The place in the order of scores, for payloads that have one.
    fn rank(&self) -> Option<u64> {
        None
    }
}

impl Payload for () {
    fn put(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(())
    }
}

impl Payload for Atom {
    fn put(&self, out: &mut Vec<u8>) {
        put_atom(out, self);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.atom()
    }

    fn put_all<'a>(out: &mut Vec<u8>, payloads: impl Iterator<Item = &'a Self> + Clone) {
        put_column(out, payloads);
    }

    fn read_all(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Self>, Malformed> {
        reader.column(count)
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Int(_) => 0,
            Self::Bytes(bytes) => bytes.heap_bytes(),
        }
    }
}

const SCORES_INTEGER: u8 = 0;
const SCORES_DECIMAL: u8 = 1;

impl Payload for f64 {
    /// A small sorted set is sorted by score when it is asked for a range, so it had better be small.
    const SMALL_ELEMENTS_MAX: usize = 512;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.fixed().map(Self::from_le_bytes)
    }

    /// Scores are mostly times, so they are packed as integers where all of them are.
    fn put_all<'a>(out: &mut Vec<u8>, scores: impl Iterator<Item = &'a Self> + Clone) {
        let integers: Option<Vec<Atom>> = scores.clone().map(|score| exact_integer(*score).map(Atom::Int)).collect();
        if let Some(integers) = integers {
            out.push(SCORES_INTEGER);
            put_column(out, integers.iter());
        } else {
            out.push(SCORES_DECIMAL);
            scores.for_each(|score| score.put(out));
        }
    }

    fn read_all(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Self>, Malformed> {
        match reader.byte()? {
            SCORES_INTEGER => {
                let integers = reader.column(count)?;
                Ok(integers.iter().map(|integer| integer.as_int().unwrap_or_default() as Self).collect())
            }
            SCORES_DECIMAL => (0..count).map(|_| Self::read(reader)).collect(),
            _ => Err(Malformed),
        }
    }

    fn rank(&self) -> Option<u64> {
        Some(ordered_score(*self))
    }
}

/// The integer that this score is, if a double holds it exactly.
fn exact_integer(score: f64) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "only taken where nothing is cut")]
    let integer = score as i64;
    // To the bit, which leaves negative zero out.
    let same = (integer as f64).to_bits() == score.to_bits();
    (same && score.abs() <= EXACT_MAX).then_some(integer)
}
