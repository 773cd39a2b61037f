//! What rules found.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::listing::limit;
use super::path::{OfProject, ProjectParams};
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::problem::{Problem, ProblemBody, Result, Word};
use crate::upkeep::AlertView;

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;
const BEFORE_MS_MAX: u64 = 253_402_300_799_999;
/// Alerts in one live update.
const LIVE_ALERTS: u32 = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertsQuery {
    /// Only alerts from before this time, in milliseconds since 1970: `next` of the page before.
    #[param(value_type = Option<u64>, maximum = 253_402_300_799_999_u64)]
    before: Option<String>,
    /// At most so many; 100, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    limit: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlertList {
    alerts: Vec<AlertView>,
    /// What to give as `before` for the next page; null at the end.
    next: Option<u64>,
}

/// The alerts of a project, the newest first.
#[utoipa::path(get, path = "/v1/projects/{project}/alerts", tag = "calculations",
    params(ProjectParams, AlertsQuery),
    responses(
        (status = 200, body = AlertList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn alerts(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    Query(query): Query<AlertsQuery>,
) -> Result<Json<AlertList>> {
    let limit = limit(query.limit.as_deref(), LIMIT_DEFAULT, LIMIT_MAX)?;
    let before = match query.before.as_deref().map(|text| text.parse().ok().filter(|ms| *ms <= BEFORE_MS_MAX)) {
        None => None,
        Some(Some(before)) => Some(before),
        Some(None) => {
            let detail = "`before` is a time in milliseconds since 1970, before the year 10000.";
            return Err(Problem::new(Word::BadParameter, detail));
        }
    };
    let (alerts, next) = context.upkeep().calculations().alerts(identity.account, &project, before, limit).await?;
    Ok(Json(AlertList { alerts: alerts.iter().map(AlertView::of).collect(), next }))
}

/// The newest 20 alerts of a project, now and after each new one.
///
/// Server-Sent Events: first `snapshot`, then `change`, at most four a second.
#[utoipa::path(get, path = "/v1/projects/{project}/alerts/live", tag = "calculations",
    params(ProjectParams),
    responses(
        (status = 200, body = AlertList, content_type = "text/event-stream"),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn alerts_live(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
) -> Result<Response> {
    let (calculations, account) = (Arc::clone(context.upkeep().calculations()), identity.account);
    let channel = calculations.alert_channel(&project);
    let snapshot = move || {
        let (calculations, project) = (Arc::clone(&calculations), project.clone());
        async move {
            let (alerts, _) = calculations.alerts(account, &project, None, LIVE_ALERTS).await?;
            let list = AlertList { alerts: alerts.iter().map(AlertView::of).collect(), next: None };
            let json = serde_json::to_vec(&list).map_err(|error| Problem::new(Word::Defect, error.to_string()))?;
            Ok(Bytes::from(json))
        }
    };
    context.live().listen(identity, channel, snapshot).await
}
