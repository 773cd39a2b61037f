//! `tickmark values …`: values and what is calculated from them, from a terminal.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Map, Value};

use crate::Outcome;
use crate::arguments::{RangeOptions, RemoteOptions};
use crate::remote::{JSON, Remote, show};

/// Intervals in a sparkline, the newest.
const SPARKS_MAX: usize = 60;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, Subcommand)]
pub(crate) enum ValuesCommand {
    /// Keep a value.
    Add {
        project: String,
        dimension: String,
        key: String,
        #[arg(allow_hyphen_values = true)]
        value: serde_json::Number,
        /// When: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`; left out, now.
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Print the values of a key, or a result.
    ///
    /// With a calculation and an interval (`count months`, `linear_regression weeks`) prints that result, with a small picture of
    /// it where it is a number an interval.
    Show {
        project: String,
        dimension: String,
        key: String,
        /// `count`, `sum`, `average`, `standard_deviation` or `linear_regression`.
        #[arg(requires = "interval")]
        calculation: Option<String>,
        /// seconds, minutes, hours, days, weeks, months or years.
        interval: Option<String>,
        #[command(flatten)]
        range: RangeOptions,
        #[command(flatten)]
        remote: RemoteOptions,
    },
    /// Say what is to be calculated for the keys of a dimension, or for one.
    Declare {
        project: String,
        dimension: String,
        /// As `PUT /v1/projects/{project}/dimensions/{dimension}` takes it: `{"calculations":{"count":["months"]}}`.
        #[arg(value_name = "JSON")]
        declaration: String,
        /// Only for this key.
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
        #[command(flatten)]
        remote: RemoteOptions,
    },
}

pub(crate) async fn run(command: ValuesCommand) -> Outcome {
    match command {
        ValuesCommand::Add { project, dimension, key, value, at, remote } => {
            let mut item = Map::new();
            item.insert("dimension".into(), dimension.into());
            item.insert("key".into(), key.clone().into());
            item.insert("value".into(), Value::Number(value));
            item.extend(at.map(|at| ("at".to_owned(), Value::from(at))));
            let (path, body) = (["v1", "projects", &project, "values"], Value::Object(item).to_string());
            let request = |to: &Remote| to.request(Method::POST, &path, &[]).header(JSON.0, JSON.1).body(body);
            show(&remote, request, |_| format!("kept for {key}")).await
        }
        ValuesCommand::Show { project, dimension, key, calculation, interval, range, remote } => {
            let mut path = vec!["v1", "projects", &project, "dimensions", &dimension, "keys", &key];
            if let (Some(calculation), Some(interval)) = (&calculation, &interval) {
                path.extend(["calculations", calculation, interval]);
                return show(&remote, |to| to.request(Method::GET, &path, &[]), result).await;
            }
            path.push("values");
            let query = [("from", range.from.as_deref()), ("to", range.to.as_deref())];
            show(&remote, |to| to.request(Method::GET, &path, &query), values).await
        }
        ValuesCommand::Declare { project, dimension, declaration, key, remote } => {
            let mut path = vec!["v1", "projects", &project, "dimensions", &dimension];
            if let Some(key) = &key {
                path.extend(["keys", key]);
            }
            let request = |to: &Remote| to.request(Method::PUT, &path, &[]).header(JSON.0, JSON.1).body(declaration);
            show(&remote, request, |answer| answer["calculations"].to_string()).await
        }
    }
}

fn values(answer: &Value) -> String {
    let values = answer["values"].as_array().into_iter().flatten();
    let mut lines: Vec<_> = values.map(|value| format!("{}\t{}", value["at"], value["value"])).collect();
    if let Some(next) = answer["next"].as_f64() {
        lines.push(format!("… more from --from {next}"));
    }
    lines.join("\n")
}

fn result(answer: &Value) -> String {
    let Some(figures) = answer.as_object() else { return String::new() };
    if let Some(labelled) = figures.get("values").and_then(Value::as_object) {
        let numbers: Vec<f64> = labelled.values().map(|value| value.as_f64().unwrap_or(0.0)).collect();
        let lines = labelled.iter().map(|(label, value)| format!("{label}\t{value}"));
        return std::iter::once(sparkline(&numbers)).chain(lines).collect::<Vec<_>>().join("\n");
    }
    figures.iter().map(|(name, value)| format!("{name}\t{value}")).collect::<Vec<_>>().join("\n")
}

/// The newest numbers as bars, from the least (or zero) to the greatest.
fn sparkline(numbers: &[f64]) -> String {
    let numbers = &numbers[numbers.len().saturating_sub(SPARKS_MAX)..];
    let least = numbers.iter().copied().fold(0.0, f64::min);
    let greatest = numbers.iter().copied().fold(0.0, f64::max);
    let height = |number: &f64| {
        let share = if greatest > least { (number - least) / (greatest - least) } else { 0.0 };
        let steps = SPARKS.len() - 1;
        (0..steps).filter(|step| share * steps as f64 >= *step as f64 + 0.5).count()
    };
    numbers.iter().map(|number| SPARKS[height(number)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparklines() {
        for (numbers, expected) in [
            (&[][..], ""),
            (&[0.0, 0.0], "▁▁"),
            (&[53.0, 29.0], "█▅"),
            (&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "▁▂▃▄▅▆▇█"),
            (&[-1.0, 0.0, 1.0], "▁▅█"),
        ] {
            assert_eq!(sparkline(numbers), expected, "{numbers:?}");
        }
        assert_eq!(sparkline(&[1.0; 100]).chars().count(), SPARKS_MAX);
    }
}
