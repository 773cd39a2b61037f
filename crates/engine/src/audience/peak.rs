//! The most viewers active at one instant.
//!
//! Adding heartbeats only ever adds time in which someone is active, so no instant's number falls, and the peak can only be
//! exceeded where something was added. Writers note those stretches of five minutes. How many are active at the first
//! instant of a stretch is in its record; from there on the number rises where viewing sessions begin, which is counted by
//! second and millisecond (`joins.rs`), and falls where they stop making their viewer active, which are counted by rank or in
//! memory. So a stretch is looked into only if those active at its start and those who joined in it would together exceed what is
//! known; else it is left out. It is halved until a second is left, and of that each instant at which somebody joined is
//! looked at.

use std::ops::{Bound, Range};

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Op, Query, Reply, ScoreRange};

use super::joins::{Joins, SECONDS};
use super::registry::{Audience, Known, next};
use super::statistics::RECORD_MS;
use super::sums::VIEWERS;
use super::times::Times;
use super::turn::Held;
use super::{AudienceName, Peak, Scope};
use crate::Result;

/// Stretches measured in one read.
const PAGE: usize = 50;
/// Times that a reader starts over because something was added while it looked.
const ATTEMPTS: usize = 3;

/// Fields of the hash of totals.
const PEAK: &str = "peak";
const PEAK_AT: &str = "peak_at";
/// What ended before then may be forgotten.
pub(super) const FORGOTTEN: &str = "forgotten_before";

/// Some seconds of a stretch, and what happens in them.
struct Span<'a> {
    joins: &'a Joins,
    /// By number within the stretch, from one to before the other.
    from: usize,
    to: usize,
    /// Active at the instant before it.
    before: i64,
    starts: i64,
    stops: i64,
}

/// What is kept, and what is yet to be looked at.
#[derive(PartialEq)]
struct Kept {
    peak: Peak,
    record: Option<Atom>,
    forgotten_before: Option<Atom>,
    unsettled: Vec<(Atom, Atom)>,
}

impl Audience {
    pub async fn peak(&self, account: Account, scope: &Scope) -> Result<Peak> {
        let keys = self.scope_keys(scope, super::keys::Stem::Seed);
        let (known, replies) = self.known_with(account, scope, kept_queries(&keys)).await?;
        let mut kept = Kept::read(replies)?;
        let search = Search { audience: self, account, event: &scope.event, known: &known, alone: None };
        let mut peak = search.run(&kept).await?;
        for _ in 0..ATTEMPTS {
            if kept.unsettled.is_empty() {
                break;
            }
            // What was added while it looked may have been seen in part.
            let since = self.kept(account, &known).await?;
            if since == kept {
                break;
            }
            kept = since;
            peak = search.run(&kept).await?;
        }
        Ok(peak)
    }

    async fn kept(&self, account: Account, known: &Known) -> Result<Kept> {
        Kept::read(self.store.read(account, kept_queries(&known.keys)).await?)
    }

