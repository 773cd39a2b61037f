//! Metrics of a moment, counted in one commit.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tickmark_engine::series::{Event, Tallied, Tally, What as Counted};
use tickmark_store::{Account, Number};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::metric::{Metric, What};
use crate::context::Context;
use crate::line_protocol::whole_or_decimal;
use crate::once::{Answer, Once};
use crate::problem::{Place, Problem, Result};
use crate::routes::series::{commit, now};

const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Metrics that make a flush come early.
const METRICS_MAX: u64 = 100_000;
/// Gauges whose values are known. Those beyond are refused.
const GAUGES_MAX: usize = 100_000;
/// What a flush may take; what takes longer is lost, and counted as such.
const FLUSH_WAIT: Duration = Duration::from_secs(10);
/// There are no tokens here, so everything is the operator's own.
const ACCOUNT: Account = Account(0);

pub(super) struct Aggregate {
    context: Context,
    tally: Tally,
    gauges: HashMap<String, Gauge>,
}

struct Gauge {
    value: f64,
    is_fresh: bool,
}

impl Aggregate {
    pub(super) fn new(context: Context) -> Self {
        Self { context, tally: Tally::new(), gauges: HashMap::new() }
    }

    /// Until every socket is closed.
    pub(super) async fn run(mut self, mut packets: mpsc::Receiver<Bytes>) {
        let mut ticks = interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                packet = packets.recv() => match packet {
                    Some(packet) => self.take(&packet),
                    None => break,
                },
                _ = ticks.tick() => self.flush().await,
            }
            if self.tally.events() >= METRICS_MAX {
                self.flush().await;
            }
        }
        self.flush().await;
    }

    fn take(&mut self, packet: &[u8]) {
        let at = now();
        for line in packet.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
            let metric = std::str::from_utf8(line).ok().and_then(Metric::parse);
            let taken = metric.and_then(|metric| self.add(&metric, at));
            let name = if taken.is_some() { "tickmark_statsd_metrics_total" } else { "tickmark_statsd_unparsed_total" };
            metrics::counter!(name).increment(1);
        }
    }

    /// `None` where the metric cannot be counted.
    fn add(&mut self, metric: &Metric<'_>, at: i64) -> Option<()> {
        let series = &metric.series;
        match metric.what {
            What::Count(number) => self.event(series, at, Counted::Count(number)),
            What::Member(member) => self.event(series, at, Counted::Member(member)),
            What::Timer { sum, count } => self.measured(series, at, sum, count),
            What::Gauge(value) => self.gauge(series, |_| value),
            What::GaugeBy(change) => self.gauge(series, |value| value + change),
        }
    }

    fn event(&mut self, series: &str, at: i64, what: Counted<'_>) -> Option<()> {
        let slot = self.tally.slot(series).ok()?;
        let number = self.tally.events();
        self.tally.add(slot, Event { at, what, number }).ok()
    }

    fn measured(&mut self, series: &str, at: i64, sum: Number, count: Number) -> Option<()> {
        self.event(&format!("{series}:count"), at, Counted::Count(count))?;
        self.event(&format!("{series}:sum"), at, Counted::Count(sum))
    }

    fn gauge(&mut self, series: &str, change: impl FnOnce(f64) -> f64) -> Option<()> {
        if self.gauges.len() >= GAUGES_MAX && !self.gauges.contains_key(series) {
            return None;
        }
        let gauge = self.gauges.entry(series.to_owned()).or_insert(Gauge { value: 0.0, is_fresh: false });
        let value = Some(change(gauge.value)).filter(|value| value.is_finite())?;
        *gauge = Gauge { value, is_fresh: true };
        Some(())
    }

    async fn flush(&mut self) {
        let at = now();
        let fresh: Vec<_> = self
            .gauges
            .iter_mut()
            .filter_map(|(series, gauge)| std::mem::take(&mut gauge.is_fresh).then(|| (series.clone(), gauge.value)))
            .collect();
        for (series, value) in fresh {
            // A name that is refused here was refused when it came, too, or is only now too long.
            if self.measured(&series, at, whole_or_decimal(value), Number::Int(1)).is_none() {
                refused();
            }
        }
        let tally = std::mem::take(&mut self.tally);
        if tally.events() == 0 {
            return;
        }
        let Ok(tallied) = tally.close() else { return lost("a sum does not fit 64 bits") };
        match timeout(FLUSH_WAIT, self.count(tallied)).await {
            Ok(()) => {}
            Err(_) => lost("the store did not answer in time"),
        }
    }

    /// All of it together; where something in it is refused, each series by itself.
    async fn count(&self, tallied: Tallied) {
        match self.commit(&tallied).await {
            Ok(()) => {}
            Err(problem) if problem.word().status().is_server_error() => lost(problem.detail()),
            Err(_) => {
                for series in tallied.split() {
                    if let Err(problem) = self.commit(&series).await {
                        tracing::warn!(problem = problem.detail(), "StatsD metrics were refused");
                        refused();
                    }
                }
            }
        }
    }

    async fn commit(&self, tallied: &Tallied) -> Result<(), Problem> {
        commit(&self.context, ACCOUNT, &Once::unnamed(), tallied, Place::Item, Answer::empty()).await.map(drop)
    }
}

fn refused() {
    metrics::counter!("tickmark_statsd_refused_series_total").increment(1);
}

fn lost(why: &str) {
    tracing::error!(why, "StatsD metrics of a flush were lost");
    metrics::counter!("tickmark_statsd_lost_flushes_total").increment(1);
}
