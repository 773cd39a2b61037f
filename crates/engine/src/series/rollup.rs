//! From sums a second to sums a bucket of every granularity.
//!
//! A minute is the sum of its seconds, an hour of its minutes: each granularity is added up from the coarsest one already
//! there whose buckets divide its own, so that an event is touched once and not once a granularity.

use tickmark_store::Number;

use super::{Granularity, Span};

/// Sums by second or bucket, in order. Integers apart from decimals, because they stay exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) ints: Vec<(i64, i64)>,
    pub(super) decimals: Vec<(i64, f64)>,
}

/// Calls `take` with the sums of every granularity; `None` where a sum does not fit.
pub(super) fn each<F>(seconds: &Sums, granularities: &[Granularity], mut take: F) -> Option<()>
where
    F: FnMut(&Granularity, &Sums),
{
    let mut order: Vec<&Granularity> = granularities.iter().collect();
    order.sort_by_key(|granularity| granularity.span().about_seconds());
    let mut levels: Vec<(i64, Sums)> = Vec::with_capacity(order.len());
    for granularity in order {
        match granularity.span() {
            Span::Seconds(1) => take(granularity, seconds),
            Span::Seconds(length) => {
                let finer = levels.iter().rev().find(|(finer, _)| length % finer == 0);
                let sums = finer.map_or(seconds, |(_, sums)| sums).rolled(granularity.span())?;
                take(granularity, &sums);
                levels.push((*length, sums));
            }
            span @ Span::Calendar { .. } => take(granularity, &seconds.rolled(span)?),
        }
    }
    Some(())
}

impl Sums {
    /// Each bucket with its number, in order.
    pub(super) fn numbers(&self) -> Vec<(i64, Number)> {
        let mut numbers = Vec::with_capacity(self.ints.len() + self.decimals.len());
        let (mut ints, mut decimals) = (self.ints.iter().peekable(), self.decimals.iter().peekable());
        loop {
            let int = ints.next_if(|int| decimals.peek().is_none_or(|decimal| int.0 <= decimal.0));
            match int {
                Some(&(bucket, int)) => match decimals.next_if(|decimal| decimal.0 == bucket) {
                    Some(&(_, decimal)) => numbers.push((bucket, Number::Decimal(int as f64 + decimal))),
                    None => numbers.push((bucket, Number::Int(int))),
                },
                None => match decimals.next() {
                    Some(&(bucket, decimal)) => numbers.push((bucket, Number::Decimal(decimal))),
                    None => return numbers,
                },
            }
        }
    }

    fn rolled(&self, span: &Span) -> Option<Self> {
        let mut ints = floored(&self.ints, span);
        let mut decimals = floored(&self.decimals, span);
        add_up(&mut ints)?;
        add_up_decimals(&mut decimals)?;
        Some(Self { ints, decimals })
    }
}

/// Makes one of neighbours in the same bucket. In 128 bits on the way, so that the order of what is added does not decide
/// whether it fits.
pub(super) fn add_up(sums: &mut Vec<(i64, i64)>) -> Option<()> {
    let mut kept = 0;
    let mut next = 0;
    while let Some(&(bucket, first)) = sums.get(next) {
        let mut sum = i128::from(first);
        next += 1;
        while let Some(&(_, n)) = sums.get(next).filter(|(other, _)| *other == bucket) {
            sum += i128::from(n);
            next += 1;
        }
        sums[kept] = (bucket, i64::try_from(sum).ok()?);
        kept += 1;
    }
    sums.truncate(kept);
    Some(())
}

pub(super) fn add_up_decimals(sums: &mut Vec<(i64, f64)>) -> Option<()> {
    sums.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 += later.1;
        }
        same
    });
    sums.iter().all(|(_, sum)| sum.is_finite()).then_some(())
}

fn floored<T: Copy>(sums: &[(i64, T)], span: &Span) -> Vec<(i64, T)> {
    if let Span::Seconds(length) = span {
        // In order, so that most are in the bucket of the one before and need no division.
        let mut bucket = i64::MIN;
        let in_bucket = |at: i64, bucket: &mut i64| {
            if at >= bucket.saturating_add(*length) {
                *bucket = span.floor(at);
            }
            *bucket
        };
        return sums.iter().map(|(at, sum)| (in_bucket(*at, &mut bucket), *sum)).collect();
    }
    let mut floored: Vec<_> = sums.iter().map(|(at, sum)| (span.floor(*at), *sum)).collect();
    // Where clocks go back across midnight, a later second may belong to an earlier bucket.
    if !floored.is_sorted_by_key(|(bucket, _)| *bucket) {
        floored.sort_by_key(|(bucket, _)| *bucket);
    }
    floored
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::{Declaration, GranularityRequest, Kind, Layout};
    use super::*;

    const ZONES: [&str; 4] = ["UTC", "America/St_Johns", "Europe/Berlin", "Pacific/Apia"];

    fn declaration(durations: &[i64]) -> Declaration {
        let names: Vec<String> = (0..durations.len() + 4).map(|index| format!("g{index}")).collect();
        let mut requests: Vec<_> = durations
            .iter()
            .zip(&names)
            .map(|(seconds, name)| GranularityRequest {
                name,
                duration_seconds: Some(*seconds),
                ..GranularityRequest::default()
            })
            .collect();
        for ((calendar, zone), name) in
            ["week", "month", "year", "week"].iter().zip(ZONES).zip(&names[durations.len()..])
        {
            let (calendar, time_zone) = (Some(*calendar), Some(zone));
            requests.push(GranularityRequest { name, calendar, time_zone, ..GranularityRequest::default() });
        }
        Declaration::new(Kind::Count(Layout::Hash), &requests).unwrap()
    }

    proptest! {
        #[test]
        fn a_roll_up_is_what_adding_one_by_one_gives(
            mut ints in prop::collection::vec((0..2_000_000_000_i64, -1_000..1_000_i64), 0..60),
            near in prop::collection::vec((1_320_540_000..1_320_560_000_i64, 1..5_i64), 0..60),
            durations in prop::collection::vec(prop::sample::select(vec![1, 2, 7, 60, 90, 3_600, 86_400]), 1..5),
        ) {
            ints.extend(near);
            let declaration = declaration(&durations);
            let mut expected: BTreeMap<(String, i64), i64> = BTreeMap::new();
            for granularity in declaration.granularities() {
                for (at, n) in &ints {
                    *expected.entry((granularity.name().into(), granularity.floor(*at))).or_default() += n;
                }
            }
            let mut seconds = Sums { ints, decimals: Vec::new() };
            seconds.ints.sort_unstable();
            add_up(&mut seconds.ints).unwrap();
            let mut found = BTreeMap::new();
            each(&seconds, declaration.granularities(), |granularity, sums| {
                for (bucket, sum) in &sums.ints {
                    prop_assert_once(found.insert((granularity.name().to_owned(), *bucket), *sum).is_none());
                }
            }).unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    fn prop_assert_once(first: bool) {
        assert!(first, "a bucket has two sums");
    }

    #[test]
    fn a_bucket_with_a_decimal_is_a_decimal() {
        let sums = Sums { ints: vec![(0, 1), (2, 2)], decimals: vec![(0, 0.5), (1, 0.25), (3, 1.5)] };
        let expected =
            [(0, Number::Decimal(1.5)), (1, Number::Decimal(0.25)), (2, Number::Int(2)), (3, Number::Decimal(1.5))];
        assert_eq!(sums.numbers(), expected);
    }
}