    /// Looks into the stretches that something was added to, and keeps what it finds. Where times are in memory, by who is alone.
    pub(super) async fn settle_peak(
        &self,
        account: Account,
        event: &AudienceName,
        known: &Known,
        alone: Option<&Held>,
    ) -> Result<()> {
        let (mut kept, mut guards) = (self.kept(account, known).await?, Vec::new());
        if kept.unsettled.is_empty() {
            return Ok(());
        }
        if let Some(held) = alone {
            self.refresh(account, event, held).await?;
            let batches = held.times().as_ref().and_then(Times::batches);
            guards.extend(batches.map(|batches| self.batches_guard(event, batches)));
            kept = self.kept(account, known).await?;
        }
        let peak = Search { audience: self, account, event, known, alone }.run(&kept).await?;
        let (totals, unsettled) = (known.keys.totals(), known.keys.unsettled());
        let total = |field: &str, is| Guard::Field { key: totals.clone(), field: Atom::from(field), is };
        guards.extend([total(PEAK, kept.record), total(FORGOTTEN, kept.forgotten_before)]);
        let mut batch = Batch { guards, ops: Vec::new() };
        let fields = vec![
            (Atom::from(PEAK), Atom::from(i64::try_from(peak.viewers).unwrap_or(i64::MAX))),
            (Atom::from(PEAK_AT), Atom::from(peak.at_ms.unwrap_or(0))),
        ];
        batch.ops.push(Op::HashSet { key: totals, fields });
        for (field, count) in &kept.unsettled {
            batch.guards.push(Guard::Field { key: unsettled.clone(), field: field.clone(), is: Some(count.clone()) });
        }
        let fields = kept.unsettled.into_iter().map(|(field, _)| field).collect();
        batch.ops.push(Op::HashRemove { key: unsettled, fields });
        match self.store.commit(account, batch).await {
            // Something was added meanwhile; it is looked at the next time.
            Ok(_) | Err(StoreError::GuardFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Looking for the peak of a scope.
struct Search<'a> {
    audience: &'a Audience,
    account: Account,
    event: &'a AudienceName,
    known: &'a Known,
    /// Where nobody else writes to the event while it looks.
    alone: Option<&'a Held>,
}

impl Search<'_> {
    async fn run(&self, kept: &Kept) -> Result<Peak> {
        let (account, known) = (self.account, self.known);
        let mut peak = kept.peak;
        // Of stretches that someone who is forgotten may have been active in, only the first instant is known.
        let forgotten_before = kept.forgotten_before.as_ref().and_then(Atom::as_int);
        let whole_from_ms = forgotten_before.map_or(i64::MIN, |before| before + known.threshold_ms + 1);
        let stretches: Vec<i64> = kept.unsettled.iter().filter_map(|(stretch, _)| stretch.as_int()).collect();
        let mut found = Vec::with_capacity(stretches.len());
        for page in stretches.chunks(PAGE) {
            let queries = page.iter().flat_map(|stretch| {
                let active = Query::HashGet { key: known.keys.record(stretch * RECORD_MS), field: Atom::from(VIEWERS) };
                [active, Joins::query(&known.keys, *stretch)]
            });
            let mut replies = self.audience.store.read(account, queries.collect()).await?.into_iter();
            for stretch in page {
                let active = next(&mut replies)?.value()?.and_then(|active| active.as_int()).unwrap_or(0);
                let joins = Joins::read(*stretch, next(&mut replies)?)?;
                peak.raise(active, joins.at_ms(0));
                if joins.at_ms(0) >= whole_from_ms {
                    found.push((active, joins));
                }
            }
        }
        let mut spans = Vec::with_capacity(found.len());
        for (active, joins) in &found {
            let span =
                Span { joins, from: 0, to: SECONDS, before: *active, starts: joins.within(0, SECONDS), stops: 0 };
            if span.may_exceed(&peak) {
                let stops = self.stops(span.first_ms(), [span.end_ms()]).await?;
                spans.push(Span { stops: stops[0], ..span });
            }
        }
        // Where most are active first: what is found there leaves less to look at.
        spans.sort_unstable_by_key(|span| span.before + span.starts);
        while let Some(span) = spans.pop() {
            if !span.may_exceed(&peak) {
                continue;
            }
            if span.to - span.from == 1 {
                self.look(&span, &mut peak).await?;
            } else {
                spans.extend(self.halved(span).await?);
            }
        }
        Ok(peak)
    }

    async fn halved<'a>(&self, span: Span<'a>) -> Result<[Span<'a>; 2]> {
        let middle = usize::midpoint(span.from, span.to);
        let stops = self.stops(span.first_ms(), [span.joins.at_ms(middle)]).await?[0];
        let starts = span.joins.within(span.from, middle);
        let first = Span { to: middle, starts, stops, ..span };
        let second = Span {
            from: middle,
            before: span.before + starts - stops,
            starts: span.starts - starts,
            stops: span.stops - stops,
            ..span
        };
        Ok([first, second])
    }

    /// Goes through the instants of a second.
    async fn look(&self, span: &Span<'_>, peak: &mut Peak) -> Result<()> {
        let query = span.joins.query_second(&self.known.keys, span.from);
        let joined = span.joins.read_second(span.from, self.audience.one(self.account, query).await?)?;
        let stops = joined.iter().map(|(at_ms, _)| at_ms + 1);
        let stops = self.stops(span.first_ms(), stops).await?;
        let mut active = span.before;
        for ((at_ms, starts), stops) in joined.into_iter().zip(stops) {
            active += starts;
            peak.raise(active - stops, at_ms);
        }
        Ok(())
    }

    /// How many viewing sessions stop making their viewer active from one instant to before each of others. One that ends at
    /// e makes active through e + threshold, so it stops at the instant after.
    async fn stops(&self, from_ms: i64, to_ms: impl IntoIterator<Item = i64>) -> Result<Vec<i64>> {
        let known = self.known;
        let ended = |at_ms: i64| at_ms - known.threshold_ms - 1;
        let ranges: Vec<Range<i64>> = to_ms.into_iter().map(|to_ms| ended(from_ms)..ended(to_ms)).collect();
        let before = ranges.iter().map(|range| {
            let range = ScoreRange { from: Bound::Included(range.start as f64), to: Bound::Excluded(range.end as f64) };
            Query::SortedCount { key: known.keys.ended(), range }
        });
        let before = self.audience.store.read(self.account, before.collect()).await?;
        let latest: Vec<u64> = match self.alone {
            // None where the event was deleted meanwhile.
            Some(held) => {
                let times = held.times();
                let count = |range| times.as_ref().map_or(0, |times| times.count(known.number, range));
                ranges.iter().map(count).collect()
            }
            None => self.audience.seen_in(self.account, self.event, known, &ranges).await?,
        };
        let sum = |(latest, before): (u64, Reply)| Ok(i64::try_from(latest + before.count()?).unwrap_or(i64::MAX));
        latest.into_iter().zip(before).map(sum).collect()
    }
}

impl Span<'_> {
    /// Its first instant; of the whole stretch the second, because the number at the first is known.
    fn first_ms(&self) -> i64 {
        self.joins.at_ms(self.from) + i64::from(self.from == 0)
    }

