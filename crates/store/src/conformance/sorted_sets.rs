//! Sorted sets: writing members, and their scores.

use super::cases;
use super::subject::{Subject, atoms};
use crate::{AddWhen, Atom, Key, Kind, Op, Query, Reply, ScoreRange};

cases![
    members_are_added_and_counted,
    always_sets_the_score,
    if_new_leaves_the_score,
    if_greater_only_raises,
    if_less_only_lowers,
    a_member_twice_in_one_operation,
    removing_counts_and_the_last_member_takes_the_set,
    removing_by_score,
    scores_come_back_in_the_order_asked,
    scores_are_exact,
    nothing_to_do_is_done,
];

fn add(key: &Key, when: AddWhen, members: impl IntoIterator<Item = (&'static str, f64)>) -> Op {
    let members = members.into_iter().map(|(member, score)| (member.into(), score)).collect();
    Op::SortedAdd { key: key.clone(), when, members }
}

async fn scored(s: &Subject, key: &Key) -> Vec<(String, f64)> {
    s.scored(key).await.into_iter().map(|(member, score)| (member.to_string(), score)).collect()
}

fn pairs<const N: usize>(pairs: [(&str, f64); N]) -> Vec<(String, f64)> {
    pairs.map(|(member, score)| (member.to_owned(), score)).into()
}

async fn members_are_added_and_counted(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, AddWhen::Always, [("b", 2.0), ("a", 1.0)])).await, Reply::Count(2));
    assert_eq!(s.op(add(&key, AddWhen::Always, [("b", 3.0), ("c", 0.5)])).await, Reply::Count(1));
    assert_eq!(s.count(Query::SortedLen { key: key.clone() }).await, 3);
    assert_eq!(scored(&s, &key).await, pairs([("c", 0.5), ("a", 1.0), ("b", 3.0)]));
    assert_eq!(s.kind(&key).await, Some(Kind::SortedSet));
}

async fn always_sets_the_score(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, AddWhen::Always, [("a", 5.0)])).await;
    s.op(add(&key, AddWhen::Always, [("a", 3.0)])).await;
    assert_eq!(scored(&s, &key).await, pairs([("a", 3.0)]));
}

async fn if_new_leaves_the_score(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, AddWhen::IfNew, [("a", 5.0)])).await, Reply::Count(1));
    assert_eq!(s.op(add(&key, AddWhen::IfNew, [("a", 9.0), ("b", 1.0)])).await, Reply::Count(1));
    assert_eq!(scored(&s, &key).await, pairs([("b", 1.0), ("a", 5.0)]));
}

async fn if_greater_only_raises(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, AddWhen::IfGreater, [("a", 5.0), ("b", 5.0)])).await;
    let replies = s.op(add(&key, AddWhen::IfGreater, [("a", 4.0), ("b", 6.0), ("c", -1.0)])).await;
    assert_eq!(replies, Reply::Count(1));
    assert_eq!(scored(&s, &key).await, pairs([("c", -1.0), ("a", 5.0), ("b", 6.0)]));
}

async fn if_less_only_lowers(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, AddWhen::IfLess, [("a", 5.0), ("b", 5.0)])).await;
    let replies = s.op(add(&key, AddWhen::IfLess, [("a", 4.0), ("b", 6.0), ("c", 9.0)])).await;
    assert_eq!(replies, Reply::Count(1));
    assert_eq!(scored(&s, &key).await, pairs([("a", 4.0), ("b", 5.0), ("c", 9.0)]));
}

async fn a_member_twice_in_one_operation(s: Subject) {
    for (name, when, score) in [
        ("always", AddWhen::Always, 2.0),
        ("new", AddWhen::IfNew, 1.0),
        ("greater", AddWhen::IfGreater, 3.0),
        ("less", AddWhen::IfLess, 1.0),
    ] {
        let key = s.key(name);
        assert_eq!(s.op(add(&key, when, [("a", 1.0), ("a", 3.0), ("a", 2.0)])).await, Reply::Count(1), "{name}");
        assert_eq!(scored(&s, &key).await, pairs([("a", score)]), "{name}");
    }
}

