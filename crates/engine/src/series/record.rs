//! A declaration as the store keeps it: a line of text, so that a guard can compare it whole.
//!
//! `count/hash used 1sec=1,7200,300 1day=86400,-,2592000 week=week@Europe/Berlin,-,-`: what is counted and how it is kept;
//! whether anything ever was (`empty` or `used`); then each granularity's duration or calendar, time to live and group.

use std::fmt::Write;

use tickmark_stats::Interval;
use tickmark_store::Atom;

use super::{Declaration, GranularityRequest, Kind, Layout, Span};

/// Whether a series ever had an event. Only one that had not may change its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Empty,
    Used,
}

const KINDS: [(&str, Kind); 4] = [
    ("count/hash", Kind::Count(Layout::Hash)),
    ("count/string", Kind::Count(Layout::String)),
    ("unique", Kind::Unique),
    ("unique_approx", Kind::UniqueApprox),
];

pub(super) fn write(declaration: &Declaration, used: Use) -> Atom {
    let kind = KINDS.iter().find(|(_, kind)| *kind == declaration.kind).map_or("", |(word, _)| word);
    let used = match used {
        Use::Empty => "empty",
        Use::Used => "used",
    };
    let mut text = format!("{kind} {used}");
    for granularity in declaration.granularities() {
        let _ = write!(text, " {}=", granularity.name());
        let _ = match granularity.span() {
            Span::Seconds(seconds) => write!(text, "{seconds}"),
            Span::Calendar { interval, calendar } => write!(text, "{}@{}", word(*interval), calendar.zone()),
        };
        let ttl = granularity.ttl_seconds().map_or("-".to_owned(), |ttl| ttl.to_string());
        let group = granularity.group_seconds().map_or("-".to_owned(), |group| group.to_string());
        let _ = write!(text, ",{ttl},{group}");
    }
    Atom::from(text)
}

/// `None` for what no [`write()`] wrote.
pub(super) fn read(atom: &Atom) -> Option<(Declaration, Use)> {
    let text = atom.as_str()?;
    let mut words = text.split(' ');
    let kind = words.next()?;
    let kind = KINDS.iter().find(|(word, _)| *word == kind)?.1;
    let used = match words.next()? {
        "empty" => Use::Empty,
        "used" => Use::Used,
        _ => return None,
    };
    let requests = words.map(request).collect::<Option<Vec<_>>>()?;
    Some((Declaration::new(kind, &requests).ok()?, used))
}

fn request(text: &str) -> Option<GranularityRequest<'_>> {
    let (name, rest) = text.split_once('=')?;
    let mut parts = rest.split(',');
    let (span, ttl, group) = (parts.next()?, parts.next()?, parts.next()?);
    let mut request = GranularityRequest { name, ..GranularityRequest::default() };
    match span.split_once('@') {
        Some((calendar, zone)) => (request.calendar, request.time_zone) = (Some(calendar), Some(zone)),
        None => request.duration_seconds = Some(span.parse().ok()?),
    }
    if ttl != "-" {
        request.ttl_seconds = Some(ttl.parse().ok()?);
    }
    if group != "-" {
        request.group_seconds = Some(group.parse().ok()?);
    }
    Some(request)
}

/// As declarations call it.
pub(super) fn word(interval: Interval) -> &'static str {
    match interval {
        Interval::Weeks => "week",
        Interval::Months => "month",
        _ => "year",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for (text, granularities) in [
            ("count/hash used 1sec=1,7200,300 1day=86400,-,2592000", 2),
            ("count/string empty x=7,-,-", 1),
            ("unique empty 1min=60,604800,7200", 1),
            ("unique_approx used week=week@Europe/Berlin,-,- m=month@UTC,60,- y=year@Asia/Tokyo,-,-", 3),
        ] {
            let (declaration, used) = read(&Atom::from(text)).unwrap();
            assert_eq!(declaration.granularities().len(), granularities);
            assert_eq!(write(&declaration, used), Atom::from(text));
        }
        for nonsense in
            ["", "7", "count/hash", "count/hash used", "count/hash often g=1,-,-", "count/hash used g=x,-,-"]
        {
            assert!(read(&Atom::from(nonsense)).is_none(), "{nonsense:?}");
        }
    }
}
