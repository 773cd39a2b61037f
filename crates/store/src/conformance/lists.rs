//! Lists.

use super::cases;
use super::subject::{Subject, atoms};
use crate::{Atom, End, Key, Kind, Op, Query, Reply};

cases![
    pushing_replies_the_length,
    the_front_is_reversed,
    popping_takes_in_order,
    popping_more_than_there_is,
    ranges,
    an_absent_list_is_empty,
    large_lists,
    any_bytes_are_a_value,
    nothing_to_do_is_done,
];

fn push(key: &Key, end: End, values: impl IntoIterator<Item = &'static str>) -> Op {
    Op::ListPush { key: key.clone(), end, values: atoms(values) }
}

fn pop(key: &Key, end: End, count: u64) -> Op {
    Op::ListPop { key: key.clone(), end, count }
}

async fn all(s: &Subject, key: &Key) -> Vec<Atom> {
    s.members(Query::ListRange { key: key.clone(), start: 0, limit: u64::MAX }).await
}

async fn pushing_replies_the_length(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(push(&key, End::Back, ["a", "b"])).await, Reply::Count(2));
    assert_eq!(s.op(push(&key, End::Back, ["c"])).await, Reply::Count(3));
    assert_eq!(s.count(Query::ListLen { key: key.clone() }).await, 3);
    assert_eq!(all(&s, &key).await, atoms(["a", "b", "c"]));
    assert_eq!(s.kind(&key).await, Some(Kind::List));
}

async fn the_front_is_reversed(s: Subject) {
    let key = s.key("a");
    s.write([push(&key, End::Back, ["m"]), push(&key, End::Front, ["a", "b", "c"])]).await;
    assert_eq!(all(&s, &key).await, atoms(["c", "b", "a", "m"]));
}

async fn popping_takes_in_order(s: Subject) {
    let key = s.key("a");
    s.op(push(&key, End::Back, ["a", "b", "c", "d", "e"])).await;
    assert_eq!(s.op(pop(&key, End::Front, 2)).await, Reply::Members(atoms(["a", "b"])));
    assert_eq!(s.op(pop(&key, End::Back, 2)).await, Reply::Members(atoms(["e", "d"])));
    assert_eq!(all(&s, &key).await, atoms(["c"]));
}

async fn popping_more_than_there_is(s: Subject) {
    let key = s.key("a");
    s.op(push(&key, End::Back, ["a", "b"])).await;
    assert_eq!(s.op(pop(&key, End::Back, u64::MAX)).await, Reply::Members(atoms(["b", "a"])));
    assert_eq!(s.kind(&key).await, None);
    assert_eq!(s.op(pop(&key, End::Front, 3)).await, Reply::Members(vec![]));
}

async fn ranges(s: Subject) {
    let key = s.key("a");
    s.op(push(&key, End::Back, ["a", "b", "c", "d"])).await;
    for (start, limit, expected) in [
        (0, 2, vec!["a", "b"]),
        (1, 2, vec!["b", "c"]),
        (3, 9, vec!["d"]),
        (4, 9, vec![]),
        (0, 0, vec![]),
        (2, u64::MAX, vec!["c", "d"]),
        (u64::MAX, u64::MAX, vec![]),
        (u64::MAX, 1, vec![]),
    ] {
        let found = s.members(Query::ListRange { key: key.clone(), start, limit }).await;
        assert_eq!(found, atoms(expected), "{start} {limit}");
    }
}

async fn an_absent_list_is_empty(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.count(Query::ListLen { key: key.clone() }).await, 0);
    assert_eq!(all(&s, &key).await, []);
}

async fn large_lists(s: Subject) {
    let key = s.key("a");
    let values: Vec<Atom> = (0..20_000).map(Atom::from).collect();
    let reply = s.op(Op::ListPush { key: key.clone(), end: End::Front, values: values.clone() }).await;
    assert_eq!(reply, Reply::Count(20_000));
    let middle = s.members(Query::ListRange { key: key.clone(), start: 9_999, limit: 2 }).await;
    assert_eq!(middle, [Atom::from(10_000), Atom::from(9_999)]);
    assert_eq!(s.op(pop(&key, End::Back, 20_000)).await, Reply::Members(values));
    assert_eq!(s.kind(&key).await, None);
}

async fn any_bytes_are_a_value(s: Subject) {
    let key = s.key("a");
    let every_byte: Vec<u8> = (0..=255).collect();
    let values = vec![Atom::from(every_byte), Atom::from(""), Atom::from(5), Atom::from("05"), Atom::from(i64::MIN)];
    s.op(Op::ListPush { key: key.clone(), end: End::Back, values: values.clone() }).await;
    assert_eq!(all(&s, &key).await, values);
    assert_eq!(s.op(pop(&key, End::Front, 9)).await, Reply::Members(values));
}

async fn nothing_to_do_is_done(s: Subject) {
    let key = s.key("a");
    let replies = s.write([push(&key, End::Back, []), pop(&key, End::Front, 0)]).await;
    assert_eq!(replies, [Reply::Count(0), Reply::Members(vec![])]);
    assert_eq!(s.kind(&key).await, None);
    s.op(push(&key, End::Back, ["a", "b"])).await;
    let replies = s.write([push(&key, End::Back, []), pop(&key, End::Front, 0)]).await;
    assert_eq!(replies, [Reply::Count(2), Reply::Members(vec![])]);
}
