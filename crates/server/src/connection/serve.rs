//! One connection.

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::socket::{self, Socket};
use crate::flag::raised;
use crate::measure::{HEADERS_TOO_LARGE, MALFORMED_HTTP};
use crate::problem::{Problem, Word};
use crate::settings::Bounds;

pub(super) async fn serve(stream: TcpStream, router: Router, bounds: Arc<Bounds>, mut stopped: watch::Receiver<bool>) {
    // Answers are small and awaited; waiting to fill a packet only adds delay.
    let _ = stream.set_nodelay(true);
    let socket = Socket::new(stream);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.headers_wait)
        .max_headers(bounds.headers_max)
        .max_buf_size(bounds.header_bytes_max)
        .serve_connection(socket.clone(), TowerToHyperService::new(router))
        .with_upgrades();
    let mut connection = pin!(connection);
    let outcome = tokio::select! {
        outcome = &mut connection => outcome,
        () = raised(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    let Err(error) = outcome else { return };
    if error.is_timeout() && socket.has_begun() {
        refuse_slow_headers(&socket, &bounds);
    } else if error.is_parse() {
        // hyper has answered 400 or 431 by itself.
        let reason = if error.is_parse_too_large() { HEADERS_TOO_LARGE } else { MALFORMED_HTTP };
        metrics::counter!("tickmark_refusals_total", "reason" => reason).increment(1);
    }
    tracing::debug!(%error, "connection ended");
}

/// hyper hangs up without a word.
fn refuse_slow_headers(socket: &Socket, bounds: &Bounds) {
    metrics::counter!("tickmark_refusals_total", "reason" => "slow_headers").increment(1);
    let detail = format!("The headers must be there within {} seconds.", bounds.headers_wait.as_secs());
    socket.write_now(&socket::spell(Problem::new(Word::SlowHeaders, detail)));
}
