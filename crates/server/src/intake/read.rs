//! Reading a body off the wire.

use std::time::Duration;

use axum::body::{Body as WireBody, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::BodyExt;

use super::Format;
use super::budget::Share;
use super::unpack::Encoding;
use crate::access::Identity;
use crate::context::Context;
use crate::problem::{Problem, Result, Word};

/// Bodies up to this size are unpacked where they were read; larger ones where nobody waits.
const UNPACK_INLINE_BYTES: usize = 16 * 1_024;

/// How long a body that is too large is read on, so that its sender hears why it is refused.
const DRAIN_WAIT: Duration = Duration::from_secs(2);

/// A whole body, unpacked, valid UTF-8.
#[derive(Debug)]
pub struct Body {
    text: Bytes,
    format: Format,
    /// Held for as long as the bytes are.
    _share: Share,
}

impl Body {
    pub fn format(&self) -> Format {
        self.format
    }

    pub fn text(&self) -> &str {
        // Checked when it was made; an empty body is the harmless answer to what cannot be.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// For routes that take any body, or none: nothing is asked of its type.
    pub(crate) async fn of_any_type(context: &Context, request: Request) -> Result<Self> {
        Self::read(context, request, Format::Json).await
    }

    async fn read(context: &Context, request: Request, format: Format) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let bounds = context.bounds();
        let encoding = Encoding::of(&parts.headers)?;
        let mut share = context.bodies().share();
        let asks_first = parts.headers.contains_key(header::EXPECT);
        if body.size_hint().lower() > bounds.body_bytes_max as u64 {
            // Whoever asks first is told before anything is sent.
            if !asks_first {
                drain(body, bounds.body_bytes_max).await;
            }
            return Err(too_large(bounds.body_bytes_max));
        }
        let reading = collect(body, bounds.body_bytes_max, &mut share);
        let packed = tokio::time::timeout(bounds.body_wait, reading).await.map_err(|_| {
            let detail = format!("The body must be there within {} seconds.", bounds.body_wait.as_secs());
            Problem::new(Word::SlowBody, detail)
        })??;
        if let Ok(identity) = Identity::from_request_parts(&mut parts, context).await {
            context.access().spend_bytes(&identity, packed.len())?;
        }

        let bytes_max = bounds.unpacked_bytes_max;
        // What comes out has a share of its own, because until it is out both are held.
        let mut room = context.bodies().share();
        let (text, share) = if encoding == Encoding::Identity {
            (packed, share)
        } else if packed.len() <= UNPACK_INLINE_BYTES {
            (encoding.unpack(&packed, bytes_max, &mut room)?, room)
        } else {
            let unpacking = move || encoding.unpack(&packed, bytes_max, &mut room).map(|text| (text, room));
            tokio::task::spawn_blocking(unpacking)
                .await
                .map_err(|error| Problem::new(Word::Defect, format!("unpacking failed: {error}")))??
        };
        check_utf8(&text)?;
        Ok(Self { text, format, _share: share })
    }
}

impl FromRequest<Context> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, context: &Context) -> Result<Self> {
        let format = Format::of(request.headers())?;
        Self::read(context, request, format).await
    }
}

async fn collect(mut body: WireBody, bytes_max: usize, share: &mut Share) -> Result<Bytes> {
    let mut first = Bytes::new();
    let mut joined = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::new(Word::BrokenBody, format!("The body is not whole: {error}")))?;
        let Ok(chunk) = frame.into_data() else { continue };
        if first.len() + joined.len() + chunk.len() > bytes_max {
            drop((first, joined));
            drain(body, bytes_max).await;
            return Err(too_large(bytes_max));
        }
        // Most bodies are one chunk, which then needs no copy.
        if first.is_empty() && joined.is_empty() {
            share.grow_to(chunk.len())?;
            first = chunk;
            continue;
        }
        share.reserve(&mut joined, first.len() + chunk.len(), bytes_max)?;
        joined.extend_from_slice(&std::mem::take(&mut first));
        joined.extend_from_slice(&chunk);
    }
    Ok(if joined.is_empty() { first } else { joined.into() })
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::new(Word::BodyTooLarge, format!("A body has at most {bytes_max} bytes; send it in several parts."))
}

/// Reads on for a while and forgets it. A connection that is closed on someone who is still sending looks to them like a
/// broken one, and the answer is lost.
async fn drain(mut body: WireBody, bytes_max: usize) {
    let draining = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > bytes_max {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_WAIT, draining).await;
}

fn check_utf8(text: &[u8]) -> Result<()> {
    let Err(error) = std::str::from_utf8(text) else { return Ok(()) };
    let valid = &text[..error.valid_up_to()];
    let line = memchr::memchr_iter(b'\n', valid).count() + 1;
    Err(Problem::new(Word::InvalidUtf8, format!("Byte {} of the body, on line {line}, is not UTF-8.", valid.len() + 1)))
}
