//! The most viewers active at one instant.
//!
//! Adding heartbeats only ever adds time in which someone is active, so no instant's number falls, and the peak can only be
//! exceeded where something was added. Writers note those stretches of five minutes. How many are active at an instant is
//! the number of viewing sessions that began by then, less those that ended more than the threshold before: two ranks in
//! sorted sets, at any instant of the past. It rises only where viewing sessions begin. So a stretch is looked into only if
//! those active at its start and those who joined in it would together exceed what is known; else it is halved, or left out.

use std::ops::Bound;

use tickmark_store::{Account, Atom, Batch, Error as StoreError, Guard, Op, Order, Query, Reply, ScoreRange};

use super::planning::whole_ms;
use super::registry::{Audience, Known, next};
use super::statistics::RECORD_MS;
use super::{Peak, Scope};
use crate::Result;

/// Starts, and ends, that are read to look at every instant of a stretch.
const DETAIL: u64 = 512;
/// Stretches measured in one read.
const PAGE: usize = 1_000;

/// Fields of the hash of totals.
const PEAK: &str = "peak";
const PEAK_AT: &str = "peak_at";

/// From one instant to before another, and what happens in between.
#[derive(Clone, Copy, Debug)]
struct Span {
    from_ms: i64,
    to_ms: i64,
    /// Active at the instant before it.
    before: i64,
    starts: i64,
    ends: i64,
}

/// What is kept, and what is yet to be looked at.
struct Kept {
    peak: Peak,
    record: Option<Atom>,
    unsettled: Vec<(Atom, Atom)>,
}

impl Audience {
    pub async fn peak(&self, account: Account, scope: &Scope) -> Result<Peak> {
        let keys = self.scope_keys(scope, super::keys::Stem::Seed);
        let (known, replies) = self.known_with(account, scope, kept_queries(&keys)).await?;
        let kept = Kept::read(replies)?;
        self.found(account, &known, &kept).await
    }

