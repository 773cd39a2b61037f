//! JSON Web Tokens that someone else signs: RS256 and ES256, with issuer, audience and expiry checked.
//!
//! The algorithm is the key's, never the token's choice: a token that says `none`, or a symmetric algorithm with the public
//! key as its secret, has no key here.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use tickmark_engine::Seconds;
use tickmark_store::Store;

use super::identity::Grant;
use super::keys::Keys;
use super::{Identity, refused};
use crate::problem::Result;
use crate::settings::JwtSettings;

/// Clocks differ.
const LEEWAY_S: u64 = 30;
const TOKEN_BYTES_MAX: usize = 16 * 1_024;
const USER_BYTES_MAX: usize = 200;

#[derive(Debug)]
pub(super) struct Jwt {
    settings: JwtSettings,
    keys: Keys,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
}

impl Jwt {
    pub(super) fn new(settings: JwtSettings, store: Arc<dyn Store>) -> Self {
        let keys = Keys::new(settings.keys.clone(), store);
        Self { settings, keys }
    }

    pub(super) async fn identify(&self, text: &str) -> Result<Identity> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(refused("The token is too long."));
        }
        let header = decode_header(text).map_err(|_| refused("The token is not a JWT signed with RS256 or ES256."))?;
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256) {
            return Err(refused("The token must be signed with RS256 or ES256."));
        }
        let kid = header.kid.ok_or_else(|| refused("The token does not say which key signed it (`kid`)."))?;
        let key = self.keys.find(&kid).await?.ok_or_else(|| refused("The token is signed with an unknown key."))?;
        if key.algorithm != header.alg {
            return Err(refused("The token is signed with another algorithm than its key is for."));
        }
        let claims = decode::<Claims>(text, &key.key, &self.validation(key.algorithm))
            .map_err(|error| refused(&format!("The token is not valid: {error}.")))?
            .claims;
        if claims.sub.is_empty() || claims.sub.len() > USER_BYTES_MAX {
            return Err(refused("The token's `sub` must have 1 to 200 bytes."));
        }
        Ok(Identity {
            account: self.settings.account,
            scopes: self.settings.scopes,
            limits: self.settings.limits,
            bearer: format!("sub:{}", claims.sub).into(),
            user: claims.sub,
            grant: Grant::Until(expiry(claims.exp)),
        })
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_S;
        validation
    }
}

/// JWTs may have decimals in their times.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is what is wanted")]
fn expiry(exp: f64) -> Seconds {
    Seconds(exp as u64).plus(LEEWAY_S)
}
