//! The one way a handler writes.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;
use tickmark_store::{Account, Batch, Error as StoreError, Guard, Op, Placement, Presence, Query, Store, rehearse};

use super::Once;
use super::record::Record;
use crate::problem::{Problem, Result, Word};

const KEPT: Duration = Duration::from_hours(24);
/// Reading again after a guard failed. Each failure means that another writer got through, so this many in a row is
/// a crowd, not bad luck.
const ATTEMPTS_MAX: usize = 100;

/// What a handler wants written, and what it answers once that is written.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One part a tag. Where the store is in one place they are written together, whole or not at all.
    pub parts: Vec<Part>,
    pub answer: Answer,
}

/// Operations that live together.
#[derive(Clone, Debug)]
pub struct Part {
    /// What is in the braces of the keys of this part on a Cluster. Must not depend on anything but the request.
    pub tag: String,
    pub batch: Batch,
}

impl Plan {
    pub fn one(tag: impl Into<String>, batch: Batch, answer: Answer) -> Self {
        Self { parts: vec![Part { tag: tag.into(), batch }], answer }
    }
}

/// A status and a JSON body, remembered for as long as the `Idempotency-Key` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Bytes,
}

impl Answer {
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_vec(body).map_err(|error| Problem::new(Word::Defect, error.to_string()))?;
        Ok(Self { status, body: body.into() })
    }

    /// 204.
    pub fn empty() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: Bytes::new() }
    }
}

/// A write that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    Now(Answer),
    /// Some time ago, by a request with the same `Idempotency-Key`.
    Before(Answer),
}

impl IntoResponse for Written {
    fn into_response(self) -> Response {
        match self {
            Self::Now(answer) => answer.into_response(),
            Self::Before(answer) => {
                let mut response = answer.into_response();
                response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
                response
            }
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        if self.body.is_empty() {
            return self.status.into_response();
        }
        (self.status, [(header::CONTENT_TYPE, "application/json")], self.body).into_response()
    }
}

/// Writes what `plan` says, once.
///
/// `tags` are the tags of all parts, known from the request alone: they say where to look for a record before any rule is
/// asked, because a rule may well refuse to do twice what it did once. `plan` reads and decides; it is called again when a
/// guard of its own no longer holds.
pub async fn commit<P, F>(store: &dyn Store, account: Account, once: &Once, tags: &[String], plan: P) -> Result<Written>
where
    P: Fn() -> F,
    F: Future<Output = Result<Plan>>,
{
    // Tags applied by this very request: without an Idempotency-Key nothing else remembers them.
    let mut applied = Vec::new();
    let whole = [String::new()];
    let tags = match store.placement() {
        Placement::Together => &whole,
        Placement::ByTag => tags,
    };
    for _ in 0..ATTEMPTS_MAX {
        let mut recorded = recorded(store, account, once, tags).await?;
        if recorded.len() == tags.len()
            && let Some((_, answer)) = recorded.pop()
        {
            metrics::counter!("tickmark_idempotent_replays_total").increment(1);
            return Ok(Written::Before(answer));
        }
        applied.extend(recorded.into_iter().map(|(tag, _)| tag));
        let Plan { parts, answer } = plan().await?;
        match apply(store, account, once, parts, &answer, &mut applied).await {
            Ok(()) => return Ok(Written::Now(answer)),
            Err(StoreError::GuardFailed { .. }) => tokio::task::yield_now().await,
            Err(error) if applied.is_empty() => return Err(error.into()),
            Err(error) => return Err(half_way(applied.len(), tags.len(), error)),
        }
    }
    Err(Problem::new(Word::Contended, "Others kept changing the same thing. Send it again."))
}

/// Commits the parts that are not applied yet, and notes those it did.
async fn apply(
    store: &dyn Store,
    account: Account,
    once: &Once,
    parts: Vec<Part>,
    answer: &Answer,
    applied: &mut Vec<String>,
) -> Result<(), StoreError> {
    let placement = store.placement();
    let parts = match placement {
        Placement::Together => vec![joined(parts)],
        Placement::ByTag => parts,
    };
    let missing: Vec<&Batch> =
        parts.iter().filter(|part| !applied.contains(&part.tag)).map(|part| &part.batch).collect();
    if missing.len() > 1 {
        rehearse(store, account, missing).await?;
    }
    for Part { tag, mut batch } in parts {
        if applied.contains(&tag) {
            continue;
        }
        if let (Some(key), Some(content)) = (once.record(placement, &tag), once.content()) {
            batch.guards.push(Guard::Key { key: key.clone(), is: Presence::Absent });
            batch.ops.push(Op::Set { key: key.clone(), value: Record::to_atom(&content, answer) });
            let ms = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
            batch.ops.push(Op::ExpireIn { key, ms });
        }
        store.commit(account, batch).await?;
        applied.push(tag);
    }
    Ok(())
}

/// All parts as one.
fn joined(parts: Vec<Part>) -> Part {
    let mut whole = Part { tag: String::new(), batch: Batch::new() };
    for Part { batch, .. } in parts {
        whole.batch.guards.extend(batch.guards);
        whole.batch.ops.extend(batch.ops);
    }
    whole
}

/// The tags that have a record of this request, with its answer. A record of another request under the same key is a
/// conflict.
async fn recorded(store: &dyn Store, account: Account, once: &Once, tags: &[String]) -> Result<Vec<(String, Answer)>> {
    let Some(content) = once.content() else { return Ok(Vec::new()) };
    let queries =
        tags.iter().filter_map(|tag| once.record(store.placement(), tag)).map(|key| Query::Get { key }).collect();
    let mut done = Vec::new();
    for (tag, reply) in tags.iter().zip(store.read(account, queries).await?) {
        let Some(atom) = reply.value()? else { continue };
        match Record::from_atom(&atom) {
            Some(record) if record.content == content => done.push((tag.clone(), record.answer)),
            _ => {
                let detail = "This Idempotency-Key came with another body before. Use a new key for a new request.";
                return Err(Problem::new(Word::IdempotencyConflict, detail));
            }
        }
    }
    Ok(done)
}

fn half_way(applied: usize, parts: usize, error: StoreError) -> Problem {
    let cause = Problem::from(error);
    let detail = format!(
        "{applied} of {parts} parts were applied, then: {} Sent again with the same Idempotency-Key, it is completed and \
         nothing is counted twice.",
        cause.detail()
    );
    Problem::new(Word::PartlyApplied, detail)
}
