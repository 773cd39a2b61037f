//! The projects, dimensions and keys there are.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tickmark_engine::calculations::Page;
use utoipa::{IntoParams, ToSchema};

use super::path::{DimensionParams, OfDimension, OfProject, ProjectParams};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::problem::{Problem, ProblemBody, Result, Word};

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NamesQuery {
    /// Only names that begin with this.
    #[serde(default)]
    prefix: String,
    /// Only names that come after this one.
    after: Option<String>,
    /// At most so many; 100, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    limit: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProjectList {
    projects: Vec<String>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DimensionList {
    dimensions: Vec<String>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyList {
    keys: Vec<String>,
    /// What to give as `after` for the next page; null at the end.
    next: Option<String>,
}

/// The projects there are, in order of their names.
#[utoipa::path(get, path = "/v1/projects", tag = "calculations", params(NamesQuery),
    responses((status = 200, body = ProjectList)))]
pub(crate) async fn projects(
    State(context): State<Context>,
    identity: Identity,
    Query(query): Query<NamesQuery>,
) -> Result<Json<ProjectList>> {
    let calculations = context.upkeep().calculations();
    let limit = limit(query.limit.as_deref(), LIMIT_DEFAULT, LIMIT_MAX)?;
    let page = calculations.projects(identity.account, &query.prefix, query.after.as_deref(), limit).await?;
    let (projects, next) = spelled(page);
    Ok(Json(ProjectList { projects, next }))
}

/// The dimensions of a project, in order of their names.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions", tag = "calculations",
    params(ProjectParams, NamesQuery),
    responses(
        (status = 200, body = DimensionList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn dimensions(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    Query(query): Query<NamesQuery>,
) -> Result<Json<DimensionList>> {
    let calculations = context.upkeep().calculations();
    let limit = limit(query.limit.as_deref(), LIMIT_DEFAULT, LIMIT_MAX)?;
    let after = query.after.as_deref();
    let page = calculations.dimensions(identity.account, &project, &query.prefix, after, limit).await?;
    let (dimensions, next) = spelled(page);
    Ok(Json(DimensionList { dimensions, next }))
}

/// The keys of a dimension, in order of their names.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions/{dimension}/keys", tag = "calculations",
    params(DimensionParams, NamesQuery),
    responses(
        (status = 200, body = KeyList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such dimension."),
    ),
)]
pub(crate) async fn keys(
    State(context): State<Context>,
    identity: Identity,
    OfDimension(path): OfDimension,
    Query(query): Query<NamesQuery>,
) -> Result<Json<KeyList>> {
    let calculations = context.upkeep().calculations();
    let limit = limit(query.limit.as_deref(), LIMIT_DEFAULT, LIMIT_MAX)?;
    let after = query.after.as_deref();
    let page = calculations.keys_listed(identity.account, &path, &query.prefix, after, limit).await?;
    let (keys, next) = spelled(page);
    Ok(Json(KeyList { keys, next }))
}

/// The `limit` of a page.
pub(super) fn limit(text: Option<&str>, default: u32, max: u32) -> Result<u32> {
    let limit = text.map_or(Some(default), |text| text.parse().ok()).filter(|limit| (1..=max).contains(limit));
    limit.ok_or_else(|| Problem::new(Word::BadParameter, format!("`limit` is 1 to {max}.")))
}

fn spelled(page: Page) -> (Vec<String>, Option<String>) {
    (page.names.iter().map(ToString::to_string).collect(), page.next.map(|next| next.to_string()))
}
