//! The one place where keys of series are named.
//!
//! | key | on Cluster | |
//! |---|---|---|
//! | `NAME:GRANULARITY:GROUP` | `{NAME}:GRANULARITY:GROUP` | the counts |
//! | `tm:series:NAME` | `tm:series:{NAME}` | the declaration, and the channel that tells of changes |
//! | `tm:series` | `{tm:series}` | the names of all series |
//!
//! Everything of one series shares the tag `NAME`. No name begins with `tm:`, so the tag of the index is no series'.

use tickmark_store::{Key, Placement};

use super::SeriesName;

/// The tag of what is not one series'.
pub(super) const TAG: &str = "tm:series";

/// The keys of one series.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    stem: Vec<u8>,
    declaration: Key,
}

impl Keys {
    pub(super) fn of(placement: Placement, name: &SeriesName) -> Self {
        let mut stem = placement.key("", name.as_str(), "").as_bytes().to_vec();
        stem.push(b':');
        Self { stem, declaration: placement.key(TAG, name.as_str(), "") }
    }

    pub(super) fn declaration(&self) -> Key {
        self.declaration.clone()
    }

    pub(super) fn channel(&self) -> Key {
        self.declaration.clone()
    }

    /// What all counts of the series begin with, and those of series whose names go on from here.
    pub(super) fn prefix(&self) -> Key {
        Key::from(self.stem.as_slice())
    }

    pub(super) fn group(&self, granularity: &str, start: i64) -> Key {
        let mut number = itoa::Buffer::new();
        let number = number.format(start);
        let mut key = Vec::with_capacity(self.stem.len() + granularity.len() + 1 + number.len());
        key.extend_from_slice(&self.stem);
        key.extend_from_slice(granularity.as_bytes());
        key.push(b':');
        key.extend_from_slice(number.as_bytes());
        Key::from(key)
    }

    /// Whether a key that begins with the prefix holds counts of this series, and not of one with a longer name.
    pub(super) fn owns(&self, key: &Key) -> bool {
        let rest = key.as_bytes().strip_prefix(self.stem.as_slice());
        let parts = rest.and_then(|rest| std::str::from_utf8(rest).ok()).and_then(|rest| rest.split_once(':'));
        parts.is_some_and(|(_, start)| start.parse::<i64>().is_ok())
    }
}

/// The key of the index: a sorted set of names, all with score 0.
pub(super) fn index(placement: Placement) -> Key {
    placement.key("", TAG, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys() {
        let name = SeriesName::parse("purchases:item1").unwrap();
        for (placement, group, declaration, all) in [
            (Placement::Together, "purchases:item1:1sec:0", "tm:series:purchases:item1", "tm:series"),
            (Placement::ByTag, "{purchases:item1}:1sec:0", "tm:series:{purchases:item1}", "{tm:series}"),
        ] {
            let keys = Keys::of(placement, &name);
            assert_eq!(keys.group("1sec", 0), Key::from(group));
            assert_eq!((keys.declaration(), index(placement)), (Key::from(declaration), Key::from(all)));
            assert!(keys.owns(&keys.group("week", -259_200)));
        }
    }

    #[test]
    fn a_longer_name_is_another_series() {
        let name = SeriesName::parse("a").unwrap();
        let keys = Keys::of(Placement::Together, &name);
        for (key, owned) in [("a:1sec:0", true), ("a:b:1sec:0", false), ("a:1sec", false), ("ab:1sec:0", false)] {
            assert_eq!(keys.owns(&Key::from(key)), owned, "{key}");
        }
    }
}
