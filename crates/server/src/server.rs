//! A server: settings and a store, then a listener.

use std::sync::Arc;
use std::time::Duration;

use tickmark_store::Store;
use tokio::net::TcpListener;

use crate::context::Context;
use crate::measure::{self, Metered};
use crate::settings::Settings;
use crate::{connection, router};

/// How often numbers are tidied that nobody has looked at.
const UPKEEP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Server {
    context: Context,
}

impl Server {
    pub fn new(settings: Settings, store: Arc<dyn Store>) -> Self {
        measure::recorder();
        Self { context: Context::new(settings, Arc::new(Metered::new(store))) }
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
        connection::serve_all(listener, routes, bounds, shutdown, stopping).await;
        upkeep.abort();
    }
}
