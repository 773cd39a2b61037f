//! Who a request is from.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tickmark_engine::Seconds;
use tickmark_engine::accounts::{Limits, Scopes, Token, TokenId};
use tickmark_store::Account;

use crate::problem::{Problem, Word};

/// Whoever sent the request, as handlers see them: an extractor.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Whose data this request may touch, and no other.
    pub account: Account,
    pub user: String,
    pub scopes: Scopes,
    pub(super) limits: Limits,
    /// What limits are counted by.
    pub(super) bearer: Box<str>,
    pub(super) grant: Grant,
}

/// What an identity rests on, for connections that outlive the check at their beginning.
#[derive(Clone, Debug)]
pub(super) enum Grant {
    /// That the server is open.
    Open,
    /// A token that can be revoked.
    Token(TokenId),
    /// A JWT, good until it expires.
    Until(Seconds),
}

impl Identity {
    /// Everyone on an open server.
    pub(super) fn local() -> Self {
        Self {
            account: Account(0),
            user: "local".into(),
            scopes: Scopes::all(),
            limits: Limits::default(),
            bearer: "local".into(),
            grant: Grant::Open,
        }
    }

    pub(super) fn of_token(token: Token) -> Self {
        Self {
            account: token.account,
            user: token.name,
            scopes: token.scopes,
            limits: token.limits,
            bearer: token.id.as_str().into(),
            grant: Grant::Token(token.id),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // A route outside the access layers has no identity to give: a mistake in the router, met in the first test of it.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Problem::new(Word::Defect, "The route has no access check."))
    }
}
