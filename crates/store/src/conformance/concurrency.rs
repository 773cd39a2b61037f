//! Many tasks at once lose nothing.

use std::collections::HashSet;

use tokio::task::JoinSet;

use super::cases;
use super::subject::Subject;
use crate::{Atom, Batch, End, Error, Guard, Key, Number, Op, Query};

cases![
    guarded_increments_lose_none,
    unguarded_increments_lose_none,
    every_item_of_a_queue_is_taken_once,
    reads_see_whole_batches,
];

const TASKS: i64 = 16;
const TIMES: i64 = 25;

/// Runs a task for each number, all at once, and returns what they return.
async fn together<T: Send + 'static, F: Future<Output = T> + Send + 'static>(task: impl Fn(i64) -> F) -> Vec<T> {
    let mut tasks: JoinSet<T> = (0..TASKS).map(task).collect();
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result.expect("a task that does not panic"));
    }
    results
}

/// Reads, adds one, and writes if nobody else did meanwhile; until it has.
async fn increment_by_guard(s: &Subject, key: &Key) -> u64 {
    for failed in 0.. {
        let is = s.field(key, "n").await;
        let next = is.as_ref().and_then(Atom::as_int).unwrap_or(0) + 1;
        let batch = Batch::new()
            .guard(Guard::Field { key: key.clone(), field: "n".into(), is })
            .op(Op::HashSet { key: key.clone(), fields: vec![("n".into(), next.into())] });
        match s.commit(batch).await {
            Ok(_) => return failed,
            Err(Error::GuardFailed { index: 0 }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the loop ends with a commit")
}

async fn guarded_increments_lose_none(s: Subject) {
    let key = s.key("a");
    let failed: u64 = together(|_| {
        let (s, key) = (s.clone(), key.clone());
        async move {
            let mut failed = 0;
            for _ in 0..TIMES {
                failed += increment_by_guard(&s, &key).await;
            }
            failed
        }
    })
    .await
    .into_iter()
    .sum();
    println!("{failed} guards failed and were tried again");
    assert_eq!(s.field(&key, "n").await, Some(Atom::from(TASKS * TIMES)));
}

async fn unguarded_increments_lose_none(s: Subject) {
    let (hash, counter) = (s.key("hash"), s.key("counter"));
    together(|task| {
        let (s, hash, counter) = (s.clone(), hash.clone(), counter.clone());
        async move {
            for _ in 0..TIMES * 4 {
                let fields = vec![("all".into(), Number::Int(1)), (Atom::from(task), Number::Int(task))];
                let in_hash = Op::HashIncrement { key: hash.clone(), fields };
                s.write([in_hash, Op::Increment { key: counter.clone(), by: Number::Int(-1) }]).await;
            }
        }
    })
    .await;
    assert_eq!(s.field(&hash, "all").await, Some(Atom::from(TASKS * TIMES * 4)));
    assert_eq!(s.field(&hash, 7).await, Some(Atom::from(7 * TIMES * 4)));
    assert_eq!(s.get(&counter).await, Some(Atom::from(-TASKS * TIMES * 4)));
}

async fn every_item_of_a_queue_is_taken_once(s: Subject) {
    let key = s.key("a");
    let items: Vec<Atom> = (0..TASKS * TIMES).map(Atom::from).collect();
    s.op(Op::ListPush { key: key.clone(), end: End::Back, values: items.clone() }).await;
    let taken = together(|_| {
        let (s, key) = (s.clone(), key.clone());
        async move {
            let mut taken = Vec::new();
            loop {
                let pop = Op::ListPop { key: key.clone(), end: End::Front, count: 3 };
                let some = s.op(pop).await.members().expect("members");
                if some.is_empty() {
                    return taken;
                }
                taken.extend(some);
            }
        }
    })
    .await
    .concat();
    assert_eq!(taken.len(), items.len());
    assert_eq!(taken.into_iter().collect::<HashSet<_>>(), items.into_iter().collect());
}

async fn reads_see_whole_batches(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    together(|task| {
        let (s, a, b) = (s.clone(), a.clone(), b.clone());
        async move {
            for _ in 0..TIMES {
                let add = |key: &Key, by| Op::Increment { key: key.clone(), by: Number::Int(by) };
                if task % 2 == 0 {
                    s.write([add(&a, 1), add(&b, -1)]).await;
                    continue;
                }
                let both = vec![Query::Get { key: a.clone() }, Query::Get { key: b.clone() }];
                let both = s.store.read(s.account, both).await.expect("a read");
                let sum: i64 = both
                    .into_iter()
                    .map(|reply| reply.value().expect("a value").and_then(|value| value.as_int()).unwrap_or(0))
                    .sum();
                assert_eq!(sum, 0, "half a batch was seen");
            }
        }
    })
    .await;
}
