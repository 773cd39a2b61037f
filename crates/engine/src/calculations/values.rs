//! The values of one request, by key: read once, in the order of time, the last of each instant.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use tickmark_stats::{Calendar, Timestamp, WallClock};
use tickmark_store::Atom;

use super::{CalculationError, KeyPath, PartName, Project};

/// Values in one request.
pub const VALUES_MAX: usize = 250_000;

/// Values of a key to make room for at once.
const VALUES_EXPECTED: usize = 16;
/// As most of them are: `2014-10-17 21:34:07 -0400`.
const FIELD_BYTES: usize = 25;

/// Values as they come in.
#[derive(Debug)]
pub struct Incoming {
    project: PartName,
    settings: Project,
    slots: Vec<Slot>,
    hashes: RandomState,
    by_name: HashTable<u32>,
    /// Where the last value went: the next is often of the same key.
    last: usize,
    count: u64,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) path: Arc<KeyPath>,
    /// Microseconds and value.
    pub(super) values: Vec<(i64, f64)>,
    /// The names that the values are kept by, for whoever comes first.
    fields: Mutex<Option<Vec<Atom>>>,
}

impl Slot {
    /// The names that the values are kept by.
    pub(super) fn fields(&self, clock: &mut WallClock<'_>) -> Vec<Atom> {
        let spelled = self.fields.lock().unwrap_or_else(PoisonError::into_inner).take();
        spelled.unwrap_or_else(|| spelled_by(clock, &self.values))
    }
}

fn spelled_by(clock: &mut WallClock<'_>, values: &[(i64, f64)]) -> Vec<Atom> {
    let field = |(at, _): &(i64, f64)| {
        let mut text = Vec::with_capacity(FIELD_BYTES);
        clock.write(Timestamp::from_micros(*at), &mut text);
        // Never the spelling of a number: it has spaces.
        Atom::Bytes(text.into())
    };
    values.iter().map(field).collect()
}

/// Values of a request, ready to be kept.
#[derive(Debug)]
pub struct Values {
    pub(super) project: PartName,
    pub(super) settings: Project,
    pub(super) slots: Vec<Slot>,
    count: u64,
}

impl Incoming {
    /// For a project with these settings.
    pub fn new(project: PartName, settings: Project) -> Self {
        Self {
            project,
            settings,
            slots: Vec::new(),
            hashes: RandomState::default(),
            by_name: HashTable::new(),
            last: 0,
            count: 0,
        }
    }

    /// Where local times are read.
    pub fn calendar(&self) -> &Arc<Calendar> {
        self.settings.calendar()
    }

    pub fn add(&mut self, dimension: &str, key: &str, at: Timestamp, value: f64) -> Result<(), CalculationError> {
        if !value.is_finite() {
            return Err(CalculationError::NotFinite(value));
        }
        let slot = self.slot(dimension, key)?;
        // Negative zero is zero, and would be spelled like no other number.
        self.slots[slot].values.push((at.as_micros(), value + 0.0));
        self.count += 1;
        Ok(())
    }

    pub fn len(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts the values of each key in order and keeps the last of each instant.
    pub fn close(mut self) -> Values {
        let calendar = Arc::clone(&self.settings.calendar);
        let mut clock = calendar.wall_clock();
        for slot in &mut self.slots {
            let values = &mut slot.values;
            if !values.is_sorted_by(|left, right| left.0 < right.0) {
                values.sort_by_key(|(at, _)| *at);
                // Of equal instants the first is kept here, so the order is turned around for it.
                values.reverse();
                values.dedup_by_key(|(at, _)| *at);
                values.reverse();
            }
            // Now, because later others wait for their turn.
            slot.fields = Mutex::new(Some(spelled_by(&mut clock, values)));
        }
        Values { project: self.project, settings: self.settings, slots: self.slots, count: self.count }
    }

    fn slot(&mut self, dimension: &str, key: &str) -> Result<usize, CalculationError> {
        let is_it = |slot: &Slot| slot.path.key.as_str() == key && slot.path.dimension.as_str() == dimension;
        if self.slots.get(self.last).is_some_and(is_it) {
            return Ok(self.last);
        }
        let hash = self.hashes.hash_one((dimension, key));
        if let Some(slot) = self.by_name.find(hash, |slot| is_it(&self.slots[*slot as usize])) {
            self.last = *slot as usize;
            return Ok(self.last);
        }
        let (dimension, key) = (PartName::parse(dimension)?, PartName::parse(key)?);
        let number = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let path = Arc::new(KeyPath { project: self.project.clone(), dimension, key });
        self.slots.push(Slot { path, values: Vec::with_capacity(VALUES_EXPECTED), fields: Mutex::default() });
        let (slots, hashes) = (&self.slots, &self.hashes);
        self.by_name.insert_unique(hash, number, |slot| {
            let path = &slots[*slot as usize].path;
            hashes.hash_one((path.dimension.as_str(), path.key.as_str()))
        });
        self.last = number as usize;
        Ok(self.last)
    }
}

impl Values {
    /// How many came, repetitions included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The keys that have a value.
    pub fn paths(&self) -> impl Iterator<Item = &KeyPath> {
        self.slots.iter().map(|slot| &*slot.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_an_instant_counts() {
        let mut incoming = Incoming::new(PartName::parse("2").unwrap(), Project::standard());
        for (key, at, value) in
            [("a", 3, 1.0), ("b", 1, 5.0), ("a", 1, 2.0), ("a", 3, 4.0), ("a", 2, -0.0), ("a", 3, 3.0)]
        {
            incoming.add("d", key, Timestamp::from_micros(at), value).unwrap();
        }
        assert!(matches!(
            incoming.add("d", "a", Timestamp::MIN, f64::NAN),
            Err(CalculationError::NotFinite(value)) if value.is_nan()
        ));
        assert!(matches!(incoming.add("d", "a:b", Timestamp::MIN, 1.0), Err(CalculationError::Name(_))));
        let values = incoming.close();
        assert_eq!(values.count(), 6);
        assert_eq!(values.slots[0].values, [(1, 2.0), (2, 0.0), (3, 3.0)]);
        assert_eq!(values.slots[1].values, [(1, 5.0)]);
    }
}