    fn end_ms(&self) -> i64 {
        self.joins.at_ms(self.to)
    }

    fn may_exceed(&self, peak: &Peak) -> bool {
        let most = u64::try_from(self.before + self.starts).unwrap_or(0);
        let is_earlier = peak.at_ms.is_none_or(|at_ms| self.first_ms() < at_ms);
        self.starts > 0 && (most > peak.viewers || (most == peak.viewers && is_earlier))
    }
}

impl Peak {
    fn raise(&mut self, active: i64, at_ms: i64) {
        let viewers = u64::try_from(active).unwrap_or(0);
        let is_earlier = self.at_ms.is_none_or(|known_ms| at_ms < known_ms);
        if viewers > self.viewers || (viewers == self.viewers && is_earlier && viewers > 0) {
            *self = Self { viewers, at_ms: Some(at_ms) };
        }
    }
}

impl Kept {
    fn read(replies: Vec<Reply>) -> Result<Self> {
        let mut replies = replies.into_iter();
        let values = next(&mut replies)?.values()?;
        let unsettled = next(&mut replies)?.fields()?;
        let number = |index: usize| values.get(index)?.as_ref()?.as_int();
        let viewers = number(0).and_then(|viewers| u64::try_from(viewers).ok()).unwrap_or(0);
        let peak = Peak { viewers, at_ms: number(1).filter(|_| viewers > 0) };
        let mut values = values.into_iter();
        let (record, _, forgotten_before) = (values.next(), values.next(), values.next());
        Ok(Self { peak, record: record.flatten(), forgotten_before: forgotten_before.flatten(), unsettled })
    }
}

fn kept_queries(keys: &super::keys::ScopeKeys) -> Vec<Query> {
    let fields = [PEAK, PEAK_AT, FORGOTTEN].map(Atom::from).to_vec();
    vec![Query::HashGetMany { key: keys.totals(), fields }, Query::HashAll { key: keys.unsettled() }]
}
