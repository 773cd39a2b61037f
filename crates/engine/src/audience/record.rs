//! What is kept of a viewer: one record for the event and all its sessions, so that a heartbeat is one to read and one to
//! write.
//!
//! Bytes, because every heartbeat writes it again: a tag; the labels that the viewer's latest heartbeats had, a length and a
//! text each, after how many there are; then a part a scope. A part is the number of the scope (0 is the event), which of the
//! labels from 1, when first seen, when the latest viewing session began and how long it is, and how many viewing sessions
//! there were before it, with the start and duration of each. Numbers are in base 128, least first. The first time is in
//! milliseconds since 1970; all others count from that one. A part whose label is 0 ends there: they attended, and the rest is
//! forgotten.

use tickmark_store::Atom;

use super::Stretch;
use super::label::Labels;
use super::viewer::Viewer;

/// Viewing sessions before the latest that are kept of one viewer, in the event and all its sessions. Where there are more
/// the oldest are no longer told one by one; they stay in all totals.
pub const VIEWING_SESSIONS_MAX: usize = 10_000;

/// The first byte. No number begins with it, so a record is never taken for one.
const TAG: u8 = 1;
/// In place of a label, in a part of which nothing more is known. Labels count from 1.
const FORGOTTEN: u64 = 0;

/// What is known of somebody, by the number of the scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// None where somebody was seen, but nothing more is known any more.
    parts: Vec<(u32, Option<Viewer>)>,
}

impl Person {
    pub(super) fn get(&self, scope: u32) -> Option<&Viewer> {
        self.part(scope)?.as_ref()
    }

    /// What is known of them, by scope.
    pub(super) fn viewers(&self) -> impl Iterator<Item = (u32, &Viewer)> {
        self.parts.iter().filter_map(|(scope, part)| Some((*scope, part.as_ref()?)))
    }

    /// Whether they were ever seen there.
    pub(super) fn has_attended(&self, scope: u32) -> bool {
        self.part(scope).is_some()
    }

    pub(super) fn put(&mut self, scope: u32, viewer: Viewer) {
        match self.parts.iter_mut().find(|(number, _)| *number == scope) {
            Some((_, held)) => *held = Some(viewer),
            None => self.parts.push((scope, Some(viewer))),
        }
    }

    /// Forgets everything but that they were there.
    pub(super) fn forget(&mut self, scope: u32) -> Option<Viewer> {
        self.parts.iter_mut().find(|(number, _)| *number == scope)?.1.take()
    }

    /// Viewing sessions before the latest, in all scopes but one.
    pub(super) fn before_elsewhere(&self, scope: u32) -> usize {
        let elsewhere = self.parts.iter().filter(|(number, _)| *number != scope).filter_map(|(_, part)| part.as_ref());
        elsewhere.map(|viewer| viewer.before.len()).sum()
    }

    fn part(&self, scope: u32) -> Option<&Option<Viewer>> {
        self.parts.iter().find(|(number, _)| *number == scope).map(|(_, part)| part)
    }

    pub(super) fn write(&self, labels: &Labels) -> Atom {
        let mut used: Vec<u32> = Vec::with_capacity(1);
        for viewer in self.parts.iter().filter_map(|(_, part)| part.as_ref()) {
            if !used.contains(&viewer.label) {
                used.push(viewer.label);
            }
        }
        let mut out = Vec::with_capacity(128);
        out.push(TAG);
        put(&mut out, used.len() as u64);
        for label in &used {
            let text = labels.text(*label).as_bytes();
            put(&mut out, text.len() as u64);
            out.extend_from_slice(text);
        }
        let mut base_ms = None;
        for (scope, part) in &self.parts {
            put(&mut out, u64::from(*scope));
            let Some(viewer) = part else {
                put(&mut out, FORGOTTEN);
                continue;
            };
            put(&mut out, used.iter().position(|label| *label == viewer.label).unwrap_or(0) as u64 + 1);
            put_signed(&mut out, viewer.first_ms - base_ms.unwrap_or(0));
            let base_ms = *base_ms.get_or_insert(viewer.first_ms);
            put_stretch(&mut out, viewer.latest, base_ms);
            put(&mut out, viewer.before.len() as u64);
            viewer.before.iter().for_each(|stretch| put_stretch(&mut out, *stretch, base_ms));
        }
        Atom::from(out)
    }

