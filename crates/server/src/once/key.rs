//! The `Idempotency-Key` of a request, and what it is a key to.

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};
use tickmark_store::{Key, Placement};

use crate::access::Identity;
use crate::hexadecimal::hexadecimal;
use crate::problem::{Problem, Word};

pub(super) const KEY_BYTES_MAX: usize = 200;
const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Which request this is, if it says so: an extractor for every route that writes.
///
/// Scoped by account, method and path. The body is added by [`Once::with_body`]; a
/// route without a body need not.
#[derive(Clone, Debug)]
pub struct Once {
    request: Option<Named>,
}

#[derive(Clone, Debug)]
struct Named {
    /// Account, method, path and key.
    name: [u8; 32],
    /// Query and body.
    content: Sha256,
}

impl Once {
    /// A write that nobody will send again.
    pub(crate) fn unnamed() -> Self {
        Self { request: None }
    }

    /// What must be the same for the request to be the same.
    #[must_use]
    pub fn with_body(mut self, body: &str) -> Self {
        if let Some(request) = &mut self.request {
            request.content.update(body);
        }
        self
    }

    /// The key of the record for the part of the request that lives under a tag; none where there is no key.
    pub(super) fn record(&self, placement: Placement, tag: &str) -> Option<Key> {
        let request = self.request.as_ref()?;
        Some(placement.key("tm:once", tag, &hexadecimal(&request.name)))
    }

    /// What the record must say for its answer to be the answer to this request.
    pub(super) fn content(&self) -> Option<String> {
        self.request.as_ref().map(|request| hexadecimal(&request.content.clone().finalize()))
    }
}

impl<S: Sync> FromRequestParts<S> for Once {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut values = parts.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else { return Ok(Self { request: None }) };
        let key = value.as_bytes();
        let visible = key.iter().all(|byte| (0x21..=0x7e).contains(byte));
        if values.next().is_some() || key.is_empty() || key.len() > KEY_BYTES_MAX || !visible {
            let detail = format!("An Idempotency-Key is one word of 1 to {KEY_BYTES_MAX} visible ASCII characters.");
            return Err(Problem::new(Word::BadHeader, detail));
        }
        let account = parts.extensions.get::<Identity>().map_or(0, |identity| identity.account.0);
        let name = Sha256::new()
            .chain_update(account.to_be_bytes())
            .chain_update(parts.method.as_str())
            .chain_update(" ")
            .chain_update(parts.uri.path())
            .chain_update(" ")
            .chain_update(key)
            .finalize();
        let content = Sha256::new().chain_update(parts.uri.query().unwrap_or_default()).chain_update("\n");
        Ok(Self { request: Some(Named { name: name.into(), content }) })
    }
}
