//! Logs: for people on a terminal, JSON elsewhere. On standard error, so that what a command prints stays clean.
//!
//! Lines are handed to a thread that writes many at once, so that no request waits for a terminal or a pipe. What it
//! cannot write in time is dropped and counted.

use std::io::{IsTerminal, Write};
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::Outcome;

/// Waiting to be written. What comes when this much is waiting is dropped.
const WAITING_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// How long a line may wait for others to be written with.
const GATHER: Duration = Duration::from_millis(20);
/// How long the end of the program waits for the last lines.
const FINISH: Duration = Duration::from_secs(2);

/// What to log, checked when it is read.
#[derive(Clone, Debug)]
pub(crate) struct Filter(String);

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match EnvFilter::builder().parse(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!("{error}; allowed are error, warn, info, debug, trace, or a filter")),
        }
    }
}

/// Starts the log. Whoever holds what is returned until the end has all lines written by then.
pub(crate) fn start(filter: &Filter) -> Outcome<LastLines> {
    let filter = EnvFilter::builder().parse(&filter.0).map_err(|error| format!("--log: {error}"))?;
    let lines = Lines::default();
    let writer = lines.clone();
    std::thread::Builder::new()
        .name("tickmark-log".into())
        .spawn(move || writer.write_out(&mut std::io::stderr()))
        .map_err(|error| format!("could not start the log: {error}"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines.clone());
    let started = if std::io::stderr().is_terminal() {
        logs.compact().with_target(false).try_init()
    } else {
        logs.json().flatten_event(true).with_ansi(false).try_init()
    };
    started.map_err(|error| format!("could not start the log: {error}"))?;
    Ok(LastLines(lines))
}

/// Waits, for a bounded time, until everything is written.
pub(crate) struct LastLines(Lines);

impl Drop for LastLines {
    fn drop(&mut self) {
        let Lines { waiting, changed } = &self.0;
        let mut guard = lock(waiting);
        guard.ending = true;
        changed.notify_all();
        let _ = changed.wait_timeout_while(guard, FINISH, |waiting| !waiting.ended);
    }
}

#[derive(Clone, Default)]
struct Lines {
    waiting: Arc<Mutex<Waiting>>,
    changed: Arc<Condvar>,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    ending: bool,
    ended: bool,
}

impl Lines {
    /// Until the end. An error of whoever reads the log is no reason to stop working.
    fn write_out(&self, output: &mut impl Write) {
        let mut taken = Vec::new();
        loop {
            let idle = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.ending;
            let guard = lock(&self.waiting);
            let guard = self.changed.wait_while(guard, idle).unwrap_or_else(PoisonError::into_inner);
            let gathering = self.changed.wait_timeout_while(guard, GATHER, |waiting| !waiting.ending);
            let (mut guard, _) = gathering.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut guard.bytes, &mut taken);
            let ending = guard.ending;
            drop(guard);
            let _ = output.write_all(&taken).and_then(|()| output.flush());
            taken.clear();
            if ending {
                lock(&self.waiting).ended = true;
                self.changed.notify_all();
                return;
            }
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A line at a time: that is how the log hands them over.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes.len() + line.len() > WAITING_BYTES_MAX {
            metrics::counter!("tickmark_log_lines_dropped_total").increment(1);
        } else {
            let was_idle = waiting.bytes.is_empty();
            waiting.bytes.extend_from_slice(line);
            drop(waiting);
            if was_idle {
                self.changed.notify_all();
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_written_in_their_order_before_the_end() {
        let lines = Lines::default();
        let writer = lines.clone();
        let thread = std::thread::spawn(move || {
            let mut output = Vec::new();
            writer.write_out(&mut output);
            output
        });
        for line in 0..1_000 {
            writeln!(lines.clone(), "{line}").unwrap();
        }
        drop(LastLines(lines));
        let written = String::from_utf8(thread.join().unwrap()).unwrap();
        assert!(written.lines().eq((0..1_000).map(|line| line.to_string())), "{written}");
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let mut lines = Lines::default();
        for _ in 0..5 {
            lines.write_all(&vec![b'x'; 1_024 * 1_024]).unwrap();
        }
        assert_eq!(lock(&lines.waiting).bytes.len(), WAITING_BYTES_MAX);
    }
}
