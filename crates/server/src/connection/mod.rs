//! Connections: accepted within bounds, read with patience that ends, finished before the server stops.

mod serve;
mod socket;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::problem::{Problem, Word};
use crate::settings::Bounds;

/// After a failure to accept, for example because there are no more file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until `shutdown` is done, calls `stopping`, then waits for what is in flight, but not for ever.
pub(crate) async fn serve_all(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    shutdown: impl Future<Output = ()>,
    stopping: impl FnOnce(),
) {
    let (stop, stopped) = watch::channel(false);
    let bounds = Arc::new(bounds);
    let places = Arc::new(Semaphore::new(bounds.connections_max.min(Semaphore::MAX_PERMITS)));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted.inspect_err(|error| tracing::warn!(%error, "could not accept a connection"))
        else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            turn_away(&stream, bounds.connections_max);
            continue;
        };
        let connection = serve::serve(stream, router.clone(), Arc::clone(&bounds), stopped.clone());
        connections.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    stopping();
    stop.send_replace(true);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(bounds.shutdown_wait, finish).await.is_err() {
        tracing::warn!("some requests took too long to finish and were cut off");
    }
}

/// As much of an answer as fits in the socket without waiting for anyone.
fn turn_away(stream: &TcpStream, connections_max: usize) {
    metrics::counter!("tickmark_connections_refused_total").increment(1);
    let detail = format!("All {connections_max} connections are taken.");
    let _ = stream.try_write(&socket::spell(Problem::new(Word::Overloaded, detail)));
}
