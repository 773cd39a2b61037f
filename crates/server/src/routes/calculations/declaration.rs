//! Declaring calculations for a dimension or a key.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::calculations::{Declaration, DimensionPath, KeyPath, Progress};
use tickmark_stats::Interval;
use utoipa::ToSchema;

use super::path::{DimensionParams, IntervalText, KeyParams, OfDimension, OfKey};
use super::plan;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::intake::Body;
use crate::once::{self, Answer, Once, Written};
use crate::problem::{ProblemBody, Result};

/// Calculations, each with its intervals.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclarationBody {
    calculations: BTreeMap<String, Vec<String>>,
}

/// Calculations to keep up to date, each with its intervals. What is not named is not calculated any more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CalculationDeclaration)]
#[expect(dead_code, reason = "only its schema is of use: refusals say more than it could")]
pub(crate) struct DeclarationText {
    #[schema(inline)]
    calculations: CalculationsText,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of use")]
struct CalculationsText {
    #[schema(required = false, value_type = Vec<IntervalText>)]
    count: Option<Vec<String>>,
    #[schema(required = false, value_type = Vec<IntervalText>)]
    sum: Option<Vec<String>>,
    #[schema(required = false, value_type = Vec<IntervalText>)]
    average: Option<Vec<String>>,
    #[schema(required = false, value_type = Vec<IntervalText>)]
    standard_deviation: Option<Vec<String>>,
    #[schema(required = false, value_type = Vec<IntervalText>)]
    linear_regression: Option<Vec<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BuildingView {
    done: u64,
    total: u64,
}

pub(super) type Calculations = BTreeMap<&'static str, Vec<&'static str>>;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DimensionView)]
pub(crate) struct DimensionBody {
    project: String,
    dimension: String,
    /// What is declared for every key.
    calculations: Calculations,
    /// How many keys there are.
    keys: u64,
    /// How many keys the declaration has reached, while it does.
    building: Option<BuildingView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyView)]
pub(crate) struct KeyBody {
    project: String,
    dimension: String,
    key: String,
    /// What is calculated: what is declared for the key or its dimension.
    calculations: Calculations,
    /// What is declared for the key alone.
    declared: Calculations,
    /// How many values there are.
    values: u64,
    /// How many values are worked into what was declared after they came, while they are.
    building: Option<BuildingView>,
}

/// What is declared for a dimension, and how far that has come.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions/{dimension}", tag = "calculations",
    params(DimensionParams),
    responses(
        (status = 200, body = DimensionBody),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such dimension."),
    ),
)]
pub(crate) async fn show_dimension(
    State(context): State<Context>,
    identity: Identity,
    OfDimension(path): OfDimension,
) -> Result<Json<DimensionBody>> {
    Ok(Json(dimension_body(&context, &identity, &path).await?))
}

/// Declares calculations for every key of a dimension, present and future.
///
/// Replaces what was declared for the dimension before. What is stored already is worked in, too.
#[utoipa::path(put, path = "/v1/projects/{project}/dimensions/{dimension}", tag = "calculations",
    params(DimensionParams),
    request_body(content = DeclarationText),
    responses(
        (status = 200, body = DimensionBody, description = "The dimension was there."),
        (status = 201, body = DimensionBody, description = "The dimension is new."),
    ),
)]
pub(crate) async fn declare_dimension(
    State(context): State<Context>,
    identity: Identity,
    OfDimension(path): OfDimension,
    once: Once,
    body: Body,
) -> Result<Written> {
    let declaration = body.value::<DeclarationBody>()?.declaration()?;
    let upkeep = context.upkeep();
    upkeep.know(identity.account).await?;
    let (once, tags) = (once.with_body(body.text()), [path.to_string()]);
    let keys = match upkeep.calculations().dimension_view(identity.account, &path).await {
        Ok(view) => view.keys,
        Err(_) => 0,
    };
    let declaring = || async {
        let (declared, declaration) = upkeep
            .calculations()
            .declare_dimension(identity.account, &path, |_| Ok(declaration), clock::now_ms())
            .await?;
        let status = if declared.is_new { StatusCode::CREATED } else { StatusCode::OK };
        let building = (keys > 0).then_some(BuildingView { done: 0, total: keys });
        let body = DimensionBody::of(&path, declaration, keys, building);
        Ok(plan(declared.writing, Answer::json(status, &body)?))
    };
    let written = once::commit(&**context.store(), identity.account, &once, &tags, declaring).await?;
    upkeep.ring();
    Ok(written)
}

