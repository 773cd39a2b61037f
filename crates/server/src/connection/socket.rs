//! A TCP stream that the server keeps a hand on while hyper reads and writes it, so that a last word can be said after
//! hyper gave up.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::response::IntoResponse;
use http_body_util::BodyExt;
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::net::TcpStream;

use crate::problem::Problem;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1_024;

#[derive(Clone, Debug)]
pub(super) struct Socket(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// Whether anything came since the last answer.
    has_begun: AtomicBool,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Shared { stream, has_begun: AtomicBool::new(false) }))
    }

    /// Whether the other side has begun a request that is not answered. If not, it is only idle.
    pub(super) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }

    /// What fits without waiting.
    pub(super) fn write_now(&self, bytes: &[u8]) {
        let _ = self.0.stream.try_write(bytes);
    }
}

impl Read for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut cursor: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(cx))?;
            // On the stack and only once there is something to read: idle connections hold no buffer.
            let mut buffer = [0; READ_BYTES];
            let len = cursor.remaining().min(READ_BYTES);
            match self.0.stream.try_read(&mut buffer[..len]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(read) => {
                    cursor.put_slice(&buffer[..read]);
                    self.0.has_begun.store(true, Ordering::Relaxed);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl Write for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(cx))?;
            match self.0.stream.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => {
                    self.0.has_begun.store(false, Ordering::Relaxed);
                    return Poll::Ready(outcome);
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match socket2::SockRef::from(&self.0.stream).shutdown(Shutdown::Write) {
            // Closed by the other side already, which is all that was wanted.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            outcome => Poll::Ready(outcome),
        }
    }
}

/// A problem as the bytes of a whole HTTP/1.1 answer after which the connection closes.
pub(super) fn spell(problem: Problem) -> Vec<u8> {
    let (parts, body) = problem.into_response().into_parts();
    let body = futures_util::FutureExt::now_or_never(body.collect()).and_then(Result::ok);
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let reason = parts.status.canonical_reason().unwrap_or_default();
    let mut bytes = format!(
        "HTTP/1.1 {} {reason}\r\nconnection: close\r\ncontent-length: {}\r\n",
        parts.status.as_u16(),
        body.len()
    )
    .into_bytes();
    for (name, value) in &parts.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&body);
    bytes
}
