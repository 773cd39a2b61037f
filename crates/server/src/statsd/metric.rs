//! One line of StatsD: `name:value|type|@rate|#tags`.

use tickmark_store::Number;

use crate::line_protocol::whole_or_decimal;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric<'a> {
    /// With the tags in it.
    pub(super) series: String,
    pub(super) what: What<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What<'a> {
    Count(Number),
    Member(&'a str),
    /// A measured value, and how many measurements it stands for.
    Timer {
        sum: Number,
        count: Number,
    },
    Gauge(f64),
    GaugeBy(f64),
}

impl<'a> Metric<'a> {
    /// `None` for what is no metric.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.split('|');
        let (name, value) = parts.next()?.split_once(':')?;
        let sort = parts.next()?;
        let (mut rate, mut tags) = (1.0, "");
        for part in parts {
            match part.as_bytes().first()? {
                b'@' => rate = part[1..].parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0)?,
                b'#' => tags = &part[1..],
                // Containers and timestamps of later dialects say nothing that is counted here.
                b'c' | b'T' => {}
                _ => return None,
            }
        }
        let what = match sort {
            "c" | "m" => What::Count(scaled(number(value)?, rate)?),
            "ms" | "h" | "d" => What::Timer { sum: scaled(number(value)?, rate)?, count: scaled(1.0, rate)? },
            "g" if value.starts_with(['+', '-']) => What::GaugeBy(number(value)?),
            "g" => What::Gauge(number(value)?),
            "s" if !value.is_empty() => What::Member(value),
            _ => return None,
        };
        Some(Self { series: named(name, tags)?, what })
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// What a sample stands for.
fn scaled(number: f64, rate: f64) -> Option<Number> {
    let scaled = number / rate;
    // A tenth is not exact, so 1/0.1 may miss ten by a hair that would make a decimal of it for ever.
    let rounded = scaled.round();
    let scaled = if (scaled - rounded).abs() <= scaled.abs() * 1e-12 { rounded } else { scaled };
    scaled.is_finite().then(|| whole_or_decimal(scaled))
}

fn named(name: &str, tags: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let mut series = name.to_owned();
    for tag in tags.split(',').filter(|tag| !tag.is_empty()) {
        series.push(':');
        series.push_str(&tag.replacen(':', "=", 1));
    }
    Some(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics() {
        let int = Number::Int;
        for (line, expected) in [
            ("a:1|c", Some(("a", What::Count(int(1))))),
            ("a.b:-3|c", Some(("a.b", What::Count(int(-3))))),
            ("a:1|c|@0.1", Some(("a", What::Count(int(10))))),
            ("a:1|c|@0.3", Some(("a", What::Count(Number::Decimal(1.0 / 0.3))))),
            ("a:0.5|c", Some(("a", What::Count(Number::Decimal(0.5))))),
            ("a:320|ms|@0.5", Some(("a", What::Timer { sum: int(640), count: int(2) }))),
            ("a:7|g", Some(("a", What::Gauge(7.0)))),
            ("a:-7|g", Some(("a", What::GaugeBy(-7.0)))),
            ("a:user:7|s", Some(("a", What::Member("user:7")))),
            ("a:1|c|#region:eu,host:b", Some(("a:region=eu:host=b", What::Count(int(1))))),
            ("a:1|c|@0.5|#x:y", Some(("a:x=y", What::Count(int(2))))),
            ("a:1|c|#", Some(("a", What::Count(int(1))))),
            ("a:1", None),
            ("a|c", None),
            (":1|c", None),
            ("a:x|c", None),
            ("a:nan|c", None),
            ("a:1|z", None),
            ("a:1|c|@0", None),
            ("a:1|c|@2", None),
            ("a:1|c|?", None),
            ("a:|s", None),
            ("", None),
        ] {
            let expected = expected.map(|(series, what)| Metric { series: series.to_owned(), what });
            assert_eq!(Metric::parse(line), expected, "{line:?}");
        }
    }
}
