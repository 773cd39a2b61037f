//! Every operation and every query on a key of every other type.

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::{AddWhen, End, Error, Key, Kind, Number, Op, Order, Query, Reply, ScoreRange};

cases![
    kinds_are_told,
    operations_on_another_type_are_refused,
    also_when_there_is_nothing_to_do,
    queries_on_another_type_are_refused,
    one_wrong_query_among_many,
    deleting_makes_way_for_any_type,
    operations_without_a_type_take_any,
];

fn create(key: &Key, kind: Kind) -> Op {
    let key = key.clone();
    match kind {
        Kind::String => Op::Set { key, value: "text".into() },
        Kind::Hash => Op::HashSet { key, fields: vec![("f".into(), "v".into())] },
        Kind::Set => Op::SetAdd { key, members: atoms(["m"]) },
        Kind::SortedSet => Op::SortedAdd { key, when: AddWhen::Always, members: vec![("m".into(), 1.0)] },
        Kind::List => Op::ListPush { key, end: End::Back, values: atoms(["v"]) },
        Kind::HyperLogLog => Op::HllAdd { key, members: atoms(["m"]) },
    }
}

const KINDS: [Kind; 6] = [Kind::String, Kind::Hash, Kind::Set, Kind::SortedSet, Kind::List, Kind::HyperLogLog];

fn operations(key: &Key) -> Vec<(Kind, Op)> {
    let key = || key.clone();
    let hll = tickmark_stats::hll::Hll::new().to_redis_dense();
    vec![
        (Kind::String, Op::Set { key: key(), value: 1.into() }),
        (Kind::String, Op::Increment { key: key(), by: Number::Int(1) }),
        (Kind::String, Op::Increment { key: key(), by: Number::Decimal(0.5) }),
        (Kind::Hash, Op::HashSet { key: key(), fields: vec![("f".into(), "v".into())] }),
        (Kind::Hash, Op::HashIncrement { key: key(), fields: vec![("f".into(), Number::Int(1))] }),
        (Kind::Hash, Op::HashIncrement { key: key(), fields: vec![("f".into(), Number::Decimal(0.5))] }),
        (Kind::Hash, Op::HashRemove { key: key(), fields: atoms(["f"]) }),
        (Kind::Set, Op::SetAdd { key: key(), members: atoms(["m"]) }),
        (Kind::Set, Op::SetRemove { key: key(), members: atoms(["m"]) }),
        (Kind::SortedSet, Op::SortedAdd { key: key(), when: AddWhen::IfNew, members: vec![("m".into(), 1.0)] }),
        (Kind::SortedSet, Op::SortedRemove { key: key(), members: atoms(["m"]) }),
        (Kind::SortedSet, Op::SortedRemoveByScore { key: key(), range: ScoreRange::ALL }),
        (Kind::List, Op::ListPush { key: key(), end: End::Front, values: atoms(["v"]) }),
        (Kind::List, Op::ListPop { key: key(), end: End::Back, count: 1 }),
        (Kind::HyperLogLog, Op::HllAdd { key: key(), members: atoms(["m"]) }),
        (Kind::HyperLogLog, Op::HllMerge { key: key(), hll: hll.into() }),
    ]
}

fn idle_operations(key: &Key) -> Vec<(Kind, Op)> {
    let key = || key.clone();
    vec![
        (Kind::Hash, Op::HashSet { key: key(), fields: vec![] }),
        (Kind::Hash, Op::HashIncrement { key: key(), fields: vec![] }),
        (Kind::Hash, Op::HashRemove { key: key(), fields: vec![] }),
        (Kind::Set, Op::SetAdd { key: key(), members: vec![] }),
        (Kind::Set, Op::SetRemove { key: key(), members: vec![] }),
        (Kind::SortedSet, Op::SortedAdd { key: key(), when: AddWhen::Always, members: vec![] }),
        (Kind::SortedSet, Op::SortedRemove { key: key(), members: vec![] }),
        (Kind::List, Op::ListPush { key: key(), end: End::Front, values: vec![] }),
        (Kind::List, Op::ListPop { key: key(), end: End::Back, count: 0 }),
        (Kind::HyperLogLog, Op::HllAdd { key: key(), members: vec![] }),
    ]
}

