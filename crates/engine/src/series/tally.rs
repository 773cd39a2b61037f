//! The events of one request, on their way to becoming increments.
//!
//! Nothing is allocated for an event: its series is a slot found by the bytes of its name, its time and number are pushed
//! to that slot's list, its member is a number given to the bytes when they are first seen. [`Tally::close`] sorts each list
//! once and adds up what fell on the same second; [`super::rollup`] goes on from there.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

use tickmark_store::Number;

use super::rollup::{Sums, add_up, add_up_decimals};
use super::{SeriesError, SeriesName};

pub const MEMBER_BYTES_MAX: usize = 1_024;

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Seconds since 1970.
    pub at: i64,
    pub what: What<'a>,
    /// How the sender finds it again, such as a line number: a refusal says it.
    pub number: u64,
}

#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    Count(Number),
    Member(&'a str),
}

/// A series in a [`Tally`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

#[derive(Debug, Default)]
pub struct Tally {
    hashes: RandomState,
    by_name: HashTable<u32>,
    slots: Vec<Open>,
    members: Members,
    events: u64,
}

#[derive(Debug)]
struct Open {
    name: SeriesName,
    sums: Sums,
    members: Vec<(u32, i64)>,
    first: First,
}

/// The first event of either sort: where a series can have only one, the other is to blame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct First {
    pub(super) count: Option<u64>,
    pub(super) member: Option<u64>,
}

impl Tally {
    pub fn new() -> Self {
        Self::default()
    }

    /// How many events were added.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The slot of a series. The name is checked when it is first seen.
    pub fn slot(&mut self, name: &str) -> Result<Slot, SeriesError> {
        let hash = self.hashes.hash_one(name.as_bytes());
        let is_it = |slot: &u32| self.slots[*slot as usize].name.as_str() == name;
        if let Some(slot) = self.by_name.find(hash, is_it) {
            return Ok(Slot(*slot));
        }
        let parsed = SeriesName::parse(name)?;
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let open = Open { name: parsed, sums: Sums::default(), members: Vec::new(), first: First::default() };
        self.slots.push(open);
        let (slots, hashes) = (&self.slots, &self.hashes);
        let rehash = |slot: &u32| hashes.hash_one(slots[*slot as usize].name.as_str().as_bytes());
        self.by_name.insert_unique(hash, slot, rehash);
        Ok(Slot(slot))
    }

    pub fn add(&mut self, slot: Slot, event: Event<'_>) -> Result<(), SeriesError> {
        match event.what {
            What::Count(Number::Int(n)) => self.add_int(slot, event.at, n, event.number),
            What::Count(Number::Decimal(n)) => {
                self.slots[slot.0 as usize].sums.decimals.push((event.at, n));
                self.note_count(slot, event.number);
            }
            What::Member(member) => {
                let len = member.len();
                if len == 0 || len > MEMBER_BYTES_MAX {
                    return Err(SeriesError::MemberLength { len, max: MEMBER_BYTES_MAX });
                }
                let member = self.members.number(member);
                let open = &mut self.slots[slot.0 as usize];
                open.members.push((member, event.at));
                open.first.member.get_or_insert(event.number);
                self.events += 1;
            }
        }
        Ok(())
    }

    /// The way most events take.
    #[inline]
    pub fn add_int(&mut self, slot: Slot, at: i64, n: i64, number: u64) {
        self.slots[slot.0 as usize].sums.ints.push((at, n));
        self.note_count(slot, number);
    }

    #[inline]
    fn note_count(&mut self, slot: Slot, number: u64) {
        self.slots[slot.0 as usize].first.count.get_or_insert(number);
        self.events += 1;
    }

    /// Adds up what fell on the same second.
    pub fn close(mut self) -> Result<Tallied, SeriesError> {
        let ranks = self.members.sort();
        let closed = self.slots.into_iter().filter(|open| open.first.count.is_some() || open.first.member.is_some());
        let mut series = Vec::with_capacity(closed.size_hint().1.unwrap_or(0));
        for Open { name, mut sums, mut members, first } in closed {
            sums.ints.sort_unstable_by_key(|(at, _)| *at);
            sums.decimals.sort_unstable_by_key(|(at, _)| *at);
            let added = add_up(&mut sums.ints).and_then(|()| add_up_decimals(&mut sums.decimals));
            added.ok_or_else(|| SeriesError::Overflow { series: name.to_string() })?;
            for (member, _) in &mut members {
                *member = ranks[*member as usize];
            }
            members.sort_unstable();
            members.dedup();
            series.push(Closed { name, sums, members, first });
        }
        Ok(Tallied { series, members: Arc::new(self.members), events: self.events })
    }
}

/// A request's events, a sum a second.
#[derive(Debug)]
pub struct Tallied {
    pub(super) series: Vec<Closed>,
    pub(super) members: Arc<Members>,
    events: u64,
}

impl Tallied {
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Each series by itself, its counts apart from its members, for a sender who would rather have some counted than none.
    /// What came first is first, because it decides what a new series is.
    pub fn split(self) -> impl Iterator<Item = Self> {
        let members = self.members;
        let alone = move |series| Self { series: vec![series], members: Arc::clone(&members), events: 0 };
        self.series.into_iter().flat_map(Closed::split).map(alone)
    }

