//! The series a path is about.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tickmark_engine::series::SeriesName;
use utoipa::ToSchema;

use crate::extract::PathText;
use crate::problem::{Problem, Result};

#[derive(Clone, Debug)]
pub(crate) struct SeriesPath(pub(crate) SeriesName);

impl<S: Sync + Send> FromRequestParts<S> for SeriesPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        Ok(Self(SeriesName::parse(&text)?))
    }
}

/// A name as the OpenAPI document has it. (The limit is on bytes, which a schema cannot say.)
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    min_length = 1,
    max_length = 200,
    pattern = r"^(?!(tm|poll|set|hash|trace|stats|tcount|ps|updates|jobs|cognito|example)(:|$))[^{}\x00-\x1f\x7f-\x9f]+$"
)]
pub(crate) struct SeriesNameText(#[expect(dead_code, reason = "only its schema is of use")] String);
