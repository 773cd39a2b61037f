//! What is kept of a viewer under `…#Statistics`: a text, so that whoever looks into the store can read it.
//!
//! `FIRST#START#BEFORE#LOCATION#COUNTRY#GROUP#GROUP…`. `FIRST` is when the viewer was first seen, in milliseconds. `START` is
//! the start of the latest viewing session, in milliseconds after that. `BEFORE` has the viewing sessions before, as
//! `START+DURATION`, separated by spaces. The rest is what the latest heartbeat said. When they were last seen is the end of
//! the latest viewing session; it is in `…#Heartbeat`, so that a heartbeat that only says "still there" leaves the record
//! as it is.

use std::fmt::Write;

use tickmark_store::Atom;

use super::Stretch;
use super::label::Labels;
use super::viewer::Viewer;

/// Viewing sessions before the latest that are kept of one viewer. Where there are more the oldest are no longer told one by
/// one; they stay in all totals.
pub const VIEWING_SESSIONS_MAX: usize = 10_000;

pub(super) fn write(viewer: &Viewer, labels: &Labels) -> Atom {
    let (first_ms, latest) = (viewer.first_ms, viewer.latest());
    let mut text = String::with_capacity(48);
    let _ = write!(text, "{first_ms}#{}#", latest.start_ms - first_ms);
    let before = viewer.stretches.len().saturating_sub(1);
    for (index, stretch) in viewer.stretches[..before].iter().enumerate() {
        let space = if index == 0 { "" } else { " " };
        let _ = write!(text, "{space}{}+{}", stretch.start_ms - first_ms, stretch.end_ms - stretch.start_ms);
    }
    text.push('#');
    text.push_str(labels.text(viewer.label));
    Atom::from(text)
}

/// `None` for what this program did not write.
pub(super) fn read(record: &Atom, last_ms: i64, labels: &mut Labels) -> Option<Viewer> {
    let Atom::Bytes(bytes) = record else { return None };
    let mut parts = std::str::from_utf8(bytes).ok()?.splitn(4, '#');
    let first_ms: i64 = parts.next()?.parse().ok()?;
    let start_ms = first_ms.checked_add(parts.next()?.parse().ok()?)?;
    let before = parts.next()?;
    let label = labels.number(parts.next().filter(|label| label.contains('#'))?);
    let mut stretches = Vec::with_capacity(1);
    for stretch in before.split(' ').filter(|stretch| !stretch.is_empty()) {
        let (start, duration) = stretch.split_once('+')?;
        let start_ms = first_ms.checked_add(start.parse().ok()?)?;
        stretches.push(Stretch { start_ms, end_ms: start_ms.checked_add(duration.parse().ok()?)? });
    }
    stretches.push(Stretch { start_ms, end_ms: last_ms });
    let in_order = stretches.iter().all(|stretch| stretch.start_ms <= stretch.end_ms)
        && stretches.windows(2).all(|pair| pair[0].end_ms < pair[1].start_ms);
    in_order.then_some(Viewer { first_ms, stretches, label })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        let stretch = |start_ms, end_ms| Stretch { start_ms, end_ms };
        for (stretches, label, text) in [
            (vec![stretch(1_000, 1_000)], "web#", "1000#0##web#"),
            (vec![stretch(1_000, 9_000)], "web#HK#staff#vip", "1000#0##web#HK#staff#vip"),
            (vec![stretch(1, 5), stretch(90, 100), stretch(500, 600)], "app#", "1#499#0+4 89+10#app#"),
        ] {
            let mut labels = Labels::default();
            let viewer = Viewer { first_ms: stretches[0].start_ms, label: labels.number(label), stretches };
            let record = write(&viewer, &labels);
            assert_eq!(record, Atom::from(text));
            assert_eq!(read(&record, viewer.last_ms(), &mut labels), Some(viewer));
        }
    }

    #[test]
    fn nonsense_is_not_read() {
        for text in [
            "",
            "7",
            "1#2",
            "1#2#",
            "1#2##web",
            "x#0##web#",
            "1#0#5#web#",
            "9#0##web#",
            "1#9#0+4 2+3#web#",
            "9223372036854775807#1##web#",
        ] {
            assert_eq!(read(&Atom::from(text), 8, &mut Labels::default()), None, "{text:?}");
        }
    }
}
