//! What lines begin with, remembered: from `measurement,tags` and a field as they stand there to a series.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use tickmark_engine::series::{Slot, Tally};

use super::malformed;
use crate::problem::Result;

#[derive(Debug, Default)]
pub(super) struct Heads<'text> {
    hashes: RandomState,
    by_bytes: HashTable<u32>,
    all: Vec<Head<'text>>,
}

#[derive(Debug)]
struct Head<'text> {
    bytes: &'text [u8],
    /// `measurement:tag=value:…:`, unescaped.
    stem: String,
    fields: Vec<(&'text [u8], Slot)>,
}

impl<'text> Heads<'text> {
    /// The number of a head, which is checked when it is first seen.
    #[inline]
    pub(super) fn find(&mut self, bytes: &'text [u8]) -> Result<usize> {
        let hash = self.hashes.hash_one(bytes);
        let heads = &self.all;
        match self.by_bytes.find(hash, |number| heads[*number as usize].bytes == bytes) {
            Some(number) => Ok(*number as usize),
            None => self.add(hash, bytes),
        }
    }

    /// The series of a field. Lines of one head mostly have the same fields in the same order, so the `position` of the
    /// field in the line is where it is looked for first.
    #[inline]
    pub(super) fn field(&mut self, head: usize, name: &'text [u8], position: usize, tally: &mut Tally) -> Result<Slot> {
        let head = &mut self.all[head];
        match head.fields.get(position) {
            Some((known, slot)) if *known == name => Ok(*slot),
            _ => head.search(name, tally),
        }
    }

    #[cold]
    fn add(&mut self, hash: u64, bytes: &'text [u8]) -> Result<usize> {
        let head = Head { bytes, stem: stem(bytes)?, fields: Vec::new() };
        let number = self.all.len();
        self.all.push(head);
        let (heads, hashes) = (&self.all, &self.hashes);
        let rehash = |number: &u32| hashes.hash_one(heads[*number as usize].bytes);
        self.by_bytes.insert_unique(hash, u32::try_from(number).unwrap_or(u32::MAX), rehash);
        Ok(number)
    }
}

impl<'text> Head<'text> {
    #[cold]
    fn search(&mut self, name: &'text [u8], tally: &mut Tally) -> Result<Slot> {
        if let Some((_, slot)) = self.fields.iter().find(|(known, _)| *known == name) {
            return Ok(*slot);
        }
        let mut series = self.stem.clone();
        unescape(name, &mut series);
        let slot = tally.slot(&series)?;
        self.fields.push((name, slot));
        Ok(slot)
    }
}

fn stem(head: &[u8]) -> Result<String> {
    let mut parts = split(head, b',');
    let measurement = parts.next().unwrap_or_default();
    if measurement.is_empty() {
        return Err(malformed("A line begins with a measurement."));
    }
    let mut stem = String::with_capacity(head.len() + 1);
    unescape(measurement, &mut stem);
    stem.push(':');
    for tag in parts {
        let mut sides = split(tag, b'=');
        let (name, value) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        if name.is_empty() || value.is_empty() || sides.next().is_some() {
            return Err(malformed(
                "A tag is `name=value`, with `\\=`, `\\,` and `\\ ` for these characters themselves.",
            ));
        }
        unescape(name, &mut stem);
        stem.push('=');
        unescape(value, &mut stem);
        stem.push(':');
    }
    Ok(stem)
}

/// The parts between separators that no backslash stands before.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut is_escaped = false;
    text.split(move |byte| {
        let separates = *byte == separator && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        separates
    })
}

/// A backslash stands for itself, except before a comma, an equals sign or a space.
fn unescape(text: &[u8], out: &mut String) {
    let text = String::from_utf8_lossy(text);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = characters.next_if(|next| character == '\\' && matches!(next, ',' | '=' | ' '));
        out.push(escaped.unwrap_or(character));
    }
}
