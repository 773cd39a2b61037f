//! Points as JSON, written without a value in between: an answer may have a million.

use tickmark_engine::series::{Points, SeriesName, Value};

/// About what a point takes.
const POINT_BYTES: usize = 40;

/// Appends `{"series":…,"kind":…,"granularity":…,"points":[…]}`.
pub(super) fn points(series: &SeriesName, points: &Points, json: &mut Vec<u8>) {
    json.reserve(points.points.len() * POINT_BYTES + 256);
    json.extend_from_slice(b"{\"series\":");
    text(series.as_str(), json);
    json.extend_from_slice(b",\"kind\":");
    text(points.kind.as_str(), json);
    json.extend_from_slice(b",\"granularity\":");
    text(&points.granularity, json);
    json.extend_from_slice(b",\"points\":[");
    for (index, (timestamp, value)) in points.points.iter().enumerate() {
        json.extend_from_slice(if index == 0 { b"{\"timestamp\":" } else { b",{\"timestamp\":" });
        int(*timestamp, json);
        json.extend_from_slice(b",\"value\":");
        number(*value, json);
        json.push(b'}');
    }
    json.extend_from_slice(b"]}");
}

pub(super) fn number(value: Value, json: &mut Vec<u8>) {
    match value {
        Value::Int(value) => int(value, json),
        // A vector takes every write, and a decimal in the store is finite.
        Value::Decimal(value) => drop(serde_json::to_writer(json, &value)),
    }
}

fn int(value: i64, json: &mut Vec<u8>) {
    json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn text(value: &str, json: &mut Vec<u8>) {
    drop(serde_json::to_writer(json, value));
}

#[cfg(test)]
mod tests {
    use tickmark_engine::series::{Kind, Layout};

    use super::*;

    #[test]
    fn as_serde_would() {
        let found = Points {
            kind: Kind::Count(Layout::Hash),
            granularity: "1min".into(),
            points: vec![(0, Value::Int(4)), (60, Value::Decimal(0.5)), (120, Value::Int(-7))],
        };
        let mut json = Vec::new();
        points(&SeriesName::parse("a\"b").unwrap(), &found, &mut json);
        let expected = serde_json::json!({
            "series": "a\"b", "kind": "count", "granularity": "1min",
            "points": [{"timestamp": 0, "value": 4}, {"timestamp": 60, "value": 0.5}, {"timestamp": 120, "value": -7}],
        });
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&json).unwrap(), expected);
    }
}
