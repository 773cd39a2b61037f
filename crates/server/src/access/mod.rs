//! Who is asking, and whether they may.
//!
//! A request has a Tickmark token, a JWT, or nothing. Nothing is enough only where the server is open: on loopback, while
//! there are no tokens. What the bearer of a token may do is looked up for every request, so a revoked token opens nothing
//! from the moment it is revoked.

mod identity;
mod jwt;
mod keys;
mod layer;
mod limiter;
mod open;

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use tickmark_engine::accounts::{Registry, Secret};
use tickmark_store::Store;

use crate::clock;
use crate::problem::{Problem, Result, Word};
use crate::settings::{AccessSettings, Openness};
use identity::Grant;
use jwt::Jwt;
use limiter::Limiter;
use open::OpenDoor;

pub use identity::Identity;
pub(crate) use layer::{AccessToken, admin_only, by_method, heartbeats};

#[derive(Debug)]
pub(crate) struct Access {
    registry: Registry,
    jwt: Option<Jwt>,
    open: Option<OpenDoor>,
    limiter: Limiter,
}

impl Access {
    pub(crate) fn new(settings: &AccessSettings, store: Arc<dyn Store>) -> Self {
        let registry = Registry::new(Arc::clone(&store));
        let jwt = settings.jwt.clone().map(|settings| Jwt::new(settings, store));
        let may_open = settings.openness == Openness::OpenWithoutTokens && jwt.is_none();
        let open = may_open.then(|| OpenDoor::new(registry.clone()));
        Self { registry, jwt, open, limiter: Limiter::default() }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Tells who sent these headers.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Result<Identity> {
        self.identify_bearer(bearer(headers)?).await
    }

    /// Tells whose token this is, or who comes without one.
    pub(crate) async fn identify_bearer(&self, text: Option<&str>) -> Result<Identity> {
        let identity = match text {
            None => self.anonymous().await?,
            Some(text) if text.starts_with("tm_") => self.by_token(text).await?,
            Some(text) => match &self.jwt {
                Some(jwt) => jwt.identify(text).await?,
                None => return Err(refused("This server knows tokens that begin with tm_, and no others.")),
            },
        };
        self.limiter.spend_request(&identity)?;
        Ok(identity)
    }

    /// Whether someone who came in a while ago would still be let in. Where the store does not answer, nobody is sent away.
    pub(crate) async fn is_still_good(&self, identity: &Identity) -> bool {
        match &identity.grant {
            Grant::Open => match &self.open {
                Some(open) => open.is_open().await.unwrap_or(true),
                None => false,
            },
            Grant::Token(id) => match self.registry.get(identity.account, id).await {
                Ok(token) => !token.is_expired(clock::now()),
                Err(tickmark_engine::Error::UnknownToken { .. }) => false,
                Err(_) => true,
            },
            Grant::Until(expiry) => clock::now() < *expiry,
        }
    }

    /// Counts a body against what its sender may send in a day.
    pub(crate) fn spend_bytes(&self, identity: &Identity, bytes: usize) -> Result<()> {
        self.limiter.spend_bytes(identity, bytes as u64, clock::now())
    }

    /// To be called when a token was made, so that an open server closes at once.
    pub(crate) fn token_was_made(&self) {
        if let Some(open) = &self.open {
            open.close();
        }
    }

    async fn anonymous(&self) -> Result<Identity> {
        match &self.open {
            Some(open) if open.is_open().await? => Ok(Identity::local()),
            _ => Err(refused("This needs a token: send `Authorization: Bearer tm_…`.")),
        }
    }

    async fn by_token(&self, text: &str) -> Result<Identity> {
        // One answer for all of these: whoever guesses learns nothing.
        let unknown = || refused("The token is not known here: it may be mistyped, revoked or expired.");
        let secret = Secret::parse(text).ok_or_else(unknown)?;
        let token = self.registry.find(&secret).await?.ok_or_else(unknown)?;
        if token.is_expired(clock::now()) {
            return Err(unknown());
        }
        Ok(Identity::of_token(token))
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let scheme_and_token = value.to_str().ok().and_then(|text| text.trim().split_once(' '));
    match scheme_and_token {
        // `Token` is what writers of the line protocol send.
        Some((scheme, token))
            if ["bearer", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
                && values.next().is_none() =>
        {
            Ok(Some(token.trim()))
        }
        _ => Err(refused("The Authorization header must be one `Bearer` and a token.")),
    }
}

fn refused(detail: &str) -> Problem {
    Problem::new(Word::Unauthenticated, detail)
}
