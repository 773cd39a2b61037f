//! From tallied events to the batches that keep them.

use hashbrown::HashMap;
use tickmark_store::{AddWhen, Atom, Batch, Guard, Key, Number, Op, Placement};

use super::catalog::Declared;
use super::keys::Keys;
use super::rollup;
use super::tally::{Closed, First, Members, Tallied};
use super::{Declaration, Granularity, Kind, Layout, SeriesError, SeriesName};

/// What keeps a request: a part a series. A store that is in one place is best given all of them in one batch.
#[derive(Debug, Default)]
pub struct Writing {
    pub parts: Vec<Part>,
}

/// Operations under one tag.
#[derive(Debug)]
pub struct Part {
    pub tag: String,
    pub batch: Batch,
}

impl Writing {
    pub(super) fn put(&mut self, name: &SeriesName, batch: Batch) {
        self.parts.push(Part { tag: name.to_string(), batch });
    }
}

/// What one series' events do, given what the series is declared to be.
pub(super) fn counted(
    keys: &Keys,
    declared: &Declared,
    series: &Closed,
    members: &Members,
) -> Result<Batch, SeriesError> {
    check_sort(&series.name, declared.declaration.kind(), series.first)?;
    let mut batch = Batch::new();
    batch.guards.push(Guard::Value { key: keys.declaration(), is: declared.record.clone() });
    if let Some(record) = declared.record_once_used() {
        batch.ops.push(Op::Set { key: keys.declaration(), value: record });
    }
    let mut ops = Ops { keys, ops: &mut batch.ops };
    match declared.declaration.kind() {
        Kind::Count(layout) => ops.counts(layout, &declared.declaration, series)?,
        Kind::Unique => ops.members(&declared.declaration, series, |ops, granularity, group, seen| {
            ops.unique(granularity, group, seen, members);
        }),
        Kind::UniqueApprox => ops.members(&declared.declaration, series, |ops, granularity, group, seen| {
            ops.unique_approx(granularity, group, seen, members);
        }),
    }
    batch.ops.push(Op::Publish { channel: keys.channel(), message: Box::default() });
    Ok(batch)
}

/// A series takes counts or members, never both.
fn check_sort(name: &SeriesName, kind: Kind, first: First) -> Result<(), SeriesError> {
    match (kind.takes_members(), first) {
        (true, First { count: Some(event), .. }) => Err(SeriesError::MissingMember { series: name.to_string(), event }),
        (false, First { member: Some(event), .. }) => {
            Err(SeriesError::UnexpectedMember { series: name.to_string(), event })
        }
        _ => Ok(()),
    }
}

/// A bucket, and a member seen in it, by its rank.
type Sighting = (i64, u32);

struct Ops<'a> {
    keys: &'a Keys,
    ops: &'a mut Vec<Op>,
}

impl Ops<'_> {
    fn counts(&mut self, layout: Layout, declaration: &Declaration, series: &Closed) -> Result<(), SeriesError> {
        let rolled = rollup::each(&series.sums, declaration.granularities(), |granularity, sums| {
            if sums.decimals.is_empty() {
                self.increments(layout, granularity, &sums.ints, |n| Number::Int(*n));
            } else {
                self.increments(layout, granularity, &sums.numbers(), |n| *n);
            }
        });
        rolled.ok_or_else(|| SeriesError::Overflow { series: series.name.to_string() })
    }

    fn increments<T>(
        &mut self,
        layout: Layout,
        granularity: &Granularity,
        sums: &[(i64, T)],
        number: impl Fn(&T) -> Number,
    ) {
        match layout {
            Layout::Hash => {
                let mut rest = sums;
                while let Some((first, _)) = rest.first() {
                    let start = granularity.group(*first);
                    let end = granularity.group_seconds().map_or(start + 1, |seconds| start + seconds);
                    let (group, others) = rest.split_at(rest.partition_point(|(bucket, _)| *bucket < end));
                    let key = self.keys.group(granularity.name(), start);
                    let fields = group.iter().map(|(bucket, n)| (Atom::Int(*bucket), number(n))).collect();
                    self.push(granularity, key, |key| Op::HashIncrement { key, fields });
                    rest = others;
                }
            }
            Layout::String => {
                for (bucket, n) in sums {
                    let key = self.keys.group(granularity.name(), *bucket);
                    self.push(granularity, key, |key| Op::Increment { key, by: number(n) });
                }
            }
        }
    }

    /// The members come ordered by member and then by time, so the same bucket twice is next to itself.
    fn members(
        &mut self,
        declaration: &Declaration,
        series: &Closed,
        put: impl Fn(&mut Self, &Granularity, i64, Vec<Sighting>),
    ) {
        for granularity in declaration.granularities() {
            let mut groups: HashMap<i64, Vec<Sighting>, foldhash::fast::RandomState> = HashMap::default();
            let mut last = None;
            for (member, at) in &series.members {
                let bucket = granularity.floor(*at);
                if last.replace((*member, bucket)) != Some((*member, bucket)) {
                    groups.entry(granularity.group(bucket)).or_default().push((bucket, *member));
                }
            }
            let mut groups: Vec<_> = groups.into_iter().collect();
            groups.sort_unstable_by_key(|(group, _)| *group);
            for (group, mut seen) in groups {
                seen.sort_unstable();
                put(self, granularity, group, seen);
            }
        }
    }

    fn unique(&mut self, granularity: &Granularity, group: i64, seen: Vec<Sighting>, members: &Members) {
        let key = self.keys.group(granularity.name(), group);
        let scored = seen.into_iter().map(|(bucket, member)| (joined(bucket, members.get(member)), bucket as f64));
        let members = scored.collect();
        self.push(granularity, key, |key| Op::SortedAdd { key, when: AddWhen::Always, members });
    }

    fn unique_approx(&mut self, granularity: &Granularity, group: i64, seen: Vec<Sighting>, members: &Members) {
        let key = self.keys.group(granularity.name(), group);
        let members = seen.into_iter().map(|(_, member)| Atom::from_bytes(members.get(member))).collect();
        self.push(granularity, key, |key| Op::HllAdd { key, members });
    }

    fn push(&mut self, granularity: &Granularity, key: Key, op: impl FnOnce(Key) -> Op) {
        match granularity.ttl_seconds() {
            Some(ttl) => {
                self.ops.push(op(key.clone()));
                self.ops.push(Op::ExpireIn { key, ms: ttl * 1_000 });
            }
            None => self.ops.push(op(key)),
        }
    }
}

/// `BUCKET:MEMBER`, which never spells a number.
fn joined(bucket: i64, member: &[u8]) -> Atom {
    let mut number = itoa::Buffer::new();
    let number = number.format(bucket).as_bytes();
    let mut bytes = Vec::with_capacity(number.len() + 1 + member.len());
    bytes.extend_from_slice(number);
    bytes.push(b':');
    bytes.extend_from_slice(member);
    Atom::Bytes(bytes.into())
}

/// The kind that a series gets whose first event this is.
pub(super) fn kind_of(first: First) -> Kind {
    let member_first = match (first.member, first.count) {
        (Some(member), Some(count)) => member < count,
        (member, _) => member.is_some(),
    };
    if member_first { Kind::Unique } else { Kind::Count(Layout::Hash) }
}

/// The tags of the parts that the events will make, where that matters.
pub(super) fn tags(placement: Placement, tallied: &Tallied) -> Vec<String> {
    match placement {
        Placement::Together => Vec::new(),
        Placement::ByTag => tallied.series.iter().map(|series| series.name.to_string()).collect(),
    }
}
