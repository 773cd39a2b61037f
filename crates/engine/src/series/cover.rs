//! The fewest buckets that make up a stretch of time: whole days inside, hours towards the ends, then minutes, then
//! seconds. A total over a year reads hundreds of buckets instead of millions, and reads what is kept longest.

use super::{Declaration, Granularity, Range, SeriesError};

/// Buckets of one granularity, in order.
#[derive(Clone, Debug)]
pub(super) struct Stretch<'a> {
    pub(super) granularity: &'a Granularity,
    pub(super) buckets: Vec<i64>,
}

/// Covers a range whose ends stand for their buckets of the finest granularity, both included.
pub(super) fn cover(declaration: &Declaration, range: Range, max: u64) -> Result<Vec<Stretch<'_>>, SeriesError> {
    let Range { from, to } = range;
    if from > to {
        return Err(SeriesError::FromAfterTo { from, to });
    }
    let mut granularities: Vec<&Granularity> = declaration.granularities().iter().collect();
    granularities.sort_by_key(|granularity| std::cmp::Reverse(granularity.span().about_seconds()));
    let Some(finest) = granularities.last().copied() else { return Ok(Vec::new()) };
    let mut cover = Cover { finest, stretches: Vec::new(), buckets: 0, max };
    cover.fill(&granularities, finest.floor(from), finest.next(to))?;
    Ok(cover.stretches)
}

struct Cover<'a> {
    finest: &'a Granularity,
    stretches: Vec<Stretch<'a>>,
    buckets: u64,
    max: u64,
}

impl<'a> Cover<'a> {
    /// Both ends are starts of buckets of the finest granularity; the second is not included.
    fn fill(&mut self, granularities: &[&'a Granularity], start: i64, end: i64) -> Result<(), SeriesError> {
        let Some((coarsest, finer)) = granularities.split_first() else { return Ok(()) };
        if start >= end {
            return Ok(());
        }
        let first = if coarsest.floor(start) == start { start } else { coarsest.next(start) };
        let last = coarsest.floor(end);
        let is_whole = |at: i64| self.finest.floor(at) == at;
        if first >= last || !is_whole(first) || !is_whole(last) {
            return self.fill(finer, start, end);
        }
        self.fill(finer, start, first)?;
        self.take(coarsest, first, last)?;
        self.fill(finer, last, end)
    }

    fn take(&mut self, granularity: &'a Granularity, first: i64, end: i64) -> Result<(), SeriesError> {
        self.buckets += granularity.count(first, end) - 1;
        if self.buckets > self.max {
            return Err(SeriesError::TooManyPoints { points: self.buckets, max: self.max });
        }
        let following = |bucket: &i64| Some(granularity.next(*bucket));
        let buckets = std::iter::successors(Some(first), following).take_while(|bucket| *bucket < end).collect();
        self.stretches.push(Stretch { granularity, buckets });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{GranularityRequest, Kind, Layout};
    use super::*;

    fn check(from: i64, to: i64, expected: &[(&str, i64, usize)]) {
        let declaration = Declaration::standard(Kind::Count(Layout::Hash));
        let stretches = cover(&declaration, Range { from, to }, 1_000).unwrap();
        let found: Vec<_> = stretches
            .iter()
            .map(|stretch| (stretch.granularity.name(), stretch.buckets[0], stretch.buckets.len()))
            .collect();
        assert_eq!(found, expected, "{from} to {to}");
    }

    #[test]
    fn the_coarsest_that_fit() {
        check(0, 0, &[("1sec", 0, 1)]);
        check(0, 59, &[("1min", 0, 1)]);
        check(0, 60, &[("1min", 0, 1), ("1sec", 60, 1)]);
        check(59, 3_600, &[("1sec", 59, 1), ("1min", 60, 59), ("1sec", 3_600, 1)]);
        check(0, 10 * 86_400 - 1, &[("1day", 0, 10)]);
        check(86_399, 2 * 86_400, &[("1sec", 86_399, 1), ("1day", 86_400, 1), ("1sec", 172_800, 1)]);
    }

    proptest! {
        #[test]
        fn every_second_once(from in 0..5_000_000_i64, length in 0..5_000_000_i64, zone in 0..3_usize) {
            let zone = ["UTC", "Europe/Berlin", "America/St_Johns"][zone];
            let seconds = |name, seconds| {
                GranularityRequest { name, duration_seconds: Some(seconds), ..GranularityRequest::default() }
            };
            let month = GranularityRequest {
                name: "month", calendar: Some("month"), time_zone: Some(zone), ..GranularityRequest::default()
            };
            let requests = [seconds("a", 10), seconds("b", 70), month, seconds("c", 86_400)];
            let declaration = Declaration::new(Kind::Unique, &requests).unwrap();
            let stretches = cover(&declaration, Range { from, to: from + length }, 1_000_000).unwrap();
            let mut reached = from / 10 * 10;
            for stretch in &stretches {
                for bucket in &stretch.buckets {
                    prop_assert_eq!(*bucket, reached);
                    reached = stretch.granularity.next(*bucket);
                }
            }
            prop_assert_eq!(reached, (from + length) / 10 * 10 + 10);
        }
    }
}
