//! Whether batches that cannot be committed together would each be taken.
//!
//! On a Cluster a request is several batches. One that would be refused for what it says must be found before any other is
//! written; afterwards there is no way back. What others write in between can still make a batch fail: this narrows the
//! gap, and the caller reports what is left of it.

use crate::number::add;
use crate::{Account, Atom, Batch, Error, Key, Kind, Number, Op, Query, Reply, Result, Store};

/// What must hold of a query's reply.
enum Check<'a> {
    Fields { key: &'a Key, fields: &'a [(Atom, Number)] },
    Counter { key: &'a Key, by: Number },
    Kind { key: &'a Key, wanted: Kind },
}

/// The error that one of the batches would meet now: a counter that overflows or holds no number, a key of another type.
/// Guards are not asked: whoever commits asks them.
pub async fn rehearse<'a>(
    store: &dyn Store,
    account: Account,
    batches: impl IntoIterator<Item = &'a Batch>,
) -> Result<()> {
    let ops = batches.into_iter().flat_map(|batch| &batch.ops);
    let (checks, queries): (Vec<_>, Vec<_>) = ops.filter_map(check_of).unzip();
    let replies = store.read(account, queries).await?;
    checks.into_iter().zip(replies).try_for_each(|(check, reply)| check.hold(reply))
}

fn check_of(op: &Op) -> Option<(Check<'_>, Query)> {
    match op {
        Op::HashIncrement { key, fields } => {
            let names = fields.iter().map(|(field, _)| field.clone()).collect();
            Some((Check::Fields { key, fields }, Query::HashGetMany { key: key.clone(), fields: names }))
        }
        Op::Increment { key, by } => Some((Check::Counter { key, by: *by }, Query::Get { key: key.clone() })),
        _ => {
            let (key, wanted) = (op.key()?, op.kind()?);
            Some((Check::Kind { key, wanted }, Query::Kind { key: key.clone() }))
        }
    }
}

impl Check<'_> {
    fn hold(self, reply: Reply) -> Result<()> {
        match self {
            Self::Fields { key, fields } => {
                let held = reply.values()?;
                let sum = |((field, by), held): (&(Atom, Number), Option<Atom>)| {
                    add(key, Some(field), held.as_ref(), *by).map(|_| ())
                };
                fields.iter().zip(held).try_for_each(sum)
            }
            Self::Counter { key, by } => add(key, None, reply.value()?.as_ref(), by).map(|_| ()),
            Self::Kind { key, wanted } => match reply.kind()? {
                Some(found) if found != wanted => Err(Error::WrongType { key: key.clone(), wanted, found }),
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::{EmbeddedStore, Options};

    const ACCOUNT: Account = Account(0);

    #[tokio::test]
    async fn what_would_be_refused_is_said_before_and_nothing_is_written() {
        let store = EmbeddedStore::in_memory(&Options::default()).unwrap();
        let full = vec![("a".into(), Number::Int(i64::MAX))];
        let held = vec![
            Op::HashIncrement { key: "hash".into(), fields: full },
            Op::Set { key: "text".into(), value: "x".into() },
        ];
        store.commit(ACCOUNT, held.into()).await.unwrap();

        let one = |field: &str| vec![(Atom::from(field), Number::Int(1))];
        let fine = Batch::from(vec![
            Op::HashIncrement { key: "hash".into(), fields: one("b") },
            Op::SetAdd { key: "new".into(), members: vec!["m".into()] },
            Op::Delete { key: "text".into() },
        ]);
        rehearse(&store, ACCOUNT, [&fine]).await.unwrap();
        for refused in [
            Op::HashIncrement { key: "hash".into(), fields: one("a") },
            Op::HashIncrement { key: "text".into(), fields: one("a") },
            Op::Increment { key: "text".into(), by: Number::Int(1) },
            Op::SetAdd { key: "hash".into(), members: vec!["m".into()] },
        ] {
            let refused = Batch::from(vec![refused]);
            let error = rehearse(&store, ACCOUNT, [&fine, &refused]).await.unwrap_err();
            let met = store.commit(ACCOUNT, refused).await.unwrap_err();
            assert_eq!(error.to_string(), met.to_string());
        }
    }
}
