//! All of a batch, or nothing; in order.

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::{AddWhen, Atom, Batch, End, Error, Key, Kind, Number, Op, Query, Reply, ScoreRange};

cases![
    an_empty_batch_is_done,
    replies_are_in_order,
    a_failure_at_the_end_undoes_everything,
    an_emptied_collection_makes_way_for_another_type,
    a_collection_that_is_not_emptied_does_not,
    what_was_undone_is_as_it_was,
    a_type_changes_back_and_forth,
    a_large_batch,
    many_queries_at_once,
];

fn add(key: &Key, members: &[&'static str]) -> Op {
    Op::SetAdd { key: key.clone(), members: atoms(members.to_vec()) }
}

fn remove(key: &Key, members: &[&'static str]) -> Op {
    Op::SetRemove { key: key.clone(), members: atoms(members.to_vec()) }
}

fn set(key: &Key, value: impl Into<Atom>) -> Op {
    Op::Set { key: key.clone(), value: value.into() }
}

async fn an_empty_batch_is_done(s: Subject) {
    assert_eq!(s.commit(Batch::new()).await.unwrap(), []);
    assert_eq!(s.store.read(s.account, vec![]).await.unwrap(), []);
}

async fn replies_are_in_order(s: Subject) {
    let key = |name: &str| s.key(name);
    let replies = s
        .write([
            add(&key("set"), &["a", "b"]),
            set(&key("string"), 1),
            Op::ListPush { key: key("list"), end: End::Back, values: atoms(["x", "y", "z"]) },
            remove(&key("set"), &["b", "c"]),
            Op::ListPop { key: key("list"), end: End::Front, count: 2 },
            Op::Increment { key: key("string"), by: Number::Int(1) },
            Op::Delete { key: key("string") },
            Op::Persist { key: key("list") },
        ])
        .await;
    let expected = [
        Reply::Count(2),
        Reply::Done,
        Reply::Count(3),
        Reply::Count(1),
        Reply::Members(atoms(["x", "y"])),
        Reply::Done,
        Reply::Count(1),
        Reply::Count(0),
    ];
    assert_eq!(replies, expected);
}

/// One operation of every sort, each on a key that is there and changes.
fn one_of_each(s: &Subject) -> Vec<Op> {
    let key = |name: &str| s.key(name);
    vec![
        set(&key("string"), "new"),
        Op::Increment { key: key("counter"), by: Number::Int(1) },
        Op::HashSet { key: key("hash"), fields: vec![("f".into(), "new".into()), ("g".into(), "new".into())] },
        Op::HashIncrement { key: key("hash"), fields: vec![("n".into(), Number::Int(1))] },
        Op::HashRemove { key: key("hash"), fields: atoms(["r"]) },
        add(&key("set"), &["new"]),
        remove(&key("set"), &["r"]),
        Op::SortedAdd { key: key("sorted"), when: AddWhen::Always, members: vec![("m".into(), 9.0)] },
        Op::SortedRemove { key: key("sorted"), members: atoms(["r"]) },
        Op::SortedRemoveByScore { key: key("sorted"), range: ScoreRange::inclusive(2.0, 2.0) },
        Op::ListPush { key: key("list"), end: End::Front, values: atoms(["new"]) },
        Op::ListPop { key: key("list"), end: End::Back, count: 1 },
        Op::HllAdd { key: key("hll"), members: atoms(["new", "newer", "newest"]) },
        Op::ExpireIn { key: key("expiring"), ms: 60_000 },
        Op::Persist { key: key("persisted") },
        Op::Delete { key: key("deleted") },
    ]
}

async fn fill(s: &Subject) {
    let key = |name: &str| s.key(name);
    let fields = ["f", "r"].map(|field| (field.into(), "old".into())).into();
    let members = [("m", 1.0), ("r", 3.0), ("q", 2.0)].map(|(member, score)| (member.into(), score)).into();
    s.write([
        set(&key("string"), "old"),
        set(&key("counter"), 41),
        Op::HashSet { key: key("hash"), fields },
        add(&key("set"), &["m", "r"]),
        Op::SortedAdd { key: key("sorted"), when: AddWhen::Always, members },
        Op::ListPush { key: key("list"), end: End::Back, values: atoms(["a", "b"]) },
        Op::HllAdd { key: key("hll"), members: atoms(["old"]) },
        set(&key("expiring"), 1),
        set(&key("persisted"), 1),
        Op::ExpireIn { key: key("persisted"), ms: 600_000 },
        set(&key("deleted"), 1),
        set(&key("text"), "not a number"),
    ])
    .await;
}

async fn a_failure_at_the_end_undoes_everything(s: Subject) {
    fill(&s).await;
    let mut batch = one_of_each(&s);
    batch.push(Op::Increment { key: s.key("text"), by: Number::Int(1) });
    assert_matches!(s.refused(batch.clone()).await, Error::NotANumber { .. });
    batch.pop();
    batch.push(add(&s.key("text"), &["m"]));
    assert_matches!(s.refused(batch.clone()).await, Error::WrongType { .. });
    batch.pop();
    assert_eq!(s.write(batch).await.len(), 16);
    assert_eq!(s.get(&s.key("counter")).await, Some(Atom::from(42)));
}

/// A removal that leaves nothing, of each type of collection, and what fills it before.
fn emptying(key: &Key) -> Vec<(Op, Op)> {
    let key = || key.clone();
    let scored = vec![("m".into(), 1.0)];
    let sorted = Op::SortedAdd { key: key(), when: AddWhen::Always, members: scored };
    let hash = Op::HashSet { key: key(), fields: vec![("f".into(), "v".into())] };
    let list = Op::ListPush { key: key(), end: End::Back, values: atoms(["v"]) };
    vec![
        (hash, Op::HashRemove { key: key(), fields: atoms(["f"]) }),
        (Op::SetAdd { key: key(), members: atoms(["m"]) }, Op::SetRemove { key: key(), members: atoms(["m"]) }),
        (sorted.clone(), Op::SortedRemove { key: key(), members: atoms(["m"]) }),
        (sorted, Op::SortedRemoveByScore { key: key(), range: ScoreRange::ALL }),
        (list, Op::ListPop { key: key(), end: End::Front, count: 5 }),
    ]
}

async fn an_emptied_collection_makes_way_for_another_type(s: Subject) {
    let key = s.key("a");
    for (fill, empty) in emptying(&key) {
        s.write([Op::Delete { key: key.clone() }, fill.clone()]).await;
        s.write([empty.clone(), set(&key, "text")]).await;
        assert_eq!(s.get(&key).await, Some(Atom::from("text")), "{empty:?}");
        s.write([Op::Delete { key: key.clone() }, fill, empty, set(&key, 1)]).await;
        assert_eq!(s.get(&key).await, Some(Atom::from(1)));
    }
}

async fn a_collection_that_is_not_emptied_does_not(s: Subject) {
    let (key, beside) = (s.key("a"), s.key("beside"));
    s.op(add(&key, &["a", "b"])).await;
    let batch = vec![set(&beside, 1), remove(&key, &["a", "no"]), set(&key, "text"), set(&beside, 2)];
    let error = s.refused(batch).await;
    assert_matches!(error, Error::WrongType { key: named, wanted: Kind::String, found: Kind::Set } if named == key);
    assert_eq!(s.kind(&beside).await, None);
}

async fn what_was_undone_is_as_it_was(s: Subject) {
    fill(&s).await;
    let (key, channel) = (s.key("emptied"), s.key("channel"));
    let fields = vec![("f".into(), "v".into())];
    s.write([
        Op::HashSet { key: key.clone(), fields },
        Op::ExpireIn { key: key.clone(), ms: 600_000 },
        set(&s.key("last"), "not a number"),
    ])
    .await;
    let mut subscription = s.store.subscribe(s.account, channel.clone()).await.unwrap();
    let mut batch = one_of_each(&s);
    batch.push(Op::Publish { channel: channel.clone(), message: (*b"undone").into() });
    batch.push(Op::HashRemove { key: key.clone(), fields: atoms(["f"]) });
    batch.push(set(&key, "text"));
    batch.push(Op::Increment { key: s.key("last"), by: Number::Int(1) });
    assert_matches!(s.refused(batch.clone()).await, Error::NotANumber { .. });
    batch.pop();
    s.write(batch).await;
    s.op(Op::Publish { channel, message: (*b"last").into() }).await;
    for expected in [&b"undone"[..], b"last"] {
        assert_eq!(subscription.next().await, Some(crate::Event::Message(expected.into())));
    }
    assert_eq!(s.get(&key).await, Some(Atom::from("text")));
    assert_eq!(s.expiry(&key).await, crate::Expiry::Never);
}

async fn a_type_changes_back_and_forth(s: Subject) {
    let key = s.key("a");
    let replies = s
        .write([
            add(&key, &["a"]),
            remove(&key, &["a"]),
            Op::Increment { key: key.clone(), by: Number::Int(5) },
            Op::Delete { key: key.clone() },
            Op::HashIncrement { key: key.clone(), fields: vec![("f".into(), Number::Int(2))] },
            Op::HashRemove { key: key.clone(), fields: atoms(["f"]) },
            Op::ListPush { key: key.clone(), end: End::Back, values: atoms(["x"]) },
        ])
        .await;
    let expected =
        [Reply::Count(1), Reply::Count(1), Reply::Done, Reply::Count(1), Reply::Done, Reply::Count(1), Reply::Count(1)];
    assert_eq!(replies, expected);
    assert_eq!(s.kind(&key).await, Some(Kind::List));
}

async fn a_large_batch(s: Subject) {
    let ops: Vec<Op> = (0..10_000)
        .map(|n| Op::HashIncrement {
            key: s.key(&format!("h{}", n % 100)),
            fields: vec![(Atom::from(n / 1_000), Number::Int(1)), ("all".into(), Number::Int(n))],
        })
        .collect();
    assert_eq!(s.write(ops).await.len(), 10_000);
    assert_eq!(s.field(&s.key("h7"), 3).await, Some(Atom::from(10)));
    assert_eq!(s.field(&s.key("h7"), "all").await, Some(Atom::from((0..100).map(|n| n * 100 + 7).sum::<i64>())));
}

async fn many_queries_at_once(s: Subject) {
    let ops: Vec<Op> = (0..500).map(|n| set(&s.key(&n.to_string()), n)).collect();
    s.write(ops).await;
    for n in 0..50 {
        s.op(set(&s.distant_key(&n.to_string()), n)).await;
    }
    let near = (0..501).map(|n| Query::Get { key: s.key(&n.to_string()) });
    let far = (0..51).map(|n| Query::Get { key: s.distant_key(&n.to_string()) });
    let mixed: Vec<Query> = far.chain(near).chain([Query::HllCount { keys: vec![] }]).collect();
    let replies = s.store.read(s.account, mixed).await.unwrap();
    let value = |n: i64| Reply::Value(Some(Atom::from(n)));
    let mut expected: Vec<Reply> = (0..50).map(value).chain([Reply::Value(None)]).collect();
    expected.extend((0..500).map(value).chain([Reply::Value(None), Reply::Count(0)]));
    assert_eq!(replies, expected);
}
