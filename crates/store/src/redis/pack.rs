//! `MessagePack`, as much of it as the script reads: one argument instead of thousands, which Redis unpacks in C.

use crate::Atom;

/// Whole numbers below this are exact in Lua, and still are when one of fifteen digits is added.
const EXACT: i64 = 1 << 52;

#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Begins an array; `len` values must follow.
    pub(super) fn array(&mut self, len: usize) {
        match u16::try_from(len) {
            Ok(len @ 0..=15) => self.bytes.push(0x90 | len.to_le_bytes()[0]),
            Ok(len) => self.head(0xdc, &len.to_be_bytes()),
            Err(_) => self.head(0xdd, &length(len).to_be_bytes()),
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        match (u8::try_from(bytes.len()), u16::try_from(bytes.len())) {
            (Ok(len @ 0..=31), _) => self.bytes.push(0xa0 | len),
            (Ok(len), _) => self.head(0xd9, &[len]),
            (_, Ok(len)) => self.head(0xda, &len.to_be_bytes()),
            _ => self.head(0xdb, &length(bytes.len()).to_be_bytes()),
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.bytes.push(0xc2 | u8::from(value));
    }

    pub(super) fn decimal(&mut self, value: f64) {
        self.head(0xcb, &value.to_be_bytes());
    }

    pub(super) fn index(&mut self, index: usize) {
        self.int(i64::from(length(index)));
    }

    /// Only for integers that [`is_exact`].
    pub(super) fn int(&mut self, int: i64) {
        match (i8::try_from(int), i16::try_from(int), i32::try_from(int)) {
            (Ok(int @ -32..), ..) => self.bytes.extend(int.to_be_bytes()),
            (Ok(int), ..) => self.head(0xd0, &int.to_be_bytes()),
            (_, Ok(int), _) => self.head(0xd1, &int.to_be_bytes()),
            (_, _, Ok(int)) => self.head(0xd2, &int.to_be_bytes()),
            _ => self.head(0xd3, &int.to_be_bytes()),
        }
    }

    /// Always as bytes: a number would be shorter, but a script takes longer to spell it than to read it.
    pub(super) fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Int(int) => self.text(itoa::Buffer::new().format(*int)),
            Atom::Bytes(bytes) => self.bytes(bytes),
        }
    }

    fn head(&mut self, kind: u8, rest: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(rest);
    }
}

pub(super) fn is_exact(int: i64) -> bool {
    -EXACT < int && int < EXACT
}

/// Lengths are bounded by `limits`, far below 2^32.
fn length(len: usize) -> u32 {
    u32::try_from(len).expect("a batch within limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pack: impl FnOnce(&mut Packer), expected: &[u8]) {
        let mut packer = Packer::default();
        pack(&mut packer);
        assert_eq!(packer.into_bytes(), expected);
    }

    #[test]
    fn follows_the_specification() {
        check(|p| p.array(3), &[0x93]);
        check(|p| p.array(16), &[0xdc, 0, 16]);
        check(|p| p.array(65_536), &[0xdd, 0, 1, 0, 0]);
        check(|p| p.text("ab"), &[0xa2, b'a', b'b']);
        check(|p| p.bool(true), &[0xc3]);
        check(|p| p.bool(false), &[0xc2]);
        check(|p| p.int(5), &[5]);
        check(|p| p.int(-32), &[0xe0]);
        check(|p| p.int(-33), &[0xd0, 0xdf]);
        check(|p| p.int(128), &[0xd1, 0, 128]);
        check(|p| p.int(40_000), &[0xd2, 0, 0, 0x9c, 0x40]);
        check(|p| p.int(1 << 40), &[0xd3, 0, 0, 1, 0, 0, 0, 0, 0]);
        check(|p| p.decimal(1.5), &[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn long_bytes_carry_their_length() {
        for (len, head) in [(32, vec![0xd9, 32]), (256, vec![0xda, 1, 0]), (65_536, vec![0xdb, 0, 1, 0, 0])] {
            let bytes = vec![7; len];
            check(|p| p.bytes(&bytes), &[head, bytes.clone()].concat());
        }
    }

    #[test]
    fn integers_of_atoms_travel_as_text() {
        check(|p| p.atom(&Atom::from(61)), b"\xa261");
    }
}