async fn removing_counts_and_the_last_member_takes_the_set(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, AddWhen::Always, [("a", 1.0), ("b", 2.0), ("c", 3.0)])).await;
    let remove = |members: &[&'static str]| Op::SortedRemove { key: key.clone(), members: atoms(members.to_vec()) };
    assert_eq!(s.op(remove(&["a", "no", "a"])).await, Reply::Count(1));
    assert_eq!(s.op(remove(&["b", "c"])).await, Reply::Count(2));
    assert_eq!(s.op(remove(&["b"])).await, Reply::Count(0));
    assert_eq!(s.kind(&key).await, None);
}

async fn removing_by_score(s: Subject) {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let key = s.key("a");
    let fill = add(&key, AddWhen::Always, [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0), ("e", 5.0)]);
    for (from, to, removed) in [
        (Included(2.0), Included(4.0), 3),
        (Excluded(2.0), Included(4.0), 2),
        (Excluded(2.0), Excluded(4.0), 1),
        (Excluded(3.0), Excluded(3.0), 0),
        (Included(4.0), Included(2.0), 0),
        (Unbounded, Excluded(2.0), 1),
        (Included(4.5), Unbounded, 1),
        (Included(f64::NEG_INFINITY), Included(f64::INFINITY), 5),
        (Unbounded, Unbounded, 5),
    ] {
        s.write([Op::Delete { key: key.clone() }, fill.clone()]).await;
        let range = ScoreRange { from, to };
        let reply = s.op(Op::SortedRemoveByScore { key: key.clone(), range }).await;
        assert_eq!(reply, Reply::Count(removed), "{range:?}");
        assert!(s.scored(&key).await.iter().all(|(_, score)| !range.contains(*score)), "{range:?}");
    }
    assert_eq!(s.kind(&key).await, None);
}

async fn scores_come_back_in_the_order_asked(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, AddWhen::Always, [("a", 1.0), ("b", 2.5)])).await;
    let ask = |members: &[&'static str]| Query::SortedScores { key: key.clone(), members: atoms(members.to_vec()) };
    assert_eq!(s.read(ask(&["b", "no", "a"])).await, Reply::Scores(vec![Some(2.5), None, Some(1.0)]));
    assert_eq!(s.read(ask(&[])).await, Reply::Scores(vec![]));
    let absent = Query::SortedScores { key: s.key("absent"), members: atoms(["a"]) };
    assert_eq!(s.read(absent).await, Reply::Scores(vec![None]));
}

async fn scores_are_exact(s: Subject) {
    let key = s.key("a");
    let scores = [
        0.1 + 0.2,
        1.0 / 3.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        -1e-300,
        1e22,
        9_007_199_254_740_993.0,
        1_700_000_000_123.456_7,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
    ];
    let members = scores.iter().enumerate().map(|(n, score)| (Atom::from(format!("m{n}")), *score)).collect();
    s.op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members }).await;
    let members = (0..scores.len()).map(|n| Atom::from(format!("m{n}"))).collect();
    let back = s.read(Query::SortedScores { key: key.clone(), members }).await.scores().unwrap();
    assert_eq!(back, scores.map(Some));
    let in_order: Vec<f64> = s.scored(&key).await.into_iter().map(|(_, score)| score).collect();
    assert!(in_order.is_sorted(), "{in_order:?}");
}

async fn nothing_to_do_is_done(s: Subject) {
    let key = s.key("a");
    let remove = Op::SortedRemove { key: key.clone(), members: vec![] };
    let by_score = Op::SortedRemoveByScore { key: key.clone(), range: ScoreRange::ALL };
    let replies = s.write([add(&key, AddWhen::Always, []), remove, by_score]).await;
    assert_eq!(replies, [Reply::Count(0), Reply::Count(0), Reply::Count(0)]);
    assert_eq!(s.kind(&key).await, None);
}
