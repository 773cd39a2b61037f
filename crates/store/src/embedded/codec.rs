//! How numbers and atoms become bytes, in the log and in records alike.
//!
//! Integers are LEB128 varints, signed ones zigzagged first. A column of atoms that are all integers, which is what
//! the buckets of a series are, is a column of differences, and where those repeat, of runs: a day of seconds with one
//! event each takes a few bytes a group. `docs/embedded-format.md` has the layouts byte by byte.

use crate::Atom;

/// Bytes that are not what was written here. The caller knows what it was reading and says so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    out.push(low_bits(number));
}

/// How many bytes a number takes.
pub(crate) fn varint_len(number: u64) -> usize {
    let bits = u64::BITS - (number | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// The same bytes, into a place that is as long as they are.
pub(crate) fn write_varint(out: &mut [u8], mut number: u64) {
    if let Some((last, before)) = out.split_last_mut() {
        for byte in before {
            *byte = low_bits(number) | 0x80;
            number >>= 7;
        }
        *last = low_bits(number);
    }
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7f) as u8
}

pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Zero and the integer, or the length plus one and the bytes.
pub(crate) fn put_atom(out: &mut Vec<u8>, atom: &Atom) {
    match atom {
        Atom::Int(int) => {
            out.push(0);
            put_signed(out, *int);
        }
        Atom::Bytes(bytes) => {
            put_varint(out, bytes.len() as u64 + 1);
            out.extend_from_slice(bytes);
        }
    }
}

const MIXED: u8 = 0;
const DIFFERENCES: u8 = 1;
const RUNS: u8 = 2;

/// Atoms whose number is written elsewhere.
pub(crate) fn put_column<'a>(out: &mut Vec<u8>, atoms: impl Iterator<Item = &'a Atom> + Clone) {
    let Some((count, runs)) = count_runs(atoms.clone()) else {
        out.push(MIXED);
        atoms.for_each(|atom| put_atom(out, atom));
        return;
    };
    let mut differences = Differences::default();
    if runs * 2 >= count {
        out.push(DIFFERENCES);
        atoms.for_each(|atom| put_signed(out, differences.next(atom)));
        return;
    }
    out.push(RUNS);
    let mut run: Option<(i64, u64)> = None;
    for atom in atoms {
        let difference = differences.next(atom);
        run = match run {
            Some((same, length)) if same == difference => Some((same, length + 1)),
            ended => {
                put_run(out, ended);
                Some((difference, 1))
            }
        };
    }
    put_run(out, run);
}

fn put_run(out: &mut Vec<u8>, run: Option<(i64, u64)>) {
    if let Some((difference, length)) = run {
        put_signed(out, difference);
        put_varint(out, length);
    }
}

/// How many atoms and how many runs of equal differences; `None` where one is not an integer.
fn count_runs<'a>(atoms: impl Iterator<Item = &'a Atom>) -> Option<(usize, usize)> {
    let (mut count, mut runs, mut previous) = (0, 0, None);
    let mut differences = Differences::default();
    for atom in atoms {
        atom.as_int()?;
        let difference = Some(differences.next(atom));
        count += 1;
        runs += usize::from(difference != previous);
        previous = difference;
    }
    Some((count, runs))
}

#[derive(Default)]
struct Differences {
    last: i64,
}

impl Differences {
    /// Wraps around, as the reader does: the far ends of the range are one difference apart.
    fn next(&mut self, atom: &Atom) -> i64 {
        let int = atom.as_int().unwrap_or_default();
        let difference = int.wrapping_sub(self.last);
        self.last = int;
        difference
    }
}

/// Reads what the functions above wrote. Every length is checked against what is left, so that damaged bytes are an
/// error and never an allocation.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn signed(&mut self) -> Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        self.take(len)
    }

    pub(crate) fn atom(&mut self) -> Result<Atom> {
        match self.varint()? {
            0 => self.signed().map(Atom::Int),
            more => {
                let len = usize::try_from(more - 1).map_err(|_| Malformed)?;
                self.take(len).map(|bytes| Atom::Bytes(bytes.into()))
            }
        }
    }

    /// A number of things that follow, each of at least a byte unless they are in runs.
    pub(crate) fn count(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).ok().filter(|&count| count <= COUNT_MAX).ok_or(Malformed)
    }

    pub(crate) fn column(&mut self, count: usize) -> Result<Vec<Atom>> {
        let mode = self.byte()?;
        if mode != RUNS && count > self.rest.len() {
            return Err(Malformed);
        }
        let mut atoms = Vec::with_capacity(count);
        let mut last = 0i64;
        while atoms.len() < count {
            match mode {
                MIXED => atoms.push(self.atom()?),
                DIFFERENCES => {
                    last = last.wrapping_add(self.signed()?);
                    atoms.push(Atom::Int(last));
                }
                RUNS => {
                    let difference = self.signed()?;
                    let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                    if length == 0 || length > count - atoms.len() {
                        return Err(Malformed);
                    }
                    for _ in 0..length {
                        last = last.wrapping_add(difference);
                        atoms.push(Atom::Int(last));
                    }
                }
                _ => return Err(Malformed),
            }
        }
        Ok(atoms)
    }
}

/// No batch and no packed collection holds more elements, so a larger count is damage.
const COUNT_MAX: usize = crate::limits::BATCH_ELEMENTS_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(atoms: &[Atom]) -> usize {
        let mut out = Vec::new();
        put_column(&mut out, atoms.iter());
        let mut reader = Reader::new(&out);
        assert_eq!(reader.column(atoms.len()).as_deref(), Ok(atoms));
        assert!(reader.is_empty());
        for cut in 0..out.len() {
            assert_eq!(Reader::new(&out[..cut]).column(atoms.len()), Err(Malformed), "cut at {cut}");
        }
        out.len()
    }

    #[test]
    fn columns_read_back_and_repetition_is_nearly_free() {
        let ints = |ints: &[i64]| ints.iter().copied().map(Atom::Int).collect::<Vec<_>>();
        round_trip(&ints(&[i64::MIN, i64::MAX, 0, -1]));
        round_trip(&[Atom::from("user:1"), Atom::Int(5), Atom::from("")]);
        let a_day_of_seconds: Vec<_> = (1_700_000_000..1_700_086_400).map(Atom::Int).collect();
        assert!(round_trip(&a_day_of_seconds) < 16);
        assert_eq!(round_trip(&ints(&[1_000, 1_003, 1_004, 1_011, 1_012])), 1 + 2 + 4);
    }

    #[test]
    fn a_number_in_place_is_the_number_appended() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut appended = Vec::new();
            put_varint(&mut appended, number);
            let mut in_place = vec![0; varint_len(number)];
            write_varint(&mut in_place, number);
            assert_eq!(in_place, appended, "{number}");
        }
    }

    #[test]
    fn damaged_numbers_are_errors() {
        assert_eq!(Reader::new(&[0xff; 10]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0x80, 0x80]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).bytes(), Err(Malformed));
        let mut out = Vec::new();
        for number in [0, i64::MIN, i64::MAX, -1, 63, 64] {
            out.clear();
            put_signed(&mut out, number);
            assert_eq!(Reader::new(&out).signed(), Ok(number));
        }
    }
}
