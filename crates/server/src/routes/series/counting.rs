//! From a body to a write: tallied where nobody waits, planned from what is remembered, committed once.

use std::sync::atomic::{AtomicBool, Ordering};

use tickmark_engine::Error as EngineError;
use tickmark_engine::series::{Memory, Tallied, Tally, Writing};
use tickmark_store::Account;

use crate::context::Context;
use crate::intake::{Body, Format};
use crate::once::{self, Answer, Once, Part, Plan, Written};
use crate::problem::{Place, Problem, Result, Word};

/// Bodies up to this size are read where they arrived; larger ones on a thread that nobody waits for.
const INLINE_BYTES: usize = 32 * 1_024;

/// Reads a body into sums a second, and adds it to what makes the request the same.
pub(super) async fn tallied<R>(body: Body, once: Once, read: R) -> Result<(Once, Tallied)>
where
    R: FnOnce(&Body) -> Result<Tally> + Send + 'static,
{
    let is_small = body.text().len() <= INLINE_BYTES;
    let reading = move || Ok((once.with_body(body.text()), read(&body)?.close()?));
    if is_small {
        return reading();
    }
    let defect = |error| Problem::new(Word::Defect, format!("reading the body failed: {error}"));
    tokio::task::spawn_blocking(reading).await.map_err(defect)?
}

/// Counts events. `place` says what the number of an event means.
pub(crate) async fn commit(
    context: &Context,
    account: Account,
    once: &Once,
    tallied: &Tallied,
    place: fn(u64) -> Place,
    answer: Answer,
) -> Result<Written> {
    let series = context.series();
    let tags = series.tags(tallied);
    let is_retry = AtomicBool::new(false);
    let plan = || async {
        // Planned again because a guard failed: something remembered is no longer so.
        let memory = if is_retry.swap(true, Ordering::Relaxed) { Memory::Doubted } else { Memory::Trusted };
        let writing = series.count(account, tallied, memory).await.map_err(|error| refused(error, place))?;
        Ok(plan(writing, answer.clone()))
    };
    once::commit(&**context.store(), account, once, &tags, plan).await
}

pub(super) fn plan(writing: Writing, answer: Answer) -> Plan {
    let parts = writing.parts.into_iter().map(|part| Part { tag: part.tag, batch: part.batch });
    Plan { parts: parts.collect(), answer }
}

/// What the numbers of events in a body of this format count.
pub(super) fn place(format: Format) -> fn(u64) -> Place {
    match format {
        Format::Ndjson => Place::Line,
        Format::Json => Place::Item,
    }
}

fn refused(error: EngineError, place: fn(u64) -> Place) -> Problem {
    let event = match &error {
        EngineError::Series(error) => error.event(),
        _ => None,
    };
    let problem = Problem::from(error);
    match event {
        Some(event) => problem.at(place(event)),
        None => problem,
    }
}
