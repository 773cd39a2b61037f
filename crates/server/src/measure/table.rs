//! Every number there is: its name, its kind, and what it counts. `docs/operating.md` has the same table, and a test holds
//! the two together.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    labels: &'static [&'static str],
}

const fn number(name: &'static str, kind: Kind, labels: &'static [&'static str], help: &'static str) -> Number {
    Number { name, kind, help, labels }
}

use Kind::{Counter, Gauge, Histogram};

#[rustfmt::skip]
pub(super) const NUMBERS: &[Number] = &[
    number("tickmark_requests_total", Counter, &["method", "route", "status"], "Requests answered"),
    number("tickmark_request_seconds", Histogram, &["method", "route"], "Time until the answer began"),
    number("tickmark_requests_in_flight", Gauge, &[], "Requests under way, live connections apart"),
    number("tickmark_refusals_total", Counter, &["reason"], "Requests refused, by the type in their problem"),
    number("tickmark_connections_refused_total", Counter, &[], "Connections turned away because there were too many"),
    number("tickmark_idempotent_replays_total", Counter, &[], "Writes answered from the record of the first time"),
    number("tickmark_live_connections", Gauge, &[], "Live connections open"),
    number("tickmark_live_skipped_total", Counter, &[], "Updates that slow live connections were skipped ahead of"),
    number("tickmark_log_lines_dropped_total", Counter, &[], "Lines of the log dropped because nothing took them in time"),
    number("tickmark_jwks_fetches_total", Counter, &[], "Times the keys that sign tokens were asked for"),
    number("tickmark_jwks_failures_total", Counter, &[], "Times they could not be had"),
    number("tickmark_heartbeats_total", Counter, &[], "Heartbeats taken"),
    number("tickmark_heartbeats_purged_total", Counter, &[], "Viewers and viewing sessions forgotten because they were old"),
    number("tickmark_statsd_metrics_total", Counter, &[], "StatsD metrics taken"),
    number("tickmark_statsd_unparsed_total", Counter, &[], "StatsD lines that are no metric, or have a name that is refused"),
    number("tickmark_statsd_refused_series_total", Counter, &[], "Series of a StatsD flush that were refused"),
    number("tickmark_statsd_dropped_packets_total", Counter, &[], "StatsD packets dropped because too many waited"),
    number("tickmark_statsd_lost_flushes_total", Counter, &[], "StatsD flushes lost because the store did not take them"),
    number("tickmark_calculation_refreshes_total", Counter, &[], "Times a key's results were brought up to date"),
    number("tickmark_calculation_results_total", Counter, &[], "Results computed for that"),
    number("tickmark_calculation_works_total", Counter, &[], "Large keys built and declarations carried to keys"),
    number("tickmark_webhook_failures_total", Counter, &[], "Times an alert was not taken by its webhook"),
    number("tickmark_commit_seconds", Histogram, &[], "Time until a batch was as durable as configured, on any store"),
    number("tickmark_commit_operations", Histogram, &[], "Operations in a batch, on any store"),
    number("tickmark_commit_guards_failed_total", Counter, &[], "Batches not written because what they rest on had changed"),
    number("tickmark_read_seconds", Histogram, &[], "Time until a read was answered, on any store"),
    number("tickmark_store_errors_total", Counter, &["error"], "Failures of the store, by kind"),
    number("tickmark_store_commits_total", Counter, &[], "Groups of batches written to the log of a directory"),
    number("tickmark_store_batch_operations", Histogram, &[], "Operations in such a group"),
    number("tickmark_store_sync_seconds", Histogram, &[], "Time until the disk had a group"),
    number("tickmark_store_log_bytes", Gauge, &[], "Size of the log of a directory"),
    number("tickmark_store_cache_bytes", Gauge, &[], "Memory that a directory's store holds data in"),
    number("tickmark_store_expired_keys_total", Counter, &[], "Keys removed because their time was over"),
    number("tickmark_store_checkpoints_total", Counter, &[], "Times the log was folded into the tables of a directory"),
];

/// Describes all of them, and shows those without labels from the start: a counter that was never touched would not be
/// there, and an alert on it would never know.
pub(super) fn describe() {
    for Number { name, kind, help, labels } in NUMBERS {
        match kind {
            Counter => describe_counter!(*name, *help),
            Gauge => describe_gauge!(*name, *help),
            Histogram => describe_histogram!(*name, *help),
        }
        match kind {
            Counter if labels.is_empty() => counter!(*name).increment(0),
            Gauge if labels.is_empty() => gauge!(*name).increment(0.0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_number() {
        let manual = include_str!("../../../../docs/operating.md");
        for Number { name, kind, help, labels } in NUMBERS {
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let row = format!("| `{name}{labels}` | {} | {help} |", format!("{kind:?}").to_lowercase());
            assert!(manual.contains(&row), "docs/operating.md lacks this line:\n{row}");
        }
        let rows = manual.lines().filter(|line| line.starts_with("| `tickmark_")).count();
        assert_eq!(rows, NUMBERS.len(), "docs/operating.md has numbers that are not there");
    }
}
