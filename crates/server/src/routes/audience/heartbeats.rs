//! Taking heartbeats.

use std::net::IpAddr;

use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use tickmark_engine::audience::{Audience, AudienceName, Heartbeat, Roll};
use tickmark_store::Account;
use utoipa::{IntoParams, ToSchema};

use super::path::{AudienceNameText, ScopePath};
use crate::access::{AccessToken, Identity};
use crate::clock;
use crate::context::Context;
use crate::intake::text::Text;
use crate::intake::{self, Body};
use crate::layers::UnderWay;
use crate::once::{self, Answer, Once, Part, Plan, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};
use crate::routes::series::When;

/// Bodies up to this size are read where they arrived; larger ones on a thread that nobody waits for.
const INLINE_BYTES: usize = 32 * 1_024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    user: Text<'a>,
    #[serde(borrow)]
    session: Option<Text<'a>>,
    #[serde(borrow)]
    location: Option<Text<'a>>,
    #[serde(borrow)]
    ip: Option<Text<'a>>,
    #[serde(borrow)]
    country: Option<Text<'a>>,
    #[serde(borrow)]
    groups: Option<Vec<Text<'a>>>,
    at: Option<When>,
}

/// Someone is watching. Only the user is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Heartbeat)]
#[expect(dead_code, reason = "only its schema is of use: reading it would copy its text")]
pub(crate) struct HeartbeatBody {
    #[schema(min_length = 1, max_length = 200, pattern = r"^[^#\x00-\x1f\x7f-\x9f]+$")]
    user: String,
    /// Of the event; the heartbeat counts in both.
    #[schema(inline, value_type = Option<AudienceNameText>)]
    session: Option<String>,
    /// What kind of place, such as `web` or `app`; `unknown`, where it is missing.
    #[schema(inline, value_type = Option<AudienceNameText>)]
    location: Option<String>,
    /// Tells the country, where that is missing and the server has a file to look it up in. Not kept.
    #[schema(example = "203.0.113.9")]
    ip: Option<String>,
    /// Two letters.
    #[schema(min_length = 2, max_length = 2, pattern = "^[A-Za-z]{2}$")]
    country: Option<String>,
    #[schema(max_items = 32)]
    groups: Option<Vec<String>>,
    /// Epoch seconds, or as text RFC 3339 or `2014-10-17 21:34:07 -0400`; now, where it is missing. At most 5 minutes from now.
    #[schema(minimum = 0, maximum = 253_402_300_799_u64)]
    at: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AcceptedHeartbeats)]
pub(crate) struct Accepted {
    /// How many heartbeats were taken.
    accepted: u64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "read before the handler runs; only its schema is of use")]
pub(crate) struct BeaconQuery {
    /// A token, for a page that is being left and cannot send headers any more.
    access_token: Option<String>,
}

/// Takes heartbeats of an event.
///
/// An event or session that is not there is created. All heartbeats are taken, or none.
#[utoipa::path(post, path = "/v1/audience/{event}/heartbeats", tag = "audience",
    params(("event" = inline(AudienceNameText), Path, description = "The name of the event."), BeaconQuery),
    request_body(content((Vec<HeartbeatBody> = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, body = Accepted),
        (status = 409, body = ProblemBody, content_type = "application/problem+json",
            description = "Something else is kept under a key of the event, or the `Idempotency-Key` came with another body."),
    ),
)]
pub(crate) async fn count(
    State(context): State<Context>,
    identity: Identity,
    ScopePath(scope): ScopePath,
    once: Once,
    request: Request,
) -> Result<Written> {
    let place = request.extensions().get::<UnderWay>().cloned();
    let body = body(&context, request).await?;
    let (once, roll) = read(&context, body, once).await?;
    // Written to the end even if its sender goes away: a turn that ends without a word has everybody's times read anew. Until
    // then it is one of the requests under way.
    let writing = tokio::spawn(async move {
        let _place = place;
        write(context, identity.account, scope.event, once, roll).await
    });
    writing.await.map_err(|error| Problem::new(Word::Defect, format!("writing heartbeats failed: {error}")))?
}

async fn write(context: Context, account: Account, event: AudienceName, once: Once, roll: Roll) -> Result<Written> {
    let audience = context.audience();
    let answer = Answer::json(StatusCode::OK, &Accepted { accepted: roll.len() as u64 })?;
    let turn = audience.turn(account, &event, roll.now_ms());
    let plan = || async {
        turn.attempt().await;
        let planned = audience.count(account, &event, &roll).await?;
        turn.planned(planned.moved);
        Ok(Plan { parts: vec![Part { tag: planned.tag, batch: planned.batch }], answer: answer.clone() })
    };
    let written = once::commit(&**context.store(), account, &once, &[Audience::tag(&event)], plan).await?;
    if let Written::Now(_) = written {
        turn.written();
    }
    metrics::counter!("tickmark_heartbeats_total").increment(roll.len() as u64);
    Ok(written)
}

/// A page that is being left sends its last heartbeat as plain text, because a browser asks about anything else first, and by
/// then the page is gone. That is taken only with a token beside it: plain text is also what any page may send to a server
/// that it should not reach.
async fn body(context: &Context, request: Request) -> Result<Body> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_plain = content_type.is_some_and(|content_type| content_type.starts_with("text/plain"));
    if is_plain && AccessToken::of(&request).is_some() {
        return Body::of_any_type(context, request).await;
    }
    Body::from_request(request, context).await
}

async fn read(context: &Context, body: Body, once: Once) -> Result<(Once, Roll)> {
    let is_small = body.text().len() <= INLINE_BYTES;
    let (context, now_ms) = (context.clone(), clock::now_ms().cast_signed());
    let reading = move || Ok((once.with_body(body.text()), roll(&context, &body, now_ms)?));
    if is_small {
        return reading();
    }
    let defect = |error| Problem::new(Word::Defect, format!("reading the body failed: {error}"));
    tokio::task::spawn_blocking(reading).await.map_err(defect)?
}

fn roll(context: &Context, body: &Body, now_ms: i64) -> Result<Roll> {
    let mut roll = Roll::new(now_ms);
    intake::each(body.text(), body.format(), |place, item: Item<'_>| {
        let looked_up = country_of(context, &item).map_err(|problem| problem.at(place))?;
        let heartbeat = Heartbeat {
            user: &item.user,
            session: item.session.as_deref(),
            location: item.location.as_deref(),
            country: item.country.as_deref().or(looked_up.as_deref()),
            groups: item.groups.iter().flatten().map(|group| &**group).collect(),
            at_ms: item.at.map_or(now_ms, |When(at)| at.as_micros().div_euclid(1_000)),
        };
        roll.add(heartbeat).map_err(|error| Problem::from(error).at(place))
    })?;
    Ok(roll)
}

/// What the address tells, where the heartbeat does not say it. The address is checked either way.
fn country_of(context: &Context, item: &Item<'_>) -> Result<Option<String>> {
    let Some(ip) = item.ip.as_deref() else { return Ok(None) };
    let wrong =
        || Problem::new(Word::BadIp, format!("An `ip` is an address such as 203.0.113.9 or 2001:db8::9, not {ip:?}."));
    let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
    if item.country.is_some() {
        return Ok(None);
    }
    Ok(context.countries().and_then(|countries| countries.of(ip)))
}
