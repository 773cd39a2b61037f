//! Walking over lines, byte by byte.
//!
//! A line ends at a line break, except inside a quoted string. Where a name has no backslash, it is what stands there;
//! where it has, it is taken with its escapes, and [`super::heads`] resolves them.

use super::malformed;
use super::value::{self, Value};
use crate::problem::Result;

/// Classes of bytes that end a word.
const GAP: u8 = 1;
const EQUALS: u8 = 2;
const COMMA: u8 = 4;
const BACKSLASH: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b' ' as usize] = GAP;
    classes[b'\n' as usize] = GAP;
    classes[b'\r' as usize] = GAP;
    classes[b'=' as usize] = EQUALS;
    classes[b',' as usize] = COMMA;
    classes[b'\\' as usize] = BACKSLASH;
    classes
};

#[derive(Debug)]
pub(super) struct Cursor<'text> {
    text: &'text [u8],
    at: usize,
    line: u64,
}

impl<'text> Cursor<'text> {
    pub(super) fn new(text: &'text [u8]) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line it is on, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Goes to the next line that says something; false at the end.
    pub(super) fn skip_to_line(&mut self) -> bool {
        loop {
            match self.peek() {
                None => return false,
                Some(b'\n') => self.break_line(),
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.text[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                Some(_) => return true,
            }
        }
    }

    /// Everything up to the first space: measurement and tags.
    pub(super) fn head(&mut self) -> Result<&'text [u8]> {
        let head = self.word(GAP);
        if !self.skip(b' ') {
            return Err(malformed("A line is `measurement,tag=value field=1 timestamp`; this one has no fields."));
        }
        while self.skip(b' ') {}
        Ok(head)
    }

    pub(super) fn field_name(&mut self) -> Result<&'text [u8]> {
        let name = self.word(GAP | EQUALS | COMMA);
        if name.is_empty() || !self.skip(b'=') {
            return Err(malformed("A field is `name=value`."));
        }
        Ok(name)
    }

    pub(super) fn value(&mut self) -> Result<Value> {
        if self.skip(b'"') {
            return self.quoted();
        }
        value::parse(self.word(GAP | COMMA))
    }

    pub(super) fn skip_comma(&mut self) -> bool {
        self.skip(b',')
    }

    /// The timestamp, where there is one, and the end of the line.
    pub(super) fn timestamp(&mut self) -> Result<Option<i64>> {
        while self.skip(b' ') {}
        let word = self.word(GAP);
        let timestamp = match word {
            [] => None,
            digits => Some(value::int(digits).ok_or_else(|| {
                malformed(format!("The timestamp {:?} is not a whole number.", String::from_utf8_lossy(digits)))
            })?),
        };
        while self.skip(b' ') || self.skip(b'\r') {}
        match self.peek() {
            None => {}
            Some(b'\n') => self.break_line(),
            Some(_) => return Err(malformed("There is something after the timestamp.")),
        }
        Ok(timestamp)
    }

    /// The bytes up to one of a class. What follows a backslash ends nothing, unless it ends the line.
    #[inline]
    fn word(&mut self, stops: u8) -> &'text [u8] {
        let rest = &self.text[self.at..];
        let mut len = 0;
        loop {
            let ordinary = rest[len..].iter().position(|byte| CLASSES[usize::from(*byte)] & (stops | BACKSLASH) != 0);
            len = ordinary.map_or(rest.len(), |ordinary| len + ordinary);
            if rest.get(len) != Some(&b'\\') {
                break;
            }
            len += if matches!(rest.get(len + 1), None | Some(b'\n' | b'\r')) { 1 } else { 2 };
        }
        self.at += len;
        &rest[..len]
    }

    fn quoted(&mut self) -> Result<Value> {
        loop {
            match self.peek() {
                None => return Err(malformed("A quoted string has no end.")),
                Some(b'"') => break,
                Some(b'\\') if self.at + 1 < self.text.len() && self.text[self.at + 1] != b'\n' => self.at += 2,
                Some(b'\n') => self.break_line(),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        match self.peek() {
            None | Some(b' ' | b',' | b'\n' | b'\r') => Ok(Value::Text),
            Some(_) => Err(malformed("There is something after a quoted string.")),
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn break_line(&mut self) {
        self.at += 1;
        self.line += 1;
    }
}