/// What is calculated for a key, and how far that has come.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}", tag = "calculations",
    params(KeyParams),
    responses(
        (status = 200, body = KeyBody),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such key."),
    ),
)]
pub(crate) async fn show_key(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
) -> Result<Json<KeyBody>> {
    let view = context.upkeep().calculations().key_view(identity.account, &path).await?;
    let mut body = KeyBody::of(&path, view.own, view.effective);
    body.values = view.values;
    body.building = view.building.map(BuildingView::of);
    Ok(Json(body))
}

/// Declares calculations for one key, besides those of its dimension.
///
/// Replaces what was declared for the key before. What is stored already is worked in, too.
#[utoipa::path(put, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}", tag = "calculations",
    params(KeyParams),
    request_body(content = DeclarationText),
    responses(
        (status = 200, body = KeyBody, description = "The key was there."),
        (status = 201, body = KeyBody, description = "The key is new."),
    ),
)]
pub(crate) async fn declare_key(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
    once: Once,
    body: Body,
) -> Result<Written> {
    let declaration = body.value::<DeclarationBody>()?.declaration()?;
    let once = once.with_body(body.text());
    change_key(&context, &identity, &path, &once, |_| Ok(declaration), StatusCode::CREATED).await
}

/// Changes what is declared for a key, and begins to work it in.
pub(super) async fn change_key(
    context: &Context,
    identity: &Identity,
    path: &KeyPath,
    once: &Once,
    change: impl Fn(Declaration) -> Result<Declaration, tickmark_engine::calculations::CalculationError>,
    when_new: StatusCode,
) -> Result<Written> {
    let (upkeep, account) = (context.upkeep(), identity.account);
    upkeep.know(account).await?;
    let calculations = upkeep.calculations();
    let tags = [path.to_string()];
    let values = match calculations.key_view(account, path).await {
        Ok(view) => view.values,
        Err(_) => 0,
    };
    let turn = upkeep.turns().take(account, std::iter::once(path)).await;
    let flight = turn.alone().await;
    let declaring = || async {
        let (declared, own, effective) = calculations.declare_key(account, path, &change, clock::now_ms()).await?;
        let status = if declared.is_new { when_new } else { StatusCode::OK };
        let mut body = KeyBody::of(path, own, effective);
        body.values = values;
        Ok(plan(declared.writing, Answer::json(status, &body)?))
    };
    let written = once::commit(&**context.store(), account, once, &tags, declaring).await?;
    // Few values are worked in before the answer; it is right without, but whoever reads the store sees it at once.
    if let Err(error) = calculations.settle(account, path, clock::now_ms()).await {
        tracing::warn!(%error, "a declaration is not worked in yet; it will be");
    }
    drop((flight, turn));
    upkeep.ring();
    Ok(written)
}

pub(super) async fn dimension_body(
    context: &Context,
    identity: &Identity,
    path: &DimensionPath,
) -> Result<DimensionBody> {
    let view = context.upkeep().calculations().dimension_view(identity.account, path).await?;
    Ok(DimensionBody::of(path, view.declaration, view.keys, view.building.map(BuildingView::of)))
}

impl DeclarationBody {
    fn declaration(&self) -> Result<Declaration> {
        let mut declaration = Declaration::default();
        for (calculation, intervals) in &self.calculations {
            let calculation = calculation.parse::<tickmark_engine::calculations::Calculation>()?;
            for interval in intervals {
                declaration.insert(calculation, interval.parse::<Interval>()?);
            }
        }
        Ok(declaration)
    }
}

impl DimensionBody {
    pub(super) fn of(
        path: &DimensionPath,
        declaration: Declaration,
        keys: u64,
        building: Option<BuildingView>,
    ) -> Self {
        let (project, dimension) = (path.project.to_string(), path.dimension.to_string());
        Self { project, dimension, calculations: spelled(declaration), keys, building }
    }
}

impl KeyBody {
    fn of(path: &KeyPath, own: Declaration, effective: Declaration) -> Self {
        Self {
            project: path.project.to_string(),
            dimension: path.dimension.to_string(),
            key: path.key.to_string(),
            calculations: spelled(effective),
            declared: spelled(own),
            values: 0,
            building: None,
        }
    }
}

impl BuildingView {
    fn of(progress: Progress) -> Self {
        Self { done: progress.done, total: progress.total }
    }
}

fn spelled(declaration: Declaration) -> Calculations {
    let intervals =
        |intervals: tickmark_engine::calculations::Intervals| intervals.iter().map(Interval::as_str).collect();
    declaration.calculations().map(|(name, of)| (name.as_str(), intervals(of))).collect()
}
