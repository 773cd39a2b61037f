//! Making, listing and revoking the tokens of one's own account.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tickmark_engine::accounts::{Limits, Registry, Scope, Secret, Token, TokenId};
use utoipa::ToSchema;

use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::extract::PathText;
use crate::intake::{Body, whole};
use crate::once::{self, Answer, Once, Plan, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeName {
    Read,
    Write,
    Admin,
    Heartbeat,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "name": "me", "scopes": ["read", "write", "admin"] }))]
pub(crate) struct NewToken {
    /// Whom it is for.
    #[schema(min_length = 1, max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    name: String,
    #[schema(min_items = 1)]
    scopes: Vec<ScopeName>,
    /// From now; left out, the token does not expire.
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(format = Int64, minimum = 1, maximum = 3_162_240_000_u64)]
    expires_in_seconds: Option<u64>,
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(format = Int64, minimum = 1, maximum = 1_000_000)]
    requests_per_second: Option<u32>,
    /// Of bodies, as they are sent.
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(format = Int64, minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    bytes_per_day: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenView {
    /// What it is called when it is revoked.
    id: String,
    name: String,
    scopes: Vec<ScopeName>,
    created_at: u64,
    expires_at: Option<u64>,
    requests_per_second: Option<u32>,
    bytes_per_day: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenList {
    tokens: Vec<TokenView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MadeToken {
    #[serde(flatten)]
    view: TokenView,
    /// The token itself, shown this once; null where the answer is a replay.
    token: Option<String>,
}

/// The account's tokens.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", responses((status = 200, body = TokenList)))]
pub(crate) async fn list(State(context): State<Context>, identity: Identity) -> Result<Json<TokenList>> {
    let tokens = context.access().registry().list(identity.account).await?;
    Ok(Json(TokenList { tokens: tokens.into_iter().map(TokenView::from).collect() }))
}

/// Makes a token for the account.
///
/// The token is shown in this answer and never again: only a hash of it is kept.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens",
    request_body(content = NewToken),
    responses((status = 201, body = MadeToken)),
)]
pub(crate) async fn create(
    State(context): State<Context>,
    identity: Identity,
    once: Once,
    body: Body,
) -> Result<Response> {
    let wanted: NewToken = body.value()?;
    let secret = Secret::from_random(random()?);
    let token = wanted.into_token(&identity, &secret);
    let once = once.with_body(body.text());
    let registry = context.access().registry();
    let tags = [Registry::TAG.to_owned()];
    let plan = || async {
        let batch = registry.creation(&secret, &token).await?;
        // What is recorded for a replay has no secret in it.
        let answer = Answer::json(StatusCode::CREATED, &MadeToken { view: token.clone().into(), token: None })?;
        Ok(Plan::one(Registry::TAG, batch, answer))
    };
    let written = once::commit(&**context.store(), Registry::HOME, &once, &tags, plan).await?;
    context.access().token_was_made();
    match written {
        Written::Before(_) => Ok(written.into_response()),
        Written::Now(_) => {
            let made = MadeToken { view: token.into(), token: Some(secret.reveal().to_owned()) };
            Ok((StatusCode::CREATED, Json(made)).into_response())
        }
    }
}

/// Revokes a token of the account, at once.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens",
    params(("id" = String, Path, min_length = 1, description = "As in the list.")),
    responses(
        (status = 204, description = "It opens nothing any more."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such token."),
    ),
)]
pub(crate) async fn revoke(
    State(context): State<Context>,
    identity: Identity,
    PathText(id): PathText,
    once: Once,
) -> Result<Written> {
    let registry = context.access().registry();
    let tags = [Registry::TAG.to_owned()];
    let plan = || async {
        let unknown = || tickmark_engine::Error::UnknownToken { id: id.clone() };
        let id = TokenId::parse(&id).ok_or_else(unknown)?;
        let batch = registry.revocation(identity.account, &id).await?;
        Ok(Plan::one(Registry::TAG, batch, Answer::empty()))
    };
    once::commit(&**context.store(), Registry::HOME, &once, &tags, plan).await
}

impl NewToken {
    fn into_token(self, identity: &Identity, secret: &Secret) -> Token {
        let now = clock::now();
        Token {
            id: TokenId::of(&secret.digest()),
            account: identity.account,
            name: self.name,
            scopes: self.scopes.into_iter().map(Scope::from).collect(),
            created_at: now,
            expires_at: self.expires_in_seconds.map(|seconds| now.plus(seconds)),
            limits: Limits { requests_per_second: self.requests_per_second, bytes_per_day: self.bytes_per_day },
        }
    }
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name,
            scopes: token.scopes.iter().map(ScopeName::from).collect(),
            created_at: token.created_at.0,
            expires_at: token.expires_at.map(|at| at.0),
            requests_per_second: token.limits.requests_per_second,
            bytes_per_day: token.limits.bytes_per_day,
        }
    }
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Read => Self::Read,
            ScopeName::Write => Self::Write,
            ScopeName::Admin => Self::Admin,
            ScopeName::Heartbeat => Self::Heartbeat,
        }
    }
}

impl From<Scope> for ScopeName {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Write => Self::Write,
            Scope::Admin => Self::Admin,
            Scope::Heartbeat => Self::Heartbeat,
        }
    }
}

fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Problem::new(Word::StoreUnavailable, format!("no randomness: {error}")))?;
    Ok(bytes)
}
