//! What a path is about: an event, one of its sessions, someone in either.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use tickmark_engine::audience::{AudienceName, Scope};
use utoipa::ToSchema;

use crate::problem::{Problem, Result, Word};

/// The event or session that a path names.
#[derive(Clone, Debug)]
pub(crate) struct ScopePath(pub(crate) Scope);

/// The same, and the user.
#[derive(Clone, Debug)]
pub(crate) struct ViewerPath {
    pub(crate) scope: Scope,
    pub(crate) user: String,
}

impl<S: Sync + Send> FromRequestParts<S> for ScopePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Self(read(parts, state).await?.0))
    }
}

impl<S: Sync + Send> FromRequestParts<S> for ViewerPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let (scope, user) = read(parts, state).await?;
        let user = user.ok_or_else(|| Problem::new(Word::Defect, "The route has no user."))?;
        Ok(Self { scope, user })
    }
}

async fn read<S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<(Scope, Option<String>)> {
    let parameters = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|error| Problem::new(Word::BadParameter, format!("The path is not understood: {error}.")))?;
    let named = |wanted: &str| parameters.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let event = named("event").ok_or_else(|| Problem::new(Word::Defect, "The route has no event."))?;
    let event = AudienceName::parse(event)?;
    let session = named("session").map(AudienceName::parse).transpose()?;
    Ok((Scope { event, session }, named("user").map(str::to_owned)))
}

/// A name as the OpenAPI document has it. (The limit is on bytes, which a schema cannot say.)
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    min_length = 1,
    max_length = 200,
    pattern = r"^(?!tm:|poll:|set:|hash:|trace:|stats:|tcount:|ps:|updates:|jobs:|cognito:|example:)[^#{}\x00-\x1f\x7f-\x9f]+$"
)]
pub(crate) struct AudienceNameText(#[expect(dead_code, reason = "only its schema is of use")] String);

/// A user as the OpenAPI document has it.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 200, pattern = r"^[^#\x00-\x1f\x7f-\x9f]+$")]
pub(crate) struct UserText(#[expect(dead_code, reason = "only its schema is of use")] String);
