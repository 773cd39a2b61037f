//! The InfluxDB line protocol, for writers that speak it already.

use axum::extract::{FromRequestParts, Request, State};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::counting::{commit, tallied};
use super::times;
use crate::access::Identity;
use crate::context::Context;
use crate::extract::Query;
use crate::intake::Body;
use crate::line_protocol::{self, Defaults, Precision};
use crate::once::{Answer, Once, Written};
use crate::problem::{Place, Problem, ProblemBody, Result, Word};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WriteQuery {
    /// The unit of the timestamps: `ns` (the default), `us`, `u`, `ms` or `s`.
    #[param(pattern = "^(n|ns|u|us|ms|s)$")]
    precision: Option<String>,
    /// Accepted and ignored: the account is that of the token.
    #[serde(rename = "bucket")]
    _bucket: Option<String>,
    /// Accepted and ignored.
    #[serde(rename = "org")]
    _org: Option<String>,
    /// Accepted and ignored.
    #[serde(rename = "db")]
    _db: Option<String>,
    /// Accepted and ignored.
    #[serde(rename = "rp")]
    _rp: Option<String>,
}

/// Lines as the OpenAPI document has them.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, pattern = "^(ev[0-9]{0,4} n=[0-9]{1,6}i?\\n)+$")]
pub(crate) struct LinesText(#[expect(dead_code, reason = "only its schema is of use")] String);

/// Counts lines of the InfluxDB line protocol.
///
/// `ev,s=item1 n=3 1700000000000000000` counts 3 in the series `ev:s=item1:n`. All lines are counted, or none.
#[utoipa::path(post, path = "/write", tag = "series",
    params(WriteQuery),
    request_body(content = inline(LinesText), content_type = "text/plain", description = "Lines of the line protocol, in any form it has; the schema shows the simplest."),
    responses(
        (status = 204, description = "All lines were counted."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of a series, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn write(State(context): State<Context>, identity: Identity, request: Request) -> Result<Written> {
    written(&context, identity, request).await
}

/// Counts lines of the InfluxDB line protocol, as clients of version 2 send them.
#[utoipa::path(post, path = "/api/v2/write", tag = "series",
    params(WriteQuery),
    request_body(content = inline(LinesText), content_type = "text/plain", description = "Lines of the line protocol, in any form it has; the schema shows the simplest."),
    responses(
        (status = 204, description = "All lines were counted."),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of a series, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn write_v2(State(context): State<Context>, identity: Identity, request: Request) -> Result<Written> {
    written(&context, identity, request).await
}

async fn written(context: &Context, identity: Identity, request: Request) -> Result<Written> {
    let (mut parts, wire) = request.into_parts();
    let Query(query) = Query::<WriteQuery>::from_request_parts(&mut parts, context).await?;
    let once = Once::from_request_parts(&mut parts, context).await?;
    let precision = query.precision.as_deref().map_or(Ok(Precision::Nanoseconds), precision)?;
    let body = Body::of_any_type(context, Request::from_parts(parts, wire)).await?;
    let strings = context.settings().line_strings;
    let defaults = Defaults { precision, now: times::now(), strings };
    let (once, events) = tallied(body, once, move |body| line_protocol::tally(body.text(), defaults)).await?;
    commit(context, identity.account, &once, &events, Place::Line, Answer::empty()).await
}

fn precision(text: &str) -> Result<Precision> {
    Precision::named(text)
        .ok_or_else(|| Problem::new(Word::BadParameter, format!("`precision` is ns, us, u, ms or s, not {text:?}.")))
}
