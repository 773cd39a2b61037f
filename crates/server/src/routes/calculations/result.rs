//! Asking for a result.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tickmark_engine::Error as EngineError;
use tickmark_engine::calculations::{CalculationError, Figures, Outcome};
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;

use super::path::{CalculationParams, KeyParams, OfCalculation, OfKey};
use super::values::number;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::problem::{ProblemBody, Result};

/// How long an answer waits for a declaration to be worked in.
const BUILDING_WAIT: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The result of a calculation. `values` for `count` and `sum`; else the figures that its name says, null where there
/// are too few intervals.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CalculationResult)]
pub(crate) struct ResultBody {
    /// A number for each interval that has a value, by its label.
    #[schema(value_type = Option<std::collections::BTreeMap<String, f64>>)]
    values: Option<()>,
    average: Option<f64>,
    standard_deviation: Option<f64>,
    intercept: Option<f64>,
    slope: Option<f64>,
    /// Half-width of the slope's two-sided confidence interval.
    ci_90: Option<f64>,
    ci_95: Option<f64>,
    ci_99: Option<f64>,
    /// How many intervals there are.
    n: Option<u64>,
}

/// The result of a declared calculation, of every value acknowledged so far.
#[utoipa::path(get, path = "/v1/projects/{project}/dimensions/{dimension}/keys/{key}/calculations/{calculation}/{interval}",
    tag = "calculations",
    params(KeyParams, CalculationParams),
    responses(
        (status = 200, body = ResultBody),
        (status = 404, body = ProblemBody, content_type = "application/problem+json",
            description = "There is no such key, or the calculation is not declared."),
    ),
)]
pub(crate) async fn result(
    State(context): State<Context>,
    identity: Identity,
    OfKey(path): OfKey,
    OfCalculation(calculation, interval): OfCalculation,
) -> Result<Response> {
    let (calculations, max) = (context.upkeep().calculations(), context.bounds().points_max);
    let until = Instant::now() + BUILDING_WAIT;
    loop {
        let asked = (calculation, interval);
        match calculations.outcome(identity.account, &path, asked, max, clock::now_ms()).await {
            Ok(outcome) => {
                let json = spelled(&outcome);
                return Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response());
            }
            Err(EngineError::Calculation(CalculationError::StillBuilding { .. })) if Instant::now() < until => {
                context.upkeep().ring();
                sleep(BETWEEN_LOOKS).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Written without a value in between: an answer may have a million labels.
fn spelled(outcome: &Outcome) -> Vec<u8> {
    let mut json = vec![b'{'];
    match &outcome.figures {
        Figures::PerInterval(_) => {
            json.extend_from_slice(b"\"values\":{");
            for (index, (label, value)) in outcome.labelled().enumerate() {
                if index > 0 {
                    json.push(b',');
                }
                member(&label, &number(value), &mut json);
            }
            json.push(b'}');
        }
        figures => {
            for (index, (name, value)) in outcome.named().into_iter().enumerate() {
                if index > 0 {
                    json.push(b',');
                }
                member(name, &value, &mut json);
            }
            if let Figures::Line { n, .. } = figures {
                json.push(b',');
                member("n", n, &mut json);
            }
        }
    }
    json.push(b'}');
    json
}

fn member(name: &str, value: &impl Serialize, json: &mut Vec<u8>) {
    // A vector takes every write.
    drop(serde_json::to_writer(&mut *json, name));
    json.push(b':');
    drop(serde_json::to_writer(json, value));
}