    /// `None` for what this program did not write.
    pub(super) fn read(record: &Atom, labels: &mut Labels) -> Option<Self> {
        let Atom::Bytes(bytes) = record else { return None };
        let (tag, mut rest) = bytes.split_first()?;
        let rest = &mut rest;
        if *tag != TAG {
            return None;
        }
        let count = get(rest)?;
        let mut used = Vec::with_capacity(1);
        for _ in 0..count {
            let length = usize::try_from(get(rest)?).ok()?;
            let (text, after) = rest.split_at_checked(length)?;
            *rest = after;
            used.push(labels.number(std::str::from_utf8(text).ok().filter(|text| text.contains('#'))?));
        }
        let mut parts = Vec::with_capacity(4);
        let mut base_ms = None;
        while !rest.is_empty() {
            let scope = u32::try_from(get(rest)?).ok()?;
            let Some(label) = usize::try_from(get(rest)?).ok()?.checked_sub(1) else {
                parts.push((scope, None));
                continue;
            };
            let label = *used.get(label)?;
            let first_ms = get_signed(rest)?.checked_add(base_ms.unwrap_or(0))?;
            let base_ms = *base_ms.get_or_insert(first_ms);
            let latest = get_stretch(rest, base_ms)?;
            let count = usize::try_from(get(rest)?).ok().filter(|count| *count <= rest.len())?;
            let before: Vec<Stretch> = (0..count).map(|_| get_stretch(rest, base_ms)).collect::<Option<_>>()?;
            let starts_after = |end: &Stretch, next: &Stretch| end.end_ms < next.start_ms;
            let in_order =
                before.is_sorted_by(starts_after) && before.last().is_none_or(|last| starts_after(last, &latest));
            parts.push((scope, Some(in_order.then_some(Viewer { first_ms, before, latest, label })?)));
        }
        Some(Self { parts })
    }
}

fn put_stretch(out: &mut Vec<u8>, stretch: Stretch, base_ms: i64) {
    put_signed(out, stretch.start_ms - base_ms);
    put(out, (stretch.end_ms - stretch.start_ms).unsigned_abs());
}

fn get_stretch(rest: &mut &[u8], base_ms: i64) -> Option<Stretch> {
    let start_ms = get_signed(rest)?.checked_add(base_ms)?;
    Some(Stretch { start_ms, end_ms: start_ms.checked_add_unsigned(get(rest)?)? })
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn get(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Small numbers of either sign stay small: 0, -1, 1, -2 become 0, 1, 2, 3.
fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

fn get_signed(rest: &mut &[u8]) -> Option<i64> {
    let number = get(rest)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(start_ms: i64, end_ms: i64) -> Stretch {
        Stretch { start_ms, end_ms }
    }

    fn somebody(labels: &mut Labels) -> Person {
        let mut person = Person::default();
        let (web, app) = (labels.number("web#HK#staff#vip"), labels.number("app#"));
        let latest = stretch(1_763_000_500_000, 1_763_000_600_000);
        let before = vec![stretch(1_763_000_000_001, 1_763_000_000_001), stretch(1_763_000_200_000, 1_763_000_390_000)];
        person.put(0, Viewer { first_ms: 1_763_000_000_000, before, latest, label: web });
        person.put(7, Viewer { first_ms: latest.start_ms, before: Vec::new(), latest, label: web });
        person.put(
            300,
            Viewer { first_ms: -5, before: Vec::new(), latest: stretch(-5, i64::from(u32::MAX)), label: app },
        );
        person
    }

    #[test]
    fn comes_back_as_it_was() {
        let mut labels = Labels::default();
        let mut person = somebody(&mut labels);
        assert_eq!(Person::read(&person.write(&labels), &mut labels).as_ref(), Some(&person));
        assert_eq!((person.before_elsewhere(7), person.before_elsewhere(0)), (2, 0));
        person.forget(0).unwrap();
        assert_eq!((person.get(0), person.has_attended(0), person.has_attended(1)), (None, true, false));
        assert_eq!(Person::read(&person.write(&labels), &mut labels).as_ref(), Some(&person));
        assert_eq!(Person::default().write(&labels), Atom::from_bytes(b"\x01\x00"));
    }

    #[test]
    fn nonsense_is_not_read() {
        let mut labels = Labels::default();
        let record = somebody(&mut labels).write(&labels);
        let bytes = record.as_bytes();
        for length in 0..bytes.len() {
            // Cut between two parts it is still a record, of fewer scopes.
            let cut = Person::read(&Atom::from_bytes(&bytes[..length]), &mut labels);
            assert!(cut.is_none_or(|cut| cut != somebody(&mut Labels::default())), "{length}");
        }
        let unordered = Viewer { first_ms: 1, before: vec![stretch(1, 9)], latest: stretch(5, 9), label: 0 };
        let unordered = Person { parts: vec![(0, Some(unordered))] }.write(&labels);
        for atom in [Atom::from(7), Atom::from("7#0##web#"), Atom::from_bytes(b"\x01\xff\xff\xff\xff"), unordered] {
            assert_eq!(Person::read(&atom, &mut labels), None, "{atom:?}");
        }
    }
}
