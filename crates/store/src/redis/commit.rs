//! Writing a batch, and reading what the script said about it.

use redis::Value;

use super::plan::{Place, plan};
use super::value::{atom, shape, text, wrong_type};
use super::wire::Wire;
use super::{problem, value};
use crate::{Batch, Error, Key, Kind, Number, Op, Reply, Result};

pub(super) async fn commit(wire: &Wire, place: &Place, batch: &Batch) -> Result<Vec<Reply>> {
    if batch.is_empty() {
        return wire.check_open().map(|()| Vec::new());
    }
    let plan = plan(place, batch)?;
    let mut values = wire.call(&plan.request).await?;
    match values.pop() {
        Some(Value::Array(answer)) => read_answer(answer, &plan.keys, batch),
        Some(Value::ServerError(error)) => Err(problem::of_commit(&error)),
        other => Err(shape("answer of the script", other.as_ref())),
    }
}

fn read_answer(answer: Vec<Value>, keys: &[&Key], batch: &Batch) -> Result<Vec<Reply>> {
    let mut parts = answer.into_iter();
    let verdict = parts.next().and_then(text).unwrap_or_default();
    let rest: Vec<Value> = parts.collect();
    match (verdict.as_str(), rest.as_slice()) {
        ("ok", _) => match rest.into_iter().next() {
            Some(Value::Array(replies)) if replies.len() == batch.ops.len() => {
                batch.ops.iter().zip(replies).map(|(op, value)| reply(op, value)).collect()
            }
            other => Err(shape("replies", other.as_ref())),
        },
        ("guard", [Value::Int(index)]) => Err(Error::GuardFailed { index: position(*index)? }),
        ("wrong_type", [Value::Int(key), wanted, found]) => {
            let key = keys.get(position(*key)?).copied().cloned().ok_or_else(|| shape("key", None))?;
            let wanted = text(wanted.clone()).and_then(|wanted| value::kind(&wanted)).unwrap_or(Kind::String);
            Err(wrong_type(key, wanted, &text(found.clone()).unwrap_or_default()))
        }
        ("not_a_number" | "overflow", [Value::Int(op), Value::Int(element), value]) => {
            let op = batch.ops.get(position(*op)?).ok_or_else(|| shape("operation", None))?;
            not_added(&verdict, op, *element, value)
        }
        ("failed", [why]) => Err(Error::Unavailable(text(why.clone()).unwrap_or_default())),
        _ => Err(Error::Shape { wanted: "answer of the script", got: format!("{verdict} {rest:?}") }),
    }
}

fn reply(op: &Op, value: Value) -> Result<Reply> {
    match (op, value) {
        (
            Op::Set { .. } | Op::Increment { .. } | Op::HashIncrement { .. } | Op::HllMerge { .. } | Op::Publish { .. },
            Value::Int(_),
        ) => Ok(Reply::Done),
        (Op::ListPop { .. }, Value::Array(values)) => {
            values.into_iter().map(atom).collect::<Result<_>>().map(Reply::Members)
        }
        (_, Value::Int(count)) => u64::try_from(count).map(Reply::Count).map_err(|_| shape("Count", None)),
        (_, other) => Err(shape("reply of an operation", Some(&other))),
    }
}

fn not_added(verdict: &str, op: &Op, element: i64, value: &Value) -> Result<Vec<Reply>> {
    let (key, field, by) = match op {
        Op::Increment { key, by } => (key.clone(), None, *by),
        Op::HashIncrement { key, fields } => {
            let (field, by) = fields.get(position(element)?).ok_or_else(|| shape("field", None))?;
            (key.clone(), Some(field.clone()), *by)
        }
        _ => return Err(shape("increment", None)),
    };
    let value = atom(value.clone())?.to_string();
    if verdict == "overflow" {
        let by = match by {
            Number::Int(by) => by.to_string(),
            Number::Decimal(by) => by.to_string(),
        };
        return Err(Error::Overflow { key, field, value, by });
    }
    Err(Error::NotANumber { key, field, value })
}

/// The script counts from one.
fn position(index: i64) -> Result<usize> {
    usize::try_from(index - 1).map_err(|_| shape("index", None))
}
