//! Real Redis processes for tests and benchmarks.
//!
//! [`Redis`] is one server, [`Cluster`] six of them in three pairs. Each listens on a free port of 127.0.0.1, keeps its
//! files in a temporary directory, and is killed when its handle is dropped, also by a panic. Nothing here touches a
//! process it did not start.

mod cluster;
mod port;
mod server;
mod settings;
mod tls;
mod wire;

pub use cluster::Cluster;
pub use server::Redis;
pub use settings::{Fsync, Settings};
pub use wire::Answer;

use std::io;
use std::time::{Duration, Instant};

/// Asks again until the answer is yes, because no fixed sleep is both short and long enough.
pub fn wait_until(what: &str, patience: Duration, mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let last = done();
        if matches!(last, Ok(true)) {
            return Ok(());
        }
        if start.elapsed() > patience {
            let why = last.err().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("waited {patience:?} for {what}{why}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
