//! One connection's view of a topic.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::frame::Frame;
use super::guest::Guest;
use crate::flag::raised;

/// Proxies close connections that are silent for long.
const HEARTBEAT: Duration = Duration::from_secs(15);

struct Listener {
    slot: watch::Receiver<Arc<Frame>>,
    stopping: watch::Receiver<bool>,
    /// The sequence of the last frame sent; none before the snapshot.
    sent: Option<u64>,
    silent_since: Instant,
    guest: Guest,
}

pub(super) fn response(slot: watch::Receiver<Arc<Frame>>, stopping: watch::Receiver<bool>, guest: Guest) -> Response {
    let listener = Listener { slot, stopping, sent: None, silent_since: Instant::now(), guest };
    let events = stream::unfold(listener, |mut listener| async move {
        let bytes = listener.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), listener))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Nginx holds answers back until it has a buffer full, unless told not to.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(events)).into_response()
}

impl Listener {
    /// The next bytes to send; `None` when the topic or the server ends.
    async fn next(&mut self) -> Option<Bytes> {
        let bytes = tokio::select! {
            biased;
            () = raised(&mut self.stopping) => return None,
            bytes = Self::event(&mut self.slot, &mut self.sent) => bytes?,
            () = sleep_until(self.silent_since + HEARTBEAT) => Bytes::from_static(b":\n\n"),
        };
        if !self.guest.is_welcome().await {
            return None;
        }
        self.silent_since = Instant::now();
        Some(bytes)
    }

    async fn event(slot: &mut watch::Receiver<Arc<Frame>>, sent: &mut Option<u64>) -> Option<Bytes> {
        if sent.is_some() {
            slot.changed().await.ok()?;
        }
        let frame = Arc::clone(&slot.borrow_and_update());
        let Some(before) = sent.replace(frame.sequence) else { return Some(frame.snapshot.clone()) };
        let skipped = frame.sequence.saturating_sub(before + 1);
        if skipped > 0 {
            metrics::counter!("tickmark_live_skipped_total").increment(skipped);
        }
        Some(frame.change.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u64) -> Arc<Frame> {
        Arc::new(Frame::new(sequence, &Bytes::from(format!("{{\"n\":{sequence}}}"))))
    }

    #[tokio::test]
    async fn a_slow_reader_is_skipped_ahead() {
        let (sender, mut slot) = watch::channel(frame(0));
        let mut sent = None;
        let mut next = async || {
            let bytes = Listener::event(&mut slot, &mut sent).await.unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert_eq!(next().await, "event: snapshot\nid: 0\ndata: {\"n\":0}\n\n");
        for sequence in 1..=1_000 {
            sender.send_replace(frame(sequence));
        }
        assert_eq!(next().await, "event: change\nid: 1000\ndata: {\"n\":1000}\n\n");
        drop(sender);
        assert!(Listener::event(&mut slot, &mut sent).await.is_none());
    }
}