fn queries(key: &Key) -> Vec<(Kind, Query)> {
    let key = || key.clone();
    let range = ScoreRange::ALL;
    let order = Order::Ascending;
    vec![
        (Kind::String, Query::Get { key: key() }),
        (Kind::Hash, Query::HashGet { key: key(), field: "f".into() }),
        (Kind::Hash, Query::HashGetMany { key: key(), fields: atoms(["f"]) }),
        (Kind::Hash, Query::HashGetMany { key: key(), fields: vec![] }),
        (Kind::Hash, Query::HashAll { key: key() }),
        (Kind::Hash, Query::HashLen { key: key() }),
        (Kind::Hash, Query::HashScan { key: key(), cursor: None, limit: 10 }),
        (Kind::Set, Query::SetContains { key: key(), member: "m".into() }),
        (Kind::Set, Query::SetLen { key: key() }),
        (Kind::Set, Query::SetAll { key: key() }),
        (Kind::Set, Query::SetScan { key: key(), cursor: None, limit: 10 }),
        (Kind::SortedSet, Query::SortedScores { key: key(), members: atoms(["m"]) }),
        (Kind::SortedSet, Query::SortedScores { key: key(), members: vec![] }),
        (Kind::SortedSet, Query::SortedLen { key: key() }),
        (Kind::SortedSet, Query::SortedCount { key: key(), range }),
        (Kind::SortedSet, Query::SortedRange { key: key(), range, order, offset: 0, limit: 1 }),
        (Kind::SortedSet, Query::SortedByMember { key: key(), after: None, limit: 1 }),
        (Kind::SortedSet, Query::SortedScan { key: key(), cursor: None, limit: 10 }),
        (Kind::List, Query::ListLen { key: key() }),
        (Kind::List, Query::ListRange { key: key(), start: 0, limit: 1 }),
        (Kind::List, Query::ListRange { key: key(), start: 0, limit: 0 }),
        (Kind::HyperLogLog, Query::HllCount { keys: vec![key()] }),
        (Kind::HyperLogLog, Query::HllDump { key: key() }),
    ]
}

async fn kinds_are_told(s: Subject) {
    for kind in KINDS {
        let key = s.key(&kind.to_string());
        s.op(create(&key, kind)).await;
        assert_eq!(s.kind(&key).await, Some(kind));
    }
}

async fn refuse_all(s: &Subject, operations: impl Fn(&Key) -> Vec<(Kind, Op)>) {
    for found in KINDS {
        let (key, other) = (s.key(&found.to_string()), s.key("other"));
        s.op(create(&key, found)).await;
        for (wanted, op) in operations(&key) {
            if wanted == found {
                continue;
            }
            let beside = Op::Set { key: other.clone(), value: 1.into() };
            let error = s.refused(vec![beside.clone(), op.clone(), beside]).await;
            assert_matches!(
                &error,
                Error::WrongType { key: named, wanted: w, found: f } if *named == key && *w == wanted && *f == found,
                "{op:?}"
            );
        }
    }
}

async fn operations_on_another_type_are_refused(s: Subject) {
    refuse_all(&s, operations).await;
}

async fn also_when_there_is_nothing_to_do(s: Subject) {
    refuse_all(&s, idle_operations).await;
}

async fn queries_on_another_type_are_refused(s: Subject) {
    for found in KINDS {
        let key = s.key(&found.to_string());
        s.op(create(&key, found)).await;
        for (wanted, query) in queries(&key) {
            let answer = s.try_read(query.clone()).await;
            if wanted == found {
                assert!(answer.is_ok(), "{query:?}: {answer:?}");
            } else {
                assert_matches!(
                    &answer,
                    Err(Error::WrongType { key: named, wanted: w, found: f })
                        if *named == key && *w == wanted && *f == found,
                    "{query:?}"
                );
            }
        }
    }
}

async fn one_wrong_query_among_many(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    s.write([create(&a, Kind::Hash), create(&b, Kind::List)]).await;
    let queries =
        vec![Query::HashLen { key: a.clone() }, Query::HashLen { key: b.clone() }, Query::ListLen { key: b.clone() }];
    let answer = s.store.read(s.account, queries).await;
    assert_matches!(answer, Err(Error::WrongType { key, wanted: Kind::Hash, found: Kind::List }) if key == b);
}

async fn deleting_makes_way_for_any_type(s: Subject) {
    let key = s.key("a");
    for from in KINDS {
        for to in KINDS {
            s.write([Op::Delete { key: key.clone() }, create(&key, from)]).await;
            let replies = s.write([Op::Delete { key: key.clone() }, create(&key, to)]).await;
            assert_eq!(replies[0], Reply::Count(1));
            assert_eq!(s.kind(&key).await, Some(to));
        }
    }
}

async fn operations_without_a_type_take_any(s: Subject) {
    for kind in KINDS {
        let key = s.key(&kind.to_string());
        let replies = s
            .write([
                create(&key, kind),
                Op::ExpireIn { key: key.clone(), ms: 60_000 },
                Op::Persist { key: key.clone() },
                Op::Delete { key: key.clone() },
                Op::Delete { key: key.clone() },
            ])
            .await;
        assert_eq!(replies[1..], [1, 1, 1, 0].map(Reply::Count), "{kind}");
    }
}
