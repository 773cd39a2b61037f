//! Taking away a declaration, a key, a dimension, a project.

use axum::extract::State;
use axum::http::StatusCode;

use super::declaration::{DimensionBody, KeyBody, change_key};
use super::path::{
    CalculationParams, DimensionParams, KeyParams, OfCalculation, OfDimension, OfKey, OfProject, ProjectParams,
};
use super::plan;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::once::{self, Answer, Once, Written};
use crate::problem::{ProblemBody, Result};
use tickmark_engine::calculations::{CalculationError, Declaration};

/// Takes back one calculation that is declared for a key.
///
/// What the key's dimension declares stays.
#[utoipa::path(delete, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}/calculations/{calculation}/{interval}",
    tag = "calculations",
    params(KeyParams, CalculationParams),
    responses(
        (status = 200, body = KeyBody),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such key, or it is not declared for the key itself."),
    ),
)]
pub(crate) async fn undeclare_key(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
    OfCalculation(calculation, interval): OfCalculation,
    once: Once,
) -> Result<Written> {
    context.upkeep().calculations().key_view(identity.account, &path).await?;
    let without = |declared: Declaration| without(declared, path.to_string(), calculation, interval);
    change_key(&context, &identity, &path, &once, without, StatusCode::OK).await
}

/// Takes back one calculation that is declared for a dimension.
#[utoipa::path(delete, path = "/v1/projects/{project}/dimensions/{dimension}/calculations/{calculation}/{interval}",
    tag = "calculations",
    params(DimensionParams, CalculationParams),
    responses(
        (status = 200, body = DimensionBody),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such dimension, or it is not declared."),
    ),
)]
pub(crate) async fn undeclare_dimension(
    State(context): State<Context>,
    identity: Identity,
    OfDimension(path): OfDimension,
    OfCalculation(calculation, interval): OfCalculation,
    once: Once,
) -> Result<Written> {
    let upkeep = context.upkeep();
    let calculations = upkeep.calculations();
    let keys = calculations.dimension_view(identity.account, &path).await?.keys;
    let tags = [path.to_string()];
    let declaring = || async {
        let without = |declared: Declaration| without(declared, path.to_string(), calculation, interval);
        let (declared, declaration) =
            calculations.declare_dimension(identity.account, &path, without, clock::now_ms()).await?;
        let body = DimensionBody::of(&path, declaration, keys, None);
        Ok(plan(declared.writing, Answer::json(StatusCode::OK, &body)?))
    };
    let written = once::commit(&**context.store(), identity.account, &once, &tags, declaring).await?;
    upkeep.ring();
    Ok(written)
}

/// Deletes a key with its values and results.
#[utoipa::path(delete, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}", tag = "calculations",
    params(KeyParams),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such key."),
    ),
)]
pub(crate) async fn delete_key(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
    once: Once,
) -> Result<Written> {
    let calculations = context.upkeep().calculations();
    let tags = [path.to_string()];
    let removing = || async { Ok(plan(calculations.removal_of_key(identity.account, &path).await?, Answer::empty())) };
    let written = once::commit(&**context.store(), identity.account, &once, &tags, removing).await?;
    calculations.unlist_key(identity.account, &path).await?;
    Ok(written)
}

/// Deletes a dimension with all its keys.
///
/// The keys go first. Cut off half-way, what is left is still listed, and deleting again takes the rest.
#[utoipa::path(delete, path = "/v1/projects/{project}/dimensions/{dimension}", tag = "calculations",
    params(DimensionParams),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such dimension."),
    ),
)]
pub(crate) async fn delete_dimension(
    State(context): State<Context>,
    identity: Identity,
    OfDimension(path): OfDimension,
    once: Once,
) -> Result<Written> {
    let calculations = context.upkeep().calculations();
    let tags = [path.to_string()];
    let removing = || async {
        calculations.empty_dimension(identity.account, &path).await?;
        Ok(plan(calculations.removal_of_dimension(identity.account, &path).await?, Answer::empty()))
    };
    once::commit(&**context.store(), identity.account, &once, &tags, removing).await
}

/// Deletes a project with all its dimensions.
///
/// The dimensions go first. Cut off half-way, what is left is still listed, and deleting again takes the rest.
#[utoipa::path(delete, path = "/v1/projects/{project}", tag = "calculations",
    params(ProjectParams),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn delete_project(
    State(context): State<Context>,
    identity: Identity,
    OfProject(name): OfProject,
    once: Once,
) -> Result<Written> {
    let calculations = context.upkeep().calculations();
    let tags = [name.to_string()];
    let removing = || async {
        calculations.empty_project(identity.account, &name).await?;
        Ok(plan(calculations.removal_of_project(identity.account, &name).await?, Answer::empty()))
    };
    once::commit(&**context.store(), identity.account, &once, &tags, removing).await
}

fn without(
    mut declared: Declaration,
    path: String,
    calculation: tickmark_engine::calculations::Calculation,
    interval: tickmark_stats::Interval,
) -> Result<Declaration, CalculationError> {
    if !declared.contains(calculation, interval) {
        let (calculation, interval) = (calculation.to_string(), interval.to_string());
        return Err(CalculationError::NotDeclared { path, calculation, interval });
    }
    declared.remove(calculation, interval);
    Ok(declared)
}
