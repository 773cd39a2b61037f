//! Saying no in time: a bound on requests under way, and on how long an answer may take.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::context::Context;
use crate::problem::{Problem, Result, Word};

pub(crate) async fn under_pressure(State(context): State<Context>, request: Request, next: Next) -> Result<Response> {
    let bounds = context.bounds();
    let _permit = context.requests().try_acquire().map_err(|_| {
        let detail = format!("{} requests are under way already.", bounds.requests_max);
        Problem::new(Word::Overloaded, detail)
    })?;
    tokio::time::timeout(bounds.answer_wait, next.run(request)).await.map_err(|_| {
        let detail = format!(
            "There was no answer within {} seconds. A write may still have happened: send it again with the same \
             Idempotency-Key.",
            bounds.answer_wait.as_secs()
        );
        Problem::new(Word::TimedOut, detail)
    })
}
