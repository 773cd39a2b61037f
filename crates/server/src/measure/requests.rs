//! Counting requests without looking their counters up each time: spelling three labels anew takes longer than many a request.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};

struct Handles {
    count: Counter,
    seconds: Histogram,
}

/// By method and status, then by route. Routes are patterns, of which there are only so many.
type ByRoute = HashMap<Box<str>, Handles>;

thread_local! {
    static HANDLES: RefCell<HashMap<(&'static str, u16), ByRoute>> = RefCell::default();
}

pub(crate) fn count(method: &'static str, route: &str, status: u16, took: Duration) {
    HANDLES.with_borrow_mut(|handles| {
        let by_route = handles.entry((method, status)).or_default();
        if !by_route.contains_key(route) {
            by_route.insert(route.into(), Handles::of(method, route, status));
        }
        if let Some(handles) = by_route.get(route) {
            handles.count.increment(1);
            handles.seconds.record(took);
        }
    });
}

impl Handles {
    fn of(method: &'static str, route: &str, status: u16) -> Self {
        let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        Self {
            count: metrics::counter!("tickmark_requests_total", &labels),
            seconds: metrics::histogram!("tickmark_request_seconds", &labels[..2]),
        }
    }
}

/// A request under way. Also right when the client goes away and the request is dropped half-way.
pub(crate) struct InFlight;

static IN_FLIGHT: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("tickmark_requests_in_flight"));

impl InFlight {
    pub(crate) fn begin() -> Self {
        IN_FLIGHT.increment(1.0);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        IN_FLIGHT.decrement(1.0);
    }
}
