//! gzip and zstd bodies, with a limit on what comes out.
//!
//! The limit is on bytes written, not on what the header of the archive claims, so a bomb costs no more than the limit.

use std::io::Read;

use axum::http::{HeaderMap, header};
use bytes::Bytes;

use super::budget::Share;
use crate::problem::{Problem, Result, Word};

/// The window a zstd stream may ask for, as a power of two: 64 MiB, no more than a body may unpack to.
const ZSTD_WINDOW_LOG_MAX: u32 = 26;
const CHUNK_BYTES: usize = 256 * 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

impl Encoding {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let (first, second) = (values.next(), values.next());
        let Some(value) = first else { return Ok(Self::Identity) };
        match value.to_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "identity" if second.is_none() => Ok(Self::Identity),
            "gzip" | "x-gzip" if second.is_none() => Ok(Self::Gzip),
            "zstd" if second.is_none() => Ok(Self::Zstd),
            _ => Err(Problem::new(
                Word::UnsupportedEncoding,
                format!("The body has the Content-Encoding {value:?}; send it as it is, or as gzip or zstd."),
            )),
        }
    }

    /// The bytes inside. Takes time: for large bodies, not on a thread that others wait for.
    pub(super) fn unpack(self, packed: &Bytes, bytes_max: usize, share: &mut Share) -> Result<Bytes> {
        let failed =
            |error: std::io::Error| Problem::new(Word::BadCompression, format!("The body is not {self}: {error}"));
        match self {
            Self::Identity => Ok(packed.clone()),
            Self::Gzip => drain(flate2::read::MultiGzDecoder::new(&packed[..]), bytes_max, share, failed),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(&packed[..]).map_err(failed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(failed)?;
                drain(decoder, bytes_max, share, failed)
            }
        }
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Identity => "as it is",
            Self::Gzip => "whole, valid gzip",
            Self::Zstd => "whole, valid zstd",
        })
    }
}

fn drain(
    mut decoder: impl Read,
    bytes_max: usize,
    share: &mut Share,
    failed: impl Fn(std::io::Error) -> Problem,
) -> Result<Bytes> {
    let mut unpacked = Vec::new();
    loop {
        share.reserve(&mut unpacked, CHUNK_BYTES, bytes_max)?;
        let read = decoder.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut unpacked).map_err(&failed)?;
        if unpacked.len() > bytes_max {
            let detail = format!("The body unpacks to more than {bytes_max} bytes; send it in several parts.");
            return Err(Problem::new(Word::BodyTooLarge, detail));
        }
        if read == 0 {
            return Ok(unpacked.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::Budget;
    use super::*;

    const MAX: usize = 1_000_000;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    fn unpack(encoding: Encoding, packed: &Bytes) -> Result<Bytes> {
        encoding.unpack(packed, MAX, &mut Budget::new(64 * MAX).share())
    }

    #[test]
    fn what_was_packed_comes_out() {
        for len in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, MAX] {
            let bytes = vec![b'x'; len];
            assert_eq!(unpack(Encoding::Gzip, &gzip(&bytes)).unwrap(), bytes, "{len}");
            let packed = Bytes::from(zstd::encode_all(&bytes[..], 1).unwrap());
            assert_eq!(unpack(Encoding::Zstd, &packed).unwrap(), bytes, "{len}");
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bytes = vec![0; 50 * MAX];
        for (encoding, packed) in
            [(Encoding::Gzip, gzip(&bytes)), (Encoding::Zstd, zstd::encode_all(&bytes[..], 1).unwrap().into())]
        {
            assert!(packed.len() < MAX);
            assert_eq!(unpack(encoding, &packed).unwrap_err().word(), Word::BodyTooLarge);
        }
    }

    #[test]
    fn nonsense_and_halves_are_refused() {
        let whole = gzip(b"hello");
        let half = whole.slice(..whole.len() - 4);
        for (encoding, packed) in [
            (Encoding::Gzip, Bytes::from_static(b"hello")),
            (Encoding::Gzip, half),
            (Encoding::Gzip, Bytes::new()),
            (Encoding::Zstd, Bytes::from_static(b"hello")),
        ] {
            assert_eq!(unpack(encoding, &packed).unwrap_err().word(), Word::BadCompression);
        }
    }
}
