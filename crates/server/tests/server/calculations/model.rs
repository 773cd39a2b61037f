//! A slow, obviously right version: every value in a map, every result from scratch.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tickmark_stats::{Calendar, Interval, Timestamp};

use crate::client::Client;

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// By key and microsecond; values are whole, so that sums are exact however they are added up.
    pub(super) values: BTreeMap<(String, i64), i64>,
}

pub(super) const CALCULATIONS: [&str; 5] = ["count", "sum", "average", "standard_deviation", "linear_regression"];

impl Model {
    pub(super) fn line(key: &str, micros: i64, value: i64) -> String {
        let at = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        format!("{{\"dimension\":\"d\",\"key\":\"{key}\",\"at\":{at},\"value\":{value}}}\n")
    }

    /// What a calculation should be answered with.
    pub(super) fn result(
        &self,
        key: &str,
        calculation: &str,
        interval: Interval,
        calendar: &Calendar,
        gaps: &str,
    ) -> Value {
        let of_key = || self.values.iter().filter(|((of, _), _)| of == key).map(|((_, at), value)| (*at, *value));
        let at = |micros| Timestamp::from_micros(micros);
        let (mut counts, mut sums) = (BTreeMap::new(), BTreeMap::new());
        for (micros, value) in of_key() {
            let label = calendar.label(interval, at(micros));
            *counts.entry(label.clone()).or_insert(0) += 1;
            *sums.entry(label).or_insert(0) += value;
        }
        let labelled = |numbers: &BTreeMap<String, i64>| {
            let numbers = numbers.iter().map(|(label, number)| (label.clone(), json!(number)));
            json!({ "values": numbers.collect::<Map<_, _>>() })
        };
        if calculation == "count" {
            return labelled(&counts);
        }
        if calculation == "sum" {
            return labelled(&sums);
        }
        let first = of_key().map(|(micros, _)| micros).min().unwrap();
        let last = of_key().map(|(micros, _)| micros).max().unwrap();
        let every = calendar.starts(interval, at(first), at(last)).map(|start| calendar.label(interval, start));
        let y: Vec<f64> = match gaps {
            "zero" => every.map(|label| sums.get(&label).copied().unwrap_or(0) as f64).collect(),
            _ => every.filter_map(|label| sums.get(&label).map(|sum| *sum as f64)).collect(),
        };
        let n = y.len() as f64;
        let mean = y.iter().sum::<f64>() / n;
        let squares: f64 = y.iter().map(|y| (y - mean) * (y - mean)).sum();
        match calculation {
            "average" => json!({ "average": mean }),
            "standard_deviation" => {
                json!({ "standard_deviation": (y.len() > 1).then(|| (squares / (n - 1.0)).sqrt()) })
            }
            _ => {
                let middle = f64::midpoint(1.0, n);
                let x = || (1..=y.len()).map(|x| x as f64 - middle);
                let products: f64 = x().zip(&y).map(|(x, y)| x * (y - mean)).sum();
                let slope = (y.len() > 1).then(|| products / x().map(|x| x * x).sum::<f64>());
                json!({ "slope": slope, "intercept": slope.map(|slope| mean - slope * middle), "n": y.len() })
            }
        }
    }

    /// Asks for every calculation of a key over an interval, and compares.
    pub(super) async fn check(&self, client: &Client, key: &str, interval: Interval, calendar: &Calendar, gaps: &str) {
        for calculation in CALCULATIONS {
            let found = client.result("d", &format!("{key}/{calculation}/{interval}")).await;
            let expected = self.result(key, calculation, interval, calendar, gaps);
            for (field, expected) in expected.as_object().unwrap() {
                let found = &found[field];
                let is_close = match (found.as_f64(), expected.as_f64()) {
                    (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                    _ => found == expected,
                };
                assert!(is_close, "{field} of {calculation} over {interval} of {key}: {found} is not {expected}");
            }
        }
    }
}
