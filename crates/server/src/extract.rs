//! Parameters of the path and the query, refused in one way.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tickmark_engine::Name;
use utoipa::ToSchema;

use crate::problem::{Problem, Result, Word};

/// The query, as a struct. Unlike axum's own, a parameter may be given several times where the field is a list.
#[derive(Clone, Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let query = parts.uri.query().unwrap_or_default();
        serde_html_form::from_str(query)
            .map(Self)
            .map_err(|error| Problem::new(Word::BadParameter, format!("The query is not understood: {error}.")))
    }
}

/// How many items a page of a list has.
pub(crate) fn limit(text: Option<&str>) -> Result<u32> {
    const DEFAULT: u32 = 100;
    const MAX: u32 = 1_000;
    let limit = text.map_or(Some(DEFAULT), |limit| limit.parse().ok()).filter(|limit| (1..=MAX).contains(limit));
    limit.ok_or_else(|| Problem::new(Word::BadParameter, format!("`limit` is 1 to {MAX}.")))
}

/// The one parameter of the path, as a name.
#[derive(Clone, Debug)]
pub struct PathName(pub Name);

impl<S: Sync + Send> FromRequestParts<S> for PathName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Self(Name::parse(&PathText::from_request_parts(parts, state).await?.0)?))
    }
}

/// A name as the OpenAPI document has it. (The limit is on bytes, which a schema cannot say.)
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    min_length = 1,
    max_length = 200,
    pattern = r"^(?!tm:|poll:|set:|hash:|trace:|stats:|tcount:|ps:|updates:|jobs:|cognito:|example:)[^{}\x00-\x1f\x7f-\x9f]+$"
)]
pub struct NameText(#[expect(dead_code, reason = "only its schema is of use")] String);

/// The one parameter of the path, as it is.
#[derive(Clone, Debug)]
pub struct PathText(pub String);

impl<S: Sync + Send> FromRequestParts<S> for PathText {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let parameters = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::new(Word::BadParameter, format!("The path is not understood: {error}.")))?;
        let text = parameters.iter().next().map(|(_, value)| value.to_owned());
        text.map(Self).ok_or_else(|| Problem::new(Word::Defect, "The route has no parameter."))
    }
}
