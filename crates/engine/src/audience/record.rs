//! What is kept of a viewer: one record for the event and all its sessions, so that a heartbeat is one to read and one to
//! write.
//!
//! Bytes, because every heartbeat writes it again: a tag; the labels that the viewer's latest heartbeats had, a length and a
//! text each, after how many there are; then a part a scope. A part is the number of the scope (0 is the event), which of the
//! labels, when first seen, when the latest viewing session began and how long it is, and how many viewing sessions there
//! were before it, with the start and duration of each. Numbers are in base 128, least first. The first part has its time
//! in milliseconds since 1970; all other times count from that one.

use tickmark_store::Atom;

use super::Stretch;
use super::label::Labels;
use super::viewer::Viewer;

/// Viewing sessions before the latest that are kept of one viewer, in the event and all its sessions. Where there are more
/// the oldest are no longer told one by one; they stay in all totals.
pub const VIEWING_SESSIONS_MAX: usize = 10_000;

/// The first byte. No number begins with it, so a record is never taken for one.
const TAG: u8 = 1;

/// What is known of somebody, by the number of the scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    parts: Vec<(u32, Viewer)>,
}

impl Person {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn get(&self, scope: u32) -> Option<&Viewer> {
        self.parts.iter().find(|(number, _)| *number == scope).map(|(_, viewer)| viewer)
    }

    pub(super) fn take(&mut self, scope: u32) -> Option<Viewer> {
        let at = self.parts.iter().position(|(number, _)| *number == scope)?;
        Some(self.parts.remove(at).1)
    }

    pub(super) fn put(&mut self, scope: u32, viewer: Viewer) {
        match self.parts.iter_mut().find(|(number, _)| *number == scope) {
            Some((_, held)) => *held = viewer,
            None => self.parts.push((scope, viewer)),
        }
    }

    /// Viewing sessions before the latest, in all scopes but one.
    pub(super) fn before_elsewhere(&self, scope: u32) -> usize {
        self.parts.iter().filter(|(number, _)| *number != scope).map(|(_, viewer)| viewer.before.len()).sum()
    }

    pub(super) fn write(&self, labels: &Labels) -> Atom {
        let mut used: Vec<u32> = Vec::with_capacity(1);
        for (_, viewer) in &self.parts {
            if !used.contains(&viewer.label) {
                used.push(viewer.label);
            }
        }
        let mut out = Vec::with_capacity(64);
        out.push(TAG);
        put(&mut out, used.len() as u64);
        for label in &used {
            let text = labels.text(*label).as_bytes();
            put(&mut out, text.len() as u64);
            out.extend_from_slice(text);
        }
        let mut base_ms = 0;
        for (index, (scope, viewer)) in self.parts.iter().enumerate() {
            put(&mut out, u64::from(*scope));
            put(&mut out, used.iter().position(|label| *label == viewer.label).unwrap_or(0) as u64);
            put_signed(&mut out, viewer.first_ms - base_ms);
            if index == 0 {
                base_ms = viewer.first_ms;
            }
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
        let mut base_ms = 0;
        while !rest.is_empty() {
            let scope = u32::try_from(get(rest)?).ok()?;
            let label = *used.get(usize::try_from(get(rest)?).ok()?)?;
            let first_ms = get_signed(rest)?.checked_add(base_ms)?;
            if parts.is_empty() {
                base_ms = first_ms;
            }
            let latest = get_stretch(rest, base_ms)?;
            let count = usize::try_from(get(rest)?).ok().filter(|count| *count <= rest.len())?;
            let before: Vec<Stretch> = (0..count).map(|_| get_stretch(rest, base_ms)).collect::<Option<_>>()?;
            let starts_after = |end: &Stretch, next: &Stretch| end.end_ms < next.start_ms;
            let in_order =
                before.is_sorted_by(starts_after) && before.last().is_none_or(|last| starts_after(last, &latest));
            parts.push(in_order.then_some((scope, Viewer { first_ms, before, latest, label }))?);
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
        person.take(0).unwrap();
        assert_eq!(person.get(0), None);
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
        let unordered = Person { parts: vec![(0, unordered)] }.write(&labels);
        for atom in [Atom::from(7), Atom::from("7#0##web#"), Atom::from_bytes(b"\x01\xff\xff\xff\xff"), unordered] {
            assert_eq!(Person::read(&atom, &mut labels), None, "{atom:?}");
        }
    }
}
