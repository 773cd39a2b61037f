//! Sorted sets: ranges, counts, and members in order of their bytes.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use super::cases;
use super::subject::Subject;
use crate::{AddWhen, Atom, Key, Op, Order, Query, Reply, ScoreRange};

cases![
    ranges_and_counts_agree_with_a_sorted_list,
    offsets_and_limits,
    equal_scores_are_in_order_of_bytes,
    infinite_scores,
    an_absent_set_is_empty,
    large_sets,
    by_member_pages,
];

async fn fill(s: &Subject, key: &Key, scores: &[f64]) {
    let members = scores.iter().enumerate().map(|(n, score)| (Atom::from(format!("m{n:05}")), *score)).collect();
    s.op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members }).await;
}

fn query(key: &Key, range: ScoreRange, order: Order, offset: u64, limit: u64) -> Query {
    Query::SortedRange { key: key.clone(), range, order, offset, limit }
}

async fn scores(s: &Subject, query: Query) -> Vec<f64> {
    s.read(query).await.scored().unwrap().into_iter().map(|(_, score)| score).collect()
}

async fn ranges_and_counts_agree_with_a_sorted_list(s: Subject) {
    let key = s.key("a");
    let all = [-2.5, -1.0, 0.0, 0.5, 1.0, 1.0, 2.0, 100.0];
    fill(&s, &key, &all).await;
    let ends: Vec<Bound<f64>> = [-3.0, -1.0, 0.0, 1.0, 1.5, 100.0, f64::INFINITY, f64::NEG_INFINITY]
        .into_iter()
        .flat_map(|score| [Included(score), Excluded(score)])
        .chain([Unbounded])
        .collect();
    for &from in &ends {
        for &to in &ends {
            let range = ScoreRange { from, to };
            let mut expected: Vec<f64> = all.into_iter().filter(|score| range.contains(*score)).collect();
            let count = s.count(Query::SortedCount { key: key.clone(), range }).await;
            assert_eq!(count, expected.len() as u64, "{range:?}");
            assert_eq!(scores(&s, query(&key, range, Order::Ascending, 0, 100)).await, expected, "{range:?}");
            expected.reverse();
            assert_eq!(scores(&s, query(&key, range, Order::Descending, 0, 100)).await, expected, "{range:?}");
        }
    }
}

async fn offsets_and_limits(s: Subject) {
    let key = s.key("a");
    fill(&s, &key, &[1.0, 2.0, 3.0, 4.0, 5.0]).await;
    let range = ScoreRange::inclusive(2.0, 5.0);
    for (offset, limit, up, down) in [
        (0, 2, vec![2.0, 3.0], vec![5.0, 4.0]),
        (1, 2, vec![3.0, 4.0], vec![4.0, 3.0]),
        (3, 10, vec![5.0], vec![2.0]),
        (4, 10, vec![], vec![]),
        (0, 0, vec![], vec![]),
        (0, u64::MAX, vec![2.0, 3.0, 4.0, 5.0], vec![5.0, 4.0, 3.0, 2.0]),
        (u64::MAX, u64::MAX, vec![], vec![]),
    ] {
        assert_eq!(scores(&s, query(&key, range, Order::Ascending, offset, limit)).await, up, "{offset} {limit}");
        assert_eq!(scores(&s, query(&key, range, Order::Descending, offset, limit)).await, down, "{offset} {limit}");
    }
}

async fn equal_scores_are_in_order_of_bytes(s: Subject) {
    let key = s.key("a");
    let names = ["b", "a", "10", "9", "aa", "\u{e9}", "B", ""];
    let members = names.iter().map(|name| (Atom::from(*name), 7.0)).collect();
    s.op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members }).await;
    let mut expected: Vec<Atom> = names.iter().map(|name| Atom::from(*name)).collect();
    expected.sort_by(|a, b| a.as_bytes().cmp(&b.as_bytes()));
    let found: Vec<Atom> = s.scored(&key).await.into_iter().map(|(member, _)| member).collect();
    assert_eq!(found, expected);
    expected.reverse();
    let down = s.read(query(&key, ScoreRange::ALL, Order::Descending, 0, 100)).await.scored().unwrap();
    assert_eq!(down.into_iter().map(|(member, _)| member).collect::<Vec<_>>(), expected);
}

async fn infinite_scores(s: Subject) {
    let key = s.key("a");
    fill(&s, &key, &[f64::INFINITY, 0.0, f64::NEG_INFINITY]).await;
    let inside = ScoreRange { from: Excluded(f64::NEG_INFINITY), to: Excluded(f64::INFINITY) };
    assert_eq!(scores(&s, query(&key, inside, Order::Ascending, 0, 9)).await, [0.0]);
    assert_eq!(scores(&s, query(&key, ScoreRange::ALL, Order::Ascending, 0, 9)).await.len(), 3);
}

async fn an_absent_set_is_empty(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.count(Query::SortedLen { key: key.clone() }).await, 0);
    assert_eq!(s.count(Query::SortedCount { key: key.clone(), range: ScoreRange::ALL }).await, 0);
    let range = s.read(query(&key, ScoreRange::ALL, Order::Ascending, 0, 9)).await;
    assert_eq!(range, Reply::Scored(vec![]));
    let by_member = s.members(Query::SortedByMember { key: key.clone(), after: None, limit: 9 }).await;
    assert_eq!(by_member, []);
}

async fn large_sets(s: Subject) {
    let key = s.key("a");
    let all: Vec<f64> = (0..10_000).map(|n| f64::from(n) / 4.0).collect();
    fill(&s, &key, &all).await;
    assert_eq!(s.count(Query::SortedLen { key: key.clone() }).await, 10_000);
    let range = ScoreRange { from: Excluded(100.0), to: Included(2_000.0) };
    assert_eq!(s.count(Query::SortedCount { key: key.clone(), range }).await, 7_600);
    assert_eq!(scores(&s, query(&key, range, Order::Ascending, 5_000, 3)).await, all[5_401..5_404]);
    assert_eq!(scores(&s, query(&key, range, Order::Descending, 7_599, 3)).await, [100.25]);
    let reply = s.op(Op::SortedRemoveByScore { key: key.clone(), range }).await;
    assert_eq!(reply, Reply::Count(7_600));
    assert_eq!(s.count(Query::SortedLen { key: key.clone() }).await, 2_400);
}

async fn by_member_pages(s: Subject) {
    let key = s.key("a");
    let mut names: Vec<Atom> = (0..2_500).map(|n| Atom::from(format!("m{n}"))).collect();
    names.extend([Atom::from(""), Atom::from(7), Atom::from(vec![0, 1]), Atom::from(vec![255])]);
    let members = names.iter().map(|name| (name.clone(), 0.0)).collect();
    s.op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members }).await;
    names.sort_by(|a, b| a.as_bytes().cmp(&b.as_bytes()));
    for limit in [1_000, 7, u64::MAX] {
        let mut found: Vec<Atom> = Vec::new();
        loop {
            let query = Query::SortedByMember { key: key.clone(), after: found.last().cloned(), limit };
            let page = s.members(query).await;
            assert!(page.len() as u64 <= limit);
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert_eq!(found, names);
    }
    let none = Query::SortedByMember { key: key.clone(), after: None, limit: 0 };
    assert_eq!(s.members(none).await, []);
    let after_absent = Query::SortedByMember { key, after: Some("m24990".into()), limit: 1 };
    assert_eq!(s.members(after_absent).await, [Atom::from("m25")]);
}
