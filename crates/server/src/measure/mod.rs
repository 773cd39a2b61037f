//! The numbers a server shows at `/metrics`.
//!
//! Everything below counts through the `metrics` facade, stores included; this is the only place that knows who listens.

mod metered;

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::problem::Word;

pub(crate) use metered::Metered;

/// From a tenth of a millisecond to ten seconds.
const SECONDS: &[f64] = &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

const COUNTS: &[f64] = &[1.0, 3.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0];

/// The process's one recorder, installed by whoever asks first; none if something else was installed before.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)
        .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_ops".into()), COUNTS))
        .ok()?;
    let handle = builder.install_recorder().ok()?;
    describe();
    // A counter that was never touched would not be shown, and an alert on it would never know.
    for word in Word::ALL {
        metrics::counter!("tickmark_refusals_total", "reason" => word.as_str()).increment(0);
    }
    for reason in ["headers_too_large", "malformed_http"] {
        metrics::counter!("tickmark_refusals_total", "reason" => reason).increment(0);
    }
    for name in [
        "tickmark_live_skipped_total",
        "tickmark_idempotent_replays_total",
        "tickmark_connections_refused_total",
        "tickmark_statsd_metrics_total",
        "tickmark_statsd_unparsed_total",
        "tickmark_statsd_refused_series_total",
        "tickmark_statsd_dropped_packets_total",
        "tickmark_statsd_lost_flushes_total",
    ] {
        metrics::counter!(name).increment(0);
    }
    Some(handle)
}

fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_counter!("tickmark_requests_total", "Requests answered, by method, route and status");
    describe_histogram!("tickmark_request_seconds", "Time until the answer began, by method and route");
    describe_gauge!("tickmark_requests_in_flight", "Requests under way, live connections apart");
    describe_counter!("tickmark_refusals_total", "Requests refused, by the type in their problem");
    describe_counter!("tickmark_connections_refused_total", "Connections turned away because there were too many");
    describe_counter!("tickmark_idempotent_replays_total", "Writes answered from the record of the first time");
    describe_gauge!("tickmark_live_connections", "Live connections open");
    describe_counter!("tickmark_live_skipped_total", "Updates that slow live connections were skipped ahead of");
    describe_counter!("tickmark_store_commits_total", "Batches written");
    describe_counter!(
        "tickmark_store_guards_failed_total",
        "Batches not written because what they rest on had changed"
    );
    describe_histogram!("tickmark_store_batch_ops", "Operations in a batch");
    describe_histogram!("tickmark_store_commit_seconds", "Time until a batch was as durable as configured");
    describe_histogram!("tickmark_store_read_seconds", "Time until a read was answered");
    describe_counter!("tickmark_store_errors_total", "Failures of the store, by kind");
    describe_counter!("tickmark_statsd_metrics_total", "StatsD metrics taken");
    describe_counter!(
        "tickmark_statsd_unparsed_total",
        "StatsD lines that are no metric, or have a name that is refused"
    );
    describe_counter!("tickmark_statsd_refused_series_total", "Series of a StatsD flush that were refused");
    describe_counter!("tickmark_statsd_dropped_packets_total", "StatsD packets dropped because too many waited");
    describe_counter!("tickmark_statsd_lost_flushes_total", "StatsD flushes lost because the store did not take them");
    describe_counter!("tickmark_jwks_fetches_total", "Times the keys that sign tokens were asked for");
    describe_counter!("tickmark_jwks_failures_total", "Times they could not be had");
}