    /// `NAME SECOND=SUM SECOND=SUM`, a series each: for tests of whatever reads events.
    pub fn sums(&self) -> Vec<String> {
        let number = |number| match number {
            Number::Int(int) => int.to_string(),
            Number::Decimal(decimal) => decimal.to_string(),
        };
        let spell = |series: &Closed| {
            let sums = series.sums.numbers().into_iter().map(|(at, sum)| format!(" {at}={}", number(sum)));
            std::iter::once(series.name.to_string()).chain(sums).collect()
        };
        self.series.iter().map(spell).collect()
    }
}

#[derive(Debug)]
pub(super) struct Closed {
    pub(super) name: SeriesName,
    pub(super) sums: Sums,
    /// Each member, by rank, and the seconds it was seen in.
    pub(super) members: Vec<(u32, i64)>,
    pub(super) first: First,
}

impl Closed {
    fn split(self) -> Vec<Self> {
        let Self { name, sums, members, first: First { count, member } } = self;
        let (mut counts, mut uniques) = (None, None);
        if count.is_some() {
            let first = First { count, member: None };
            counts = Some(Self { name: name.clone(), sums, members: Vec::new(), first });
        }
        if member.is_some() {
            uniques = Some(Self { name, sums: Sums::default(), members, first: First { count: None, member } });
        }
        let in_order = if member < count { [uniques, counts] } else { [counts, uniques] };
        in_order.into_iter().flatten().collect()
    }
}

/// The members of a request, each kept once: numbered as they come, ranked when all are there.
#[derive(Debug, Default)]
pub(super) struct Members {
    hashes: RandomState,
    by_bytes: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each member ends in `bytes`.
    ends: Vec<usize>,
    /// Once sorted, the number of each in turn.
    sorted: Vec<u32>,
}

impl Members {
    /// The member of a rank.
    pub(super) fn get(&self, rank: u32) -> &[u8] {
        &self.bytes[span(&self.ends, self.sorted[rank as usize])]
    }

    /// Gives each a rank in the order of bytes, and answers the rank of each number. Members are written in this order,
    /// because a store finds the next one beside the last.
    fn sort(&mut self) -> Vec<u32> {
        let Self { bytes, ends, .. } = &*self;
        let count = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        let member = |number: u32| &bytes[span(ends, number)];
        // The first eight bytes as an integer decide most comparisons.
        let head = |member: &[u8]| {
            let mut head = [0; 8];
            let length = member.len().min(head.len());
            head[..length].copy_from_slice(&member[..length]);
            u64::from_be_bytes(head)
        };
        let mut order: Vec<_> = (0..count).map(|number| (head(member(number)), number)).collect();
        order.sort_unstable_by(|(a_head, a), (b_head, b)| a_head.cmp(b_head).then_with(|| member(*a).cmp(member(*b))));
        let mut ranks = vec![0; ends.len()];
        for (rank, (_, number)) in (0..).zip(&order) {
            ranks[*number as usize] = rank;
        }
        self.sorted = order.into_iter().map(|(_, number)| number).collect();
        ranks
    }

    fn number(&mut self, member: &str) -> u32 {
        let member = member.as_bytes();
        let Self { hashes, by_bytes, bytes, ends, .. } = self;
        let hash = hashes.hash_one(member);
        if let Some(number) = by_bytes.find(hash, |number| bytes[span(ends, *number)] == *member) {
            return *number;
        }
        let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(member);
        ends.push(bytes.len());
        by_bytes.insert_unique(hash, number, |number| hashes.hash_one(&bytes[span(ends, *number)]));
        number
    }
}

fn span(ends: &[usize], number: u32) -> std::ops::Range<usize> {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    start..ends[number]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(at: i64, n: i64) -> Event<'static> {
        Event { at, what: What::Count(Number::Int(n)), number: 1 }
    }

    #[test]
    fn the_same_name_is_the_same_slot_and_the_same_second_one_sum() {
        let mut tally = Tally::new();
        for (name, at, n) in [("a", 61, 1), ("b", 0, 5), ("a", 0, 1), ("a", 61, 2), ("a", 3, -1)] {
            let slot = tally.slot(name).unwrap();
            tally.add(slot, count(at, n)).unwrap();
        }
        assert_eq!(tally.events(), 5);
        let tallied = tally.close().unwrap();
        let sums: Vec<_> = tallied.series.iter().map(|series| series.sums.ints.clone()).collect();
        assert_eq!(sums, [vec![(0, 1), (3, -1), (61, 3)], vec![(0, 5)]]);
    }

    #[test]
    fn only_the_sum_must_fit() {
        for (numbers, fits) in [(&[i64::MAX, 1][..], false), (&[i64::MAX, 1, -1], true), (&[i64::MIN, -1], false)] {
            let mut tally = Tally::new();
            let slot = tally.slot("a").unwrap();
            for n in numbers {
                tally.add(slot, count(0, *n)).unwrap();
            }
            assert_eq!(tally.close().is_ok(), fits, "{numbers:?}");
        }
    }

    #[test]
    fn members_are_kept_once() {
        let mut tally = Tally::new();
        let slot = tally.slot("a").unwrap();
        for (at, member) in [(0, "max"), (0, "max"), (1, "hugo"), (1, "max")] {
            tally.add(slot, Event { at, what: What::Member(member), number: 1 }).unwrap();
        }
        for bad in [String::new(), "m".repeat(MEMBER_BYTES_MAX + 1)] {
            tally.add(slot, Event { at: 0, what: What::Member(&bad), number: 1 }).unwrap_err();
        }
        let tallied = tally.close().unwrap();
        assert_eq!(tallied.series[0].members, [(0, 1), (1, 0), (1, 1)]);
        assert_eq!((tallied.members.get(0), tallied.members.get(1)), (&b"hugo"[..], &b"max"[..]));
    }
}
