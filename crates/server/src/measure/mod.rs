//! The numbers a server shows at `/metrics`.
//!
//! Everything below counts through the `metrics` facade, stores included; this is the only place that knows who listens.

mod metered;
pub(crate) mod requests;
mod table;

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::problem::Word;

pub(crate) use metered::Metered;

/// From a tenth of a millisecond to ten seconds.
const SECONDS: &[f64] = &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

const COUNTS: &[f64] = &[1.0, 3.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0];

/// Refusals below the router, which have no [`Word`] because hyper answers them.
pub(crate) const HEADERS_TOO_LARGE: &str = "headers_too_large";
pub(crate) const MALFORMED_HTTP: &str = "malformed_http";

/// Starts counting, for the whole process. To be called before a store is opened, or what the store counts through
/// handles that it made before is lost. [`crate::Server::new`] calls it too, for those who do not care.
pub fn start_counting() {
    recorder();
}

/// The process's one recorder, installed by whoever asks first; none if something else was installed before.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)
        .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_operations".into()), COUNTS))
        .ok()?;
    let handle = builder.install_recorder().ok()?;
    table::describe();
    let below = [HEADERS_TOO_LARGE, MALFORMED_HTTP];
    for reason in Word::ALL.iter().map(|word| word.as_str()).chain(below) {
        metrics::counter!("tickmark_refusals_total", "reason" => reason).increment(0);
    }
    for error in metered::ERRORS {
        metrics::counter!("tickmark_store_errors_total", "error" => *error).increment(0);
    }
    Some(handle)
}
