//! Keeping values, and reading them back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::calculations::Change;
use tickmark_stats::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::item::{self, ValueBody};
use super::listing::limit;
use super::path::{KeyParams, OfKey, OfProject, ProjectParams};
use super::plan;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::extract::Query;
use crate::intake::Body;
use crate::once::{self, Answer, Once, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};
use crate::upkeep::Handing;

/// Bodies up to this size are read where they arrived; larger ones on a thread that nobody waits for.
const INLINE_BYTES: usize = 32 * 1_024;
const LIMIT_DEFAULT: u32 = 1_000;
const LIMIT_MAX: u32 = 100_000;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AcceptedValues)]
pub(crate) struct Accepted {
    /// How many values were kept.
    accepted: u64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ValuesQuery {
    /// The first instant: epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`; the beginning, where it is missing.
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9][0-9]{0,10})(\.[0-9]{1,6})?$")]
    from: Option<String>,
    /// The last instant; the end, where it is missing.
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9][0-9]{0,10})(\.[0-9]{1,6})?$")]
    to: Option<String>,
    /// At most so many; 1,000, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100_000)]
    limit: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoredValue {
    /// Seconds since 1970.
    #[schema(value_type = f64)]
    at: serde_json::Number,
    #[schema(value_type = f64)]
    value: serde_json::Number,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ValueList {
    values: Vec<StoredValue>,
    /// What to give as `from` for the next page; null at the end.
    #[schema(value_type = Option<f64>)]
    next: Option<serde_json::Number>,
}

/// Keeps values of a project.
///
/// A second value for the same key and instant replaces the first, so sending again is harmless. Projects, dimensions and keys
/// that are not there yet come to be. All values are kept, or none.
#[utoipa::path(post, path = "/v1/projects/{project}/values", tag = "calculations",
    params(ProjectParams),
    request_body(content((Vec<ValueBody> = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, body = Accepted),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of the project, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn add(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    once: Once,
    body: Body,
) -> Result<Written> {
    let (upkeep, account) = (context.upkeep(), identity.account);
    upkeep.know(account).await?;
    let calculations = upkeep.calculations();
    let settings = calculations.project_or_standard(account, &project).await?;
    let is_small = body.text().len() <= INLINE_BYTES;
    let now_micros = clock::now_micros();
    let reading =
        move || -> Result<_> { Ok((once.with_body(body.text()), item::read(&body, project, settings, now_micros)?)) };
    let defect = |error| Problem::new(Word::Defect, format!("reading the body failed: {error}"));
    let (once, values) =
        if is_small { reading() } else { tokio::task::spawn_blocking(reading).await.map_err(defect)? }?;
    let answer = Answer::json(StatusCode::OK, &Accepted { accepted: values.count() })?;
    let tags = calculations.tags(&values);
    let changes = Mutex::new(HashMap::new());
    let turn = upkeep.turns().take(account, values.paths()).await;
    let recalled = calculations.recall(account, &values);
    let flight = if recalled.is_some() { turn.shared().await } else { turn.alone().await };
    let recalled = Mutex::new(recalled);
    let keeping = || async {
        let recalled = recalled.lock().unwrap_or_else(PoisonError::into_inner).take();
        let from_memory = match recalled {
            Some(recalled) => calculations.keep_recalled(account, &values, recalled, clock::now_ms()).await?,
            None => None,
        };
        let mut writing = match from_memory {
            Some(writing) => writing,
            None => calculations.keep(account, &values, clock::now_ms()).await?,
        };
        let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
        // Planned before, because a guard failed: what was not written must not pass for what someone else wrote.
        changes.values_mut().for_each(Change::doubt);
        changes.extend(writing.changes.drain(..).map(|change| (Arc::clone(&change.path), change)));
        drop(changes);
        Ok(plan(writing, answer.clone()))
    };
    let store = Handing::new(Arc::clone(context.store()), turn);
    let written = once::commit(&store, account, &once, &tags, keeping).await;
    drop(flight);
    // Also after a failure: on a Cluster some of it may be written.
    let changes = changes.into_inner().unwrap_or_else(PoisonError::into_inner);
    upkeep.note(account, changes.into_values().collect());
    written
}

/// The values of a key, in the order of time.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}/values", tag = "calculations",
    params(KeyParams, ValuesQuery),
    responses(
        (status = 200, body = ValueList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such key."),
    ),
)]
pub(crate) async fn show(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
    Query(query): Query<ValuesQuery>,
) -> Result<Json<ValueList>> {
    let calculations = context.upkeep().calculations();
    let calendar = calculations.project(identity.account, &path.project).await?;
    let end = |name: &str, text: Option<&str>, missing| match text {
        None => Ok(missing),
        Some(text) => calendar
            .calendar()
            .instant(text)
            .map_err(|error| Problem::new(Word::BadParameter, format!("`{name}`: {error}."))),
    };
    let ends = (end("from", query.from.as_deref(), Timestamp::MIN)?, end("to", query.to.as_deref(), Timestamp::MAX)?);
    let limit = limit(query.limit.as_deref(), LIMIT_DEFAULT, LIMIT_MAX)?;
    let page = calculations.values(identity.account, &path, ends, limit).await?;
    let values =
        page.values.iter().filter_map(|(at, value)| Some(StoredValue { at: seconds(*at)?, value: number(*value)? }));
    Ok(Json(ValueList { values: values.collect(), next: page.next.and_then(seconds) }))
}

/// Seconds since 1970, whole where they are.
fn seconds(at: Timestamp) -> Option<serde_json::Number> {
    if at.as_micros() % 1_000_000 == 0 {
        return Some(at.as_seconds().into());
    }
    serde_json::Number::from_f64(at.as_seconds_f64())
}

/// A number, whole where it is.
pub(super) fn number(value: f64) -> Option<serde_json::Number> {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 54 bits")]
        return Some((value as i64).into());
    }
    serde_json::Number::from_f64(value)
}
