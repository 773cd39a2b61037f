//! The public keys that sign JWTs, from a JWKS URL or file.
//!
//! Kept in memory for an hour, and in the store (`cognito:jwks`) for the same hour, so that many servers that start
//! together ask once. An unknown key id is a reason to ask again, but at most once a minute: anyone can make up key ids.
//! Where asking fails the old keys stay good; a signer that is down for a while should lock nobody out.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use tickmark_store::{Account, Atom, Batch, Expiry, Key, Op, Query, Store};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock;
use crate::problem::{Problem, Result, Word};
use crate::settings::KeySource;

const KEPT: Duration = Duration::from_hours(1);
const BETWEEN_FETCHES: Duration = Duration::from_mins(1);
const FETCH_WAIT: Duration = Duration::from_secs(5);
const DOCUMENT_BYTES_MAX: usize = 256 * 1_024;
const KEYS_MAX: usize = 100;
const CACHE: &str = "cognito:jwks";

#[derive(Clone)]
pub(super) struct SigningKey {
    pub(super) key: DecodingKey,
    pub(super) algorithm: Algorithm,
}

#[derive(Debug)]
pub(super) struct Keys {
    source: KeySource,
    store: Arc<dyn Store>,
    http: reqwest::Client,
    known: RwLock<Known>,
    /// When the source was last asked. Held while asking, so that a thousand requests with a new key ask once, and those
    /// with a known key do not wait for them.
    asked_at: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Known {
    keys: HashMap<String, SigningKey>,
    fresh_until: Option<Instant>,
}

impl Known {
    fn is_fresh(&self) -> bool {
        self.fresh_until.is_some_and(|until| Instant::now() < until)
    }
}

impl Keys {
    pub(super) fn new(source: KeySource, store: Arc<dyn Store>) -> Self {
        let http = reqwest::Client::builder().timeout(FETCH_WAIT).build().unwrap_or_default();
        Self { source, store, http, known: RwLock::default(), asked_at: Mutex::default() }
    }

    pub(super) async fn find(&self, kid: &str) -> Result<Option<SigningKey>> {
        if let Some(key) = self.fresh(kid) {
            return Ok(Some(key));
        }
        let mut asked_at = self.asked_at.lock().await;
        if let Some(key) = self.fresh(kid) {
            return Ok(Some(key));
        }
        // A server that just started looks at what others have fetched before it asks itself.
        if self.read().fresh_until.is_none()
            && let Some(recalled) = self.recall().await?
        {
            *self.write() = recalled;
            if let Some(key) = self.fresh(kid) {
                return Ok(Some(key));
            }
        }
        if asked_at.is_none_or(|asked_at| Instant::now() >= asked_at + BETWEEN_FETCHES) {
            *asked_at = Some(Instant::now());
            match self.fetch().await {
                Ok(document) => {
                    let fresh_until = Some(Instant::now() + KEPT);
                    *self.write() = Known { keys: parse(&document), fresh_until };
                    self.remember(document).await?;
                }
                Err(why) => {
                    metrics::counter!("tickmark_jwks_failures_total").increment(1);
                    tracing::warn!(%why, "the keys that sign tokens could not be fetched");
                }
            }
        }
        let known = self.read();
        if known.keys.is_empty() {
            return Err(Problem::new(Word::KeysUnavailable, "The keys to check this token with are out of reach."));
        }
        Ok(known.keys.get(kid).cloned())
    }

    fn fresh(&self, kid: &str) -> Option<SigningKey> {
        let known = self.read();
        known.keys.get(kid).filter(|_| known.is_fresh()).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self) -> Result<Vec<u8>, String> {
        metrics::counter!("tickmark_jwks_fetches_total").increment(1);
        let document = match &self.source {
            KeySource::File(path) => std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?,
            KeySource::Url(url) => {
                let answer = self.http.get(url).send().await.and_then(reqwest::Response::error_for_status);
                let mut answer = answer.map_err(|error| error.to_string())?;
                let mut document = Vec::new();
                while let Some(chunk) = answer.chunk().await.map_err(|error| error.to_string())? {
                    document.extend_from_slice(&chunk);
                    if document.len() > DOCUMENT_BYTES_MAX {
                        break;
                    }
                }
                document
            }
        };
        if document.len() > DOCUMENT_BYTES_MAX {
            return Err(format!("the key set has more than {DOCUMENT_BYTES_MAX} bytes"));
        }
        if parse(&document).is_empty() {
            return Err("there is no RS256 or ES256 key with a `kid` in the key set".into());
        }
        Ok(document)
    }

    async fn recall(&self) -> Result<Option<Known>> {
        let queries = vec![Query::Get { key: Key::from(CACHE) }, Query::Expiry { key: Key::from(CACHE) }];
        let mut replies = self.store.read(Account(0), queries).await?.into_iter();
        let (Some(document), Some(expiry)) = (replies.next(), replies.next()) else { return Ok(None) };
        let (Some(document), Expiry::AtMs(at_ms)) = (document.value()?, expiry.expiry()?) else { return Ok(None) };
        let left_ms = at_ms.saturating_sub(clock::now().0.saturating_mul(1_000));
        let fresh_until = Some(Instant::now() + Duration::from_millis(left_ms).min(KEPT));
        Ok(Some(Known { keys: parse(&document.as_bytes()), fresh_until }))
    }

    async fn remember(&self, document: Vec<u8>) -> Result<()> {
        // A file is as near as the store is.
        if matches!(self.source, KeySource::File(_)) {
            return Ok(());
        }
        let key = Key::from(CACHE);
        let ms = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        let batch =
            Batch::new().op(Op::Set { key: key.clone(), value: Atom::from(document) }).op(Op::ExpireIn { key, ms });
        self.store.commit(Account(0), batch).await?;
        Ok(())
    }
}

/// The keys in a document that we can use; others in it are none of our business.
fn parse(document: &[u8]) -> HashMap<String, SigningKey> {
    let Ok(set) = serde_json::from_slice::<JwkSet>(document) else { return HashMap::new() };
    set.keys.iter().take(KEYS_MAX).filter_map(usable).collect()
}

fn usable(jwk: &Jwk) -> Option<(String, SigningKey)> {
    let kid = jwk.common.key_id.clone()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|r#use| *r#use != PublicKeyUse::Signature) {
        return None;
    }
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        _ => return None,
    };
    let fits = match jwk.common.key_algorithm {
        None => true,
        Some(KeyAlgorithm::RS256) => algorithm == Algorithm::RS256,
        Some(KeyAlgorithm::ES256) => algorithm == Algorithm::ES256,
        Some(_) => false,
    };
    let key = DecodingKey::from_jwk(jwk).ok().filter(|_| fits)?;
    Some((kid, SigningKey { key, algorithm }))
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("kids", &self.keys.keys()).field("fresh_until", &self.fresh_until).finish()
    }
}
