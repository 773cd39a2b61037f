//! What a path is about: a project, a dimension, a key, a calculation.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use tickmark_engine::calculations::{Calculation, DimensionPath, KeyPath, PartName};
use tickmark_stats::Interval;
use utoipa::{IntoParams, ToSchema};

use crate::problem::{Problem, Result, Word};

#[derive(Clone, Debug)]
pub(crate) struct OfProject(pub(crate) PartName);

#[derive(Clone, Debug)]
pub(crate) struct OfDimension(pub(crate) DimensionPath);

#[derive(Clone, Debug)]
pub(crate) struct OfKey(pub(crate) KeyPath);

/// A calculation of something.
#[derive(Clone, Debug)]
pub(crate) struct OfCalculation(pub(crate) Calculation, pub(crate) Interval);

impl<S: Sync + Send> FromRequestParts<S> for OfProject {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Self(name(&parameters(parts, state).await?, "project")?))
    }
}

impl<S: Sync + Send> FromRequestParts<S> for OfDimension {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let parameters = parameters(parts, state).await?;
        let (project, dimension) = (name(&parameters, "project")?, name(&parameters, "dimension")?);
        Ok(Self(DimensionPath { project, dimension }))
    }
}

impl<S: Sync + Send> FromRequestParts<S> for OfKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let OfDimension(path) = OfDimension::from_request_parts(parts, state).await?;
        Ok(Self(path.key(name(&parameters(parts, state).await?, "key")?)))
    }
}

/// A rule of the project.
#[derive(Clone, Debug)]
pub(crate) struct OfRule(pub(crate) PartName);

impl<S: Sync + Send> FromRequestParts<S> for OfRule {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Self(name(&parameters(parts, state).await?, "rule")?))
    }
}

impl<S: Sync + Send> FromRequestParts<S> for OfCalculation {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let parameters = parameters(parts, state).await?;
        // What does not exist is not declared either.
        let unknown = |error: &dyn std::fmt::Display| Problem::new(Word::NotDeclared, error.to_string());
        let calculation = text(&parameters, "calculation")?.parse().map_err(|error| unknown(&error))?;
        let interval = text(&parameters, "interval")?.parse().map_err(|error| unknown(&error))?;
        Ok(Self(calculation, interval))
    }
}

/// The path of a project, as the OpenAPI document has it.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct ProjectParams {
    /// The name of the project.
    #[param(inline)]
    project: PartNameText,
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct DimensionParams {
    /// The name of the project.
    #[param(inline)]
    project: PartNameText,
    /// The name of the dimension.
    #[param(inline)]
    dimension: PartNameText,
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct KeyParams {
    /// The name of the project.
    #[param(inline)]
    project: PartNameText,
    /// The name of the dimension.
    #[param(inline)]
    dimension: PartNameText,
    /// The name of the key.
    #[param(inline)]
    key: PartNameText,
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct RuleParams {
    /// The name of the rule.
    #[param(inline)]
    rule: PartNameText,
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) struct CalculationParams {
    /// The calculation.
    #[param(inline)]
    calculation: CalculationText,
    /// The interval.
    #[param(inline)]
    interval: IntervalText,
}

/// A name as the OpenAPI document has it. (The limit is on bytes, which a schema cannot say.)
#[derive(Debug, ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 200, pattern = r"^[^:{}\x00-\x1f\x7f-\x9f]+$")]
pub(crate) struct PartNameText(#[expect(dead_code, reason = "only its schema is of use")] String);

#[derive(Debug, ToSchema)]
#[schema(as = CalculationName, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) enum CalculationText {
    Count,
    Sum,
    Average,
    StandardDeviation,
    LinearRegression,
}

#[derive(Debug, ToSchema)]
#[schema(as = IntervalName, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) enum IntervalText {
    Seconds,
    Minutes,
    Hours,
    Days,
    Weeks,
    Months,
    Years,
}

async fn parameters<S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<RawPathParams> {
    let malformed = |error| Problem::new(Word::BadParameter, format!("The path is not understood: {error}."));
    RawPathParams::from_request_parts(parts, state).await.map_err(malformed)
}

fn text<'a>(parameters: &'a RawPathParams, name: &str) -> Result<&'a str> {
    let found = parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    found.ok_or_else(|| Problem::new(Word::Defect, format!("The route has no {name}.")))
}

fn name(parameters: &RawPathParams, parameter: &str) -> Result<PartName> {
    Ok(PartName::parse(text(parameters, parameter)?)?)
}
