//! Declaring a project.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::calculations::{Gaps, PartName, Project};
use utoipa::ToSchema;

use super::path::{OfProject, ProjectParams};
use super::plan;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::intake::Body;
use crate::once::{self, Answer, Once, Written};
use crate::problem::{ProblemBody, Result};

/// What an interval without a value counts as.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GapsName {
    Zero,
    Skip,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ProjectSettings)]
pub(crate) struct ProjectBody {
    /// Of the IANA database; UTC, where it is missing.
    #[schema(example = "America/New_York")]
    time_zone: Option<String>,
    /// `zero`, where it is missing.
    gaps: Option<GapsName>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProjectView {
    project: String,
    time_zone: String,
    gaps: GapsName,
}

/// What a project is.
#[utoipa::path(get, path = "/v1/projects/{project}", tag = "calculations",
    params(ProjectParams),
    responses(
        (status = 200, body = ProjectView),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn show_project(
    State(context): State<Context>,
    identity: Identity,
    OfProject(name): OfProject,
) -> Result<Json<ProjectView>> {
    let project = context.upkeep().calculations().project(identity.account, &name).await?;
    Ok(Json(ProjectView::of(&name, &project)))
}

/// Declares a project, or changes it.
///
/// The time zone stays once there are values. What a gap counts as may change, and every result follows.
#[utoipa::path(put, path = "/v1/projects/{project}", tag = "calculations",
    params(ProjectParams),
    request_body(content = ProjectBody),
    responses(
        (status = 200, body = ProjectView, description = "The project was there."),
        (status = 201, body = ProjectView, description = "The project is new."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "The project has values, so its time zone stays; or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn declare_project(
    State(context): State<Context>,
    identity: Identity,
    OfProject(name): OfProject,
    once: Once,
    body: Body,
) -> Result<Written> {
    let request: ProjectBody = body.value()?;
    let gaps = match request.gaps {
        None | Some(GapsName::Zero) => Gaps::Zero,
        Some(GapsName::Skip) => Gaps::Skip,
    };
    let settings = Project::new(request.time_zone.as_deref(), gaps)?;
    let once = once.with_body(body.text());
    let upkeep = context.upkeep();
    upkeep.know(identity.account).await?;
    let tags = [name.to_string()];
    let declaring = || async {
        let now_ms = clock::now_ms();
        let declared = upkeep.calculations().declare_project(identity.account, &name, &settings, now_ms).await?;
        let status = if declared.is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(plan(declared.writing, Answer::json(status, &ProjectView::of(&name, &settings))?))
    };
    let written = once::commit(&**context.store(), identity.account, &once, &tags, declaring).await?;
    upkeep.ring();
    Ok(written)
}

impl ProjectView {
    fn of(name: &PartName, project: &Project) -> Self {
        let gaps = match project.gaps() {
            Gaps::Zero => GapsName::Zero,
            Gaps::Skip => GapsName::Skip,
        };
        Self { project: name.to_string(), time_zone: project.calendar().zone().to_owned(), gaps }
    }
}
