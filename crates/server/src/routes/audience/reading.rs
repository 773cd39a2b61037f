//! Asking about an event or a session: every route twice, because its path says which.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tickmark_store::Cursor;
use utoipa::IntoParams;

use super::path::{AudienceNameText, ScopePath, UserText, ViewerPath};
use super::views::{
    ActiveView, AttendedView, OverviewView, PeakView, RecordsView, StatisticsView, ViewerView, ViewingView,
};
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::extract::{Query, limit};
use crate::problem::{Problem, ProblemBody, Result, Word};
use crate::routes::series::{TimeText, parameter};

/// The longest `within`.
const WITHIN_SECONDS_MAX: i64 = 86_400;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActiveQuery {
    /// Seconds since the last heartbeat; the event's threshold, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 86_400)]
    within: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttendedQuery {
    /// Whether to list them too.
    #[param(value_type = Option<bool>)]
    list: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// About so many; 100, where it is missing.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    limit: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordsQuery {
    /// Epoch seconds, RFC 3339, or `2014-10-17 21:34:07 -0400`; the first record, where it is missing.
    #[param(inline, value_type = Option<TimeText>)]
    from: Option<String>,
    /// The last record, where it is missing; never later than now.
    #[param(inline, value_type = Option<TimeText>)]
    to: Option<String>,
}

macro_rules! both {
    ($(#[doc = $doc:literal])* $event:ident $event_path:tt $session:ident $session_path:tt
     ($($params:tt)*) $body:ident => $inner:ident($path:ident $(, $query:ident)?)) => {
        both!(@one $(#[doc = $doc])* $event $event_path
            (("event" = inline(AudienceNameText), Path, description = "The name of the event."), $($params)*)
            $body => $inner($path $(, $query)?));
        both!(@one $(#[doc = $doc])* $session $session_path
            (("event" = inline(AudienceNameText), Path, description = "The name of the event."),
             ("session" = inline(AudienceNameText), Path, description = "The name of the session."), $($params)*)
            $body => $inner($path $(, $query)?));
    };
    (@one $(#[doc = $doc:literal])* $name:ident $url:tt ($($params:tt)*)
     $body:ident => $inner:ident($path:ident $(, $query:ident)?)) => {
        $(#[doc = $doc])*
        #[utoipa::path(get, path = $url, tag = "audience", params($($params)*),
            responses(
                (status = 200, body = $body),
                (status = 404, body = ProblemBody, content_type = "application/problem+json",
                    description = "There is nothing of that name."),
            ),
        )]
        pub(crate) async fn $name(
            State(context): State<Context>,
            identity: Identity,
            path: $path,
            $(Query(query): Query<$query>,)?
        ) -> Result<Json<$body>> {
            $inner(&context, &identity, path $(, both!(@use query $query))?).await.map(Json)
        }
    };
    (@use $value:ident $type:ident) => { $value };
}

both! {
    /// How many are watching now.
    ///
    /// With `within`, how many were last seen at most so long ago.
    active "/v1/audience/{event}/viewers/active"
    session_active "/v1/audience/{event}/sessions/{session}/viewers/active"
    (ActiveQuery) ActiveView => how_many(ScopePath, ActiveQuery)
}

both! {
    /// How many were ever seen, and who.
    attended "/v1/audience/{event}/viewers/attended"
    session_attended "/v1/audience/{event}/sessions/{session}/viewers/attended"
    (AttendedQuery) AttendedView => who_came(ScopePath, AttendedQuery)
}

both! {
    /// The most who were watching at one instant.
    peak "/v1/audience/{event}/viewers/peak"
    session_peak "/v1/audience/{event}/sessions/{session}/viewers/peak"
    () PeakView => the_most(ScopePath)
}

both! {
    /// How long they watched.
    ///
    /// Mean and median are of viewing sessions. With more than 20,000 viewing sessions the median is up to ten seconds old.
    viewing "/v1/audience/{event}/viewers/viewing"
    session_viewing "/v1/audience/{event}/sessions/{session}/viewers/viewing"
    () ViewingView => how_long(ScopePath)
}

both! {
    /// One viewer's history.
    viewer "/v1/audience/{event}/viewers/{user}"
    session_viewer "/v1/audience/{event}/sessions/{session}/viewers/{user}"
    (("user" = inline(UserText), Path, description = "The user.")) ViewerView => who(ViewerPath)
}

both! {
    /// Who is watching now, by group and country.
    statistics_live "/v1/audience/{event}/statistics/live"
    session_statistics_live "/v1/audience/{event}/sessions/{session}/statistics/live"
    () StatisticsView => who_now(ScopePath)
}

both! {
    /// Who was watching, by group and country, every five minutes.
    statistics "/v1/audience/{event}/statistics"
    session_statistics "/v1/audience/{event}/sessions/{session}/statistics"
    (RecordsQuery) RecordsView => who_when(ScopePath, RecordsQuery)
}

both! {
    /// Everything at once.
    overview "/v1/audience/{event}/overview"
    session_overview "/v1/audience/{event}/sessions/{session}/overview"
    () OverviewView => everything(ScopePath)
}

async fn how_many(context: &Context, identity: &Identity, path: ScopePath, query: ActiveQuery) -> Result<ActiveView> {
    let (audience, account, now_ms) = (context.audience(), identity.account, clock::now_ms().cast_signed());
    let active = match query.within {
        None => audience.active(account, &path.0, now_ms).await?,
        Some(within) => {
            let within = within.parse::<i64>().ok().filter(|within| (1..=WITHIN_SECONDS_MAX).contains(within));
            let wrong = || Problem::new(Word::BadParameter, format!("`within` is 1 to {WITHIN_SECONDS_MAX} seconds."));
            audience.active_within(account, &path.0, within.ok_or_else(wrong)? * 1_000, now_ms).await?
        }
    };
    Ok(ActiveView { active })
}

async fn who_came(
    context: &Context,
    identity: &Identity,
    path: ScopePath,
    query: AttendedQuery,
) -> Result<AttendedView> {
    let (audience, account) = (context.audience(), identity.account);
    let attended = audience.attended(account, &path.0).await?;
    let limit = limit(query.limit.as_deref())?;
    match query.list.as_deref() {
        None | Some("false") => return Ok(AttendedView { attended, users: None, next: None }),
        Some("true") => {}
        Some(_) => return Err(Problem::new(Word::BadParameter, "`list` is true or false.")),
    }
    let cursor = query.after.as_deref().map(read_cursor).transpose()?;
    let (users, next) = audience.attendees(account, &path.0, cursor, limit).await?;
    Ok(AttendedView { attended, users: Some(users), next: next.as_ref().map(write_cursor) })
}

async fn the_most(context: &Context, identity: &Identity, path: ScopePath) -> Result<PeakView> {
    Ok(context.audience().peak(identity.account, &path.0).await?.into())
}

async fn how_long(context: &Context, identity: &Identity, path: ScopePath) -> Result<ViewingView> {
    Ok(context.audience().viewing(identity.account, &path.0, clock::now_ms().cast_signed()).await?.into())
}

async fn who(context: &Context, identity: &Identity, path: ViewerPath) -> Result<ViewerView> {
    let seen =
        context.audience().viewer(identity.account, &path.scope, &path.user, clock::now_ms().cast_signed()).await?;
    Ok(ViewerView::of(path.user, seen))
}

async fn who_now(context: &Context, identity: &Identity, path: ScopePath) -> Result<StatisticsView> {
    Ok(context.audience().live(identity.account, &path.0, clock::now_ms().cast_signed()).await?.into())
}

async fn who_when(context: &Context, identity: &Identity, path: ScopePath, query: RecordsQuery) -> Result<RecordsView> {
    let time = |name, text: Option<&str>| text.map(|text| Ok::<_, Problem>(parameter(name, text)? * 1_000)).transpose();
    let (from_ms, to_ms) = (time("from", query.from.as_deref())?, time("to", query.to.as_deref())?);
    let max = context.bounds().points_max;
    let (audience, account) = (context.audience(), identity.account);
    let records = audience.records(account, &path.0, from_ms, to_ms, clock::now_ms().cast_signed(), max).await?;
    Ok(RecordsView { records: records.into_iter().map(StatisticsView::from).collect() })
}

async fn everything(context: &Context, identity: &Identity, path: ScopePath) -> Result<OverviewView> {
    let (audience, account, scope, now_ms) =
        (context.audience(), identity.account, path.0, clock::now_ms().cast_signed());
    let statistics = audience.live(account, &scope, now_ms).await?;
    let viewing = audience.viewing(account, &scope, now_ms).await?;
    Ok(OverviewView {
        threshold_seconds: audience.threshold_seconds(account, &scope.event).await?,
        active: statistics.viewers,
        attended: viewing.viewers,
        peak: audience.peak(account, &scope).await?.into(),
        viewing: viewing.into(),
        statistics: statistics.into(),
        event: scope.event.to_string(),
        session: scope.session.map(|session| session.to_string()),
    })
}

/// A cursor as a word that can be given back.
fn write_cursor(cursor: &Cursor) -> String {
    use std::fmt::Write;
    cursor.as_bytes().iter().fold(String::new(), |mut word, byte| {
        let _ = write!(word, "{byte:02x}");
        word
    })
}

fn read_cursor(word: &str) -> Result<Cursor> {
    let digits = word.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(byte).collect()).flatten();
    let wrong = || Problem::new(Word::BadCursor, "`after` is the `next` of a page that this server gave.");
    bytes.map(|bytes| Cursor::from_bytes(&bytes)).ok_or_else(wrong)
}
