//! Logs: for people on a terminal, JSON elsewhere. On standard error, so that what a command prints stays clean.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::Outcome;

pub(crate) fn start(filter: &str) -> Outcome {
    let filter = EnvFilter::builder().parse(filter).map_err(|error| {
        format!("--log {filter:?}: {error}; allowed are error, warn, info, debug, trace, or a filter")
    })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if std::io::stderr().is_terminal() {
        logs.compact().with_target(false).try_init()
    } else {
        logs.json().flatten_event(true).with_ansi(false).try_init()
    };
    started.map_err(|error| format!("could not start the log: {error}"))
}
