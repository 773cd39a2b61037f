//! Saying no in time: a bound on requests under way, and on how long an answer may take.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::OwnedSemaphorePermit;

use crate::context::Context;
use crate::problem::{Problem, Result, Word};

/// A place among the requests under way, for what goes on after its sender went away.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "it is held, not looked at")]
pub(crate) struct UnderWay(Arc<OwnedSemaphorePermit>);

pub(crate) async fn under_pressure(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let bounds = context.bounds();
    let permit = Arc::clone(context.requests()).try_acquire_owned().map_err(|_| {
        let detail = format!("{} requests are under way already.", bounds.requests_max);
        Problem::new(Word::Overloaded, detail)
    })?;
    request.extensions_mut().insert(UnderWay(Arc::new(permit)));
    tokio::time::timeout(bounds.answer_wait, next.run(request)).await.map_err(|_| {
        let detail = format!(
            "There was no answer within {} seconds. A write may still have happened: send it again with the same \
             Idempotency-Key.",
            bounds.answer_wait.as_secs()
        );
        Problem::new(Word::TimedOut, detail)
    })
}
