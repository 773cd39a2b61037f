//! From totals of intervals to the result of a calculation.

use std::fmt::Write;
use std::sync::Arc;

use tickmark_stats::{Calendar, Interval, Moments, Regression, Sums};
use tickmark_store::Atom;

use super::total::Total;
use super::{Calculation, Gaps};

/// The result of a calculation over an interval.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub calendar: Arc<Calendar>,
    pub interval: Interval,
    pub figures: Figures,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Figures {
    /// A number for each interval that has a value, by the interval's number, in order.
    PerInterval(Vec<(i64, f64)>),
    Average(Option<f64>),
    StandardDeviation(Option<f64>),
    Line {
        line: Option<Regression>,
        n: u64,
    },
}

impl Outcome {
    /// The label of each interval and its number.
    pub fn labelled(&self) -> impl Iterator<Item = (String, f64)> {
        let pairs = match &self.figures {
            Figures::PerInterval(pairs) => &pairs[..],
            _ => &[],
        };
        pairs.iter().map(|(number, value)| (self.calendar.label_of(self.interval, *number), *value))
    }

    /// The named figures; what n does not allow is absent.
    pub fn named(&self) -> Vec<(&'static str, Option<f64>)> {
        match &self.figures {
            Figures::PerInterval(_) => Vec::new(),
            Figures::Average(average) => vec![("average", *average)],
            Figures::StandardDeviation(deviation) => vec![("standard_deviation", *deviation)],
            Figures::Line { line, .. } => {
                let widths = line.and_then(|line| line.confidence);
                vec![
                    ("intercept", line.map(|line| line.intercept)),
                    ("slope", line.map(|line| line.slope)),
                    ("ci_90", widths.map(|widths| widths.ci_90)),
                    ("ci_95", widths.map(|widths| widths.ci_95)),
                    ("ci_99", widths.map(|widths| widths.ci_99)),
                ]
            }
        }
    }

    /// What the hash of results holds. Numbers that no double can hold are left out.
    pub(super) fn fields(&self) -> Vec<(Atom, Atom)> {
        let labelled = self.labelled().filter(|(_, value)| value.is_finite());
        let labelled = labelled.map(|(label, value)| (Atom::from(label), number(value)));
        // As the schema has them: `219.0`.
        let named = self.named().into_iter().filter_map(|(name, value)| Some((name, value?)));
        let named = named.map(|(name, value)| (Atom::from(name), Atom::from(format!("{value:?}"))));
        labelled.chain(named).collect()
    }
}

/// What a calculation makes of the totals of its intervals, which are in order.
pub(super) fn figures(
    calculation: Calculation,
    totals: &[(i64, Total)],
    calendar: &Calendar,
    interval: Interval,
    gaps: Gaps,
) -> Figures {
    let sums = || sums(totals, calendar, interval, gaps);
    match calculation {
        Calculation::Count => {
            Figures::PerInterval(totals.iter().map(|(at, total)| (*at, total.count as f64)).collect())
        }
        Calculation::Sum => Figures::PerInterval(totals.iter().map(|(at, total)| (*at, total.sum())).collect()),
        Calculation::Average => Figures::Average(Moments::of(&sums()).map(|moments| moments.mean)),
        Calculation::StandardDeviation => {
            Figures::StandardDeviation(Moments::of(&sums()).and_then(|moments| moments.standard_deviation))
        }
        Calculation::LinearRegression => {
            let sums = sums();
            Figures::Line { line: Regression::fit(&sums), n: sums.count() }
        }
    }
}

/// y, from the first interval with a value to the last. Intervals that clocks went over are no gaps.
fn sums(totals: &[(i64, Total)], calendar: &Calendar, interval: Interval, gaps: Gaps) -> Sums {
    let (Some((first, _)), Some((last, _))) = (totals.first(), totals.last()) else { return Sums::new() };
    if gaps == Gaps::Skip {
        return totals.iter().map(|(_, total)| total.sum()).collect();
    }
    let skipped = calendar.skipped(interval, *first, *last);
    let mut skipped = skipped.iter().peekable();
    let mut sums = Sums::new();
    let mut before = *first - 1;
    for (number, total) in totals {
        let mut missing = number - before - 1;
        while let Some(gap) = skipped.next_if(|gap| gap.start < *number) {
            missing -= gap.end - gap.start;
        }
        sums.push_gap(u64::try_from(missing).unwrap_or(0));
        sums.push(total.sum());
        before = *number;
    }
    sums
}

/// A number as a value of a hash: whole where it is, without exponents where they do not help.
pub(super) fn number(value: f64) -> Atom {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 54 bits")]
        return Atom::Int(value as i64);
    }
    let mut text = String::new();
    let _ = if (1e-5..1e17).contains(&value.abs()) { write!(text, "{value}") } else { write!(text, "{value:e}") };
    Atom::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(sums: &[(i64, f64)]) -> Vec<(i64, Total)> {
        let total = |sum| {
            let mut total = Total::of_count(2);
            total.add(std::iter::once(sum));
            total
        };
        sums.iter().map(|(number, sum)| (*number, total(*sum))).collect()
    }

    fn outcome(calculation: Calculation, sums: &[(i64, f64)], gaps: Gaps) -> Vec<String> {
        let (calendar, interval) = (Arc::new(Calendar::utc()), Interval::Days);
        let figures = figures(calculation, &totals(sums), &calendar, interval, gaps);
        let outcome = Outcome { calendar, interval, figures };
        outcome.fields().iter().map(|(field, value)| format!("{field}={value}")).collect()
    }

    #[test]
    fn fields_of_the_schema() {
        let sums = [(16_360, 438.0), (16_363, 438.5)];
        for (calculation, gaps, expected) in [
            (Calculation::Count, Gaps::Zero, &["2014-10-17=2", "2014-10-20=2"][..]),
            (Calculation::Sum, Gaps::Zero, &["2014-10-17=438", "2014-10-20=438.5"]),
            (Calculation::Average, Gaps::Zero, &["average=219.125"]),
            (Calculation::Average, Gaps::Skip, &["average=438.25"]),
            (Calculation::StandardDeviation, Gaps::Skip, &["standard_deviation=0.3535533905932738"]),
            (Calculation::LinearRegression, Gaps::Skip, &["intercept=437.5", "slope=0.5"]),
        ] {
            assert_eq!(outcome(calculation, &sums, gaps), expected, "{calculation}");
        }
    }

    #[test]
    fn what_n_does_not_allow_is_absent() {
        for calculation in Calculation::ALL {
            assert!(outcome(calculation, &[], Gaps::Zero).is_empty(), "{calculation}");
        }
        assert_eq!(outcome(Calculation::Average, &[(0, 219.0)], Gaps::Zero), ["average=219.0"]);
        assert!(outcome(Calculation::StandardDeviation, &[(0, 219.0)], Gaps::Zero).is_empty());
    }

    #[test]
    fn an_hour_that_clocks_went_over_is_no_gap() {
        let calendar = Calendar::in_zone("America/New_York").unwrap();
        let hour = |text: &str| calendar.number(Interval::Hours, text.parse().unwrap());
        let ends = totals(&[(hour("2014-03-09 00:30:00 -0500"), 1.0), (hour("2014-03-09 04:30:00 -0400"), 1.0)]);
        assert_eq!(sums(&ends, &calendar, Interval::Hours, Gaps::Zero).count(), 4);
    }
}