    /// Looks into the stretches that something was added to, and keeps what it finds.
    pub(super) async fn settle_peak(&self, account: Account, known: &Known) -> Result<()> {
        let kept = Kept::read(self.store.read(account, kept_queries(&known.keys)).await?)?;
        if kept.unsettled.is_empty() {
            return Ok(());
        }
        let peak = self.found(account, known, &kept).await?;
        let (totals, unsettled) = (known.keys.totals(), known.keys.unsettled());
        let mut batch =
            Batch::new().guard(Guard::Field { key: totals.clone(), field: Atom::from(PEAK), is: kept.record });
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

    async fn found(&self, account: Account, known: &Known, kept: &Kept) -> Result<Peak> {
        let mut peak = kept.peak;
        let stretches: Vec<i64> = kept.unsettled.iter().filter_map(|(stretch, _)| stretch.as_int()).collect();
        let mut spans = Vec::with_capacity(stretches.len());
        for page in stretches.chunks(PAGE) {
            let queries = page.iter().flat_map(|stretch| {
                let (from_ms, to_ms) = (stretch * RECORD_MS, (stretch + 1) * RECORD_MS);
                [counts(known, None, from_ms), counts(known, Some(from_ms), to_ms)].concat()
            });
            let mut replies = self.store.read(account, queries.collect()).await?.into_iter();
            for stretch in page {
                let (started, ended) = counted(&mut replies)?;
                let (starts, ends) = counted(&mut replies)?;
                let (from_ms, to_ms) = (stretch * RECORD_MS, (stretch + 1) * RECORD_MS);
                spans.push(Span { from_ms, to_ms, before: started - ended, starts, ends });
            }
        }
        // Where most are active first: what is found there leaves less to look at.
        spans.sort_unstable_by_key(|span| span.before + span.starts);
        while let Some(span) = spans.pop() {
            if !span.may_exceed(&peak) {
                continue;
            }
            if span.to_ms - span.from_ms == 1 {
                peak.raise(span.before + span.starts - span.ends, span.from_ms);
            } else if span.starts.max(span.ends) <= i64::try_from(DETAIL).unwrap_or(i64::MAX) {
                self.look(account, known, span, &mut peak).await?;
            } else {
                spans.extend(self.halved(account, known, span).await?);
            }
        }
        Ok(peak)
    }

    async fn halved(&self, account: Account, known: &Known, span: Span) -> Result<[Span; 2]> {
        let middle_ms = span.from_ms.midpoint(span.to_ms);
        let queries = counts(known, Some(span.from_ms), middle_ms).to_vec();
        let (starts, ends) = counted(&mut self.store.read(account, queries).await?.into_iter())?;
        let first = Span { to_ms: middle_ms, starts, ends, ..span };
        let before = span.before + starts - ends;
        let second = Span {
            from_ms: middle_ms,
            to_ms: span.to_ms,
            before,
            starts: span.starts - starts,
            ends: span.ends - ends,
        };
        Ok([first, second])
    }

    /// Goes through the starts and ends of a span.
    async fn look(&self, account: Account, known: &Known, span: Span, peak: &mut Peak) -> Result<()> {
        let all = |key, from_ms: i64, to_ms: i64| Query::SortedRange {
            key,
            range: between(Some(from_ms), to_ms),
            order: Order::Ascending,
            offset: 0,
            // Some may have come since they were counted.
            limit: DETAIL * 4,
        };
        let (from_ms, to_ms) = (span.from_ms - known.threshold_ms - 1, span.to_ms - known.threshold_ms - 1);
        let queries = vec![
            all(known.keys.starts(), span.from_ms, span.to_ms),
            all(known.keys.heartbeat(), from_ms, to_ms),
            all(known.keys.ended(), from_ms, to_ms),
        ];
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let mut times = || Ok::<_, crate::Error>(next(&mut replies)?.scored()?.into_iter().map(|(_, at)| whole_ms(at)));
        let starts: Vec<i64> = times()?.collect();
        let mut ends: Vec<i64> = times()?.collect();
        ends.extend(times()?);
        ends.sort_unstable();
        let mut active = span.before;
        let mut ends = ends.into_iter().peekable();
        for joined in starts.chunk_by(|a, b| a == b) {
            let at_ms = joined[0];
            while ends.next_if(|end_ms| end_ms + known.threshold_ms < at_ms).is_some() {
                active -= 1;
            }
            active += i64::try_from(joined.len()).unwrap_or(i64::MAX);
            peak.raise(active, at_ms);
        }
        Ok(())
    }
}

impl Span {
    fn may_exceed(&self, peak: &Peak) -> bool {
        let most = u64::try_from(self.before + self.starts).unwrap_or(0);
        let is_earlier = peak.at_ms.is_none_or(|at_ms| self.from_ms < at_ms);
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
        Ok(Self { peak, record: values.into_iter().next().flatten(), unsettled })
    }
}

fn kept_queries(keys: &super::keys::ScopeKeys) -> Vec<Query> {
    let fields = [PEAK, PEAK_AT].map(Atom::from).to_vec();
    vec![Query::HashGetMany { key: keys.totals(), fields }, Query::HashAll { key: keys.unsettled() }]
}

/// How many viewing sessions begin, and how many stop making their viewer active, from one instant (or ever) to before
/// another. One that ends at e makes active through e + threshold, so it stops at the instant after.
fn counts(known: &Known, from_ms: Option<i64>, to_ms: i64) -> [Query; 3] {
    let stop = |at_ms: i64| at_ms - known.threshold_ms - 1;
    let ends = between(from_ms.map(stop), stop(to_ms));
    [
        Query::SortedCount { key: known.keys.starts(), range: between(from_ms, to_ms) },
        Query::SortedCount { key: known.keys.heartbeat(), range: ends },
        Query::SortedCount { key: known.keys.ended(), range: ends },
    ]
}

fn counted(replies: &mut impl Iterator<Item = Reply>) -> Result<(i64, i64)> {
    let mut count = || Ok::<_, crate::Error>(i64::try_from(next(replies)?.count()?).unwrap_or(i64::MAX));
    let (starts, latest, ended) = (count()?, count()?, count()?);
    Ok((starts, latest + ended))
}

fn between(from_ms: Option<i64>, to_ms: i64) -> ScoreRange {
    let from = from_ms.map_or(Bound::Unbounded, |from_ms| Bound::Included(from_ms as f64));
    ScoreRange { from, to: Bound::Excluded(to_ms as f64) }
}
