//! A server: settings and a store, then a listener.

use std::sync::Arc;
use std::time::Duration;

use tickmark_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::context::Context;
use crate::measure::{self, Metered};
use crate::settings::Settings;
use crate::statsd::Statsd;
use crate::{connection, router, tending};

/// How often numbers are tidied that nobody has looked at.
const UPKEEP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Server {
    context: Context,
    statsd: Option<Statsd>,
}

impl Server {
    pub fn new(settings: Settings, store: Arc<dyn Store>) -> Self {
        measure::recorder();
        Self { context: Context::new(settings, Arc::new(Metered::new(store))), statsd: None }
    }

    /// Also counts what StatsD clients send.
    #[must_use]
    pub fn with_statsd(mut self, statsd: Statsd) -> Self {
        self.statsd = Some(statsd);
        self
    }

    /// Answers requests until `shutdown` is done, then finishes what is in flight within a bounded time.
    ///
    /// The store is left open: whoever opened it closes it.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let upkeep = tokio::spawn(async {
            while let Some(recorder) = measure::recorder() {
                tokio::time::sleep(UPKEEP).await;
                recorder.run_upkeep();
            }
        });
        let bounds = self.context.bounds().clone();
        let routes = router::router(&self.context);
        let stopping = || self.context.live().stop();
        let (stop, stopped) = watch::channel(false);
        let (stopped_too, reach) = (stopped.clone(), self.context.settings().webhooks);
        let statsd = self.statsd.map(|statsd| tokio::spawn(statsd.run(self.context.clone(), stopped)));
        let tending = tokio::spawn(tending::tend(self.context.clone()));
        let calculations = tokio::spawn(Arc::clone(self.context.upkeep()).run(reach, stopped_too));
        connection::serve_all(listener, routes, bounds, shutdown, stopping).await;
        stop.send_replace(true);
        if let Some(statsd) = statsd {
            // It has a bound of its own for the last flush; a panic in it is in the log already.
            let _ = statsd.await;
        }
        // Whatever it is at is whole or not at all.
        tending.abort();
        // What it leaves is marked in the store.
        let _ = calculations.await;
        upkeep.abort();
    }
}
