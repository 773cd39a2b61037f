//! Hashes: fields, and counters in them.

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::{Atom, Error, Key, Kind, Number, Op, Query, Reply};

cases![
    fields_are_set_and_counted,
    fields_come_back_in_the_order_asked,
    an_absent_hash_is_empty,
    removing_counts_and_the_last_field_takes_the_hash,
    a_field_twice_in_one_operation,
    increments_add_up,
    a_field_twice_in_one_increment,
    operations_of_one_batch_see_each_other,
    large_increments,
    integers_stay_exact,
    decimals_in_fields,
    what_is_not_a_number_is_refused,
    an_overflow_is_refused,
    nothing_to_do_is_done,
    any_bytes_are_a_field,
];

fn set(key: &Key, fields: impl IntoIterator<Item = (&'static str, &'static str)>) -> Op {
    let fields = fields.into_iter().map(|(field, value)| (field.into(), value.into())).collect();
    Op::HashSet { key: key.clone(), fields }
}

fn add(key: &Key, fields: impl IntoIterator<Item = (&'static str, i64)>) -> Op {
    let fields = fields.into_iter().map(|(field, by)| (field.into(), Number::Int(by))).collect();
    Op::HashIncrement { key: key.clone(), fields }
}

fn remove(key: &Key, fields: impl IntoIterator<Item = &'static str>) -> Op {
    Op::HashRemove { key: key.clone(), fields: atoms(fields) }
}

async fn all(s: &Subject, key: &Key) -> Vec<(String, String)> {
    let fields = s.read(Query::HashAll { key: key.clone() }).await.fields().unwrap();
    let mut fields: Vec<_> = fields.iter().map(|(field, value)| (field.to_string(), value.to_string())).collect();
    fields.sort();
    fields
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(field, value)| (field.to_owned(), value.to_owned())).into()
}

async fn fields_are_set_and_counted(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(set(&key, [("a", "1"), ("b", "x")])).await, Reply::Count(2));
    assert_eq!(s.op(set(&key, [("b", "y"), ("c", "")])).await, Reply::Count(1));
    assert_eq!(s.count(Query::HashLen { key: key.clone() }).await, 3);
    assert_eq!(s.field(&key, "b").await, Some(Atom::from("y")));
    assert_eq!(s.field(&key, "nothing").await, None);
    assert_eq!(all(&s, &key).await, pairs([("a", "1"), ("b", "y"), ("c", "")]));
    assert_eq!(s.kind(&key).await, Some(Kind::Hash));
}

async fn fields_come_back_in_the_order_asked(s: Subject) {
    let key = s.key("a");
    s.op(set(&key, [("a", "1"), ("b", "2")])).await;
    let ask = |fields: &[&'static str]| Query::HashGetMany { key: key.clone(), fields: atoms(fields.to_vec()) };
    let values = s.read(ask(&["b", "no", "a", "b"])).await.values().unwrap();
    assert_eq!(values, [Some(Atom::from(2)), None, Some(Atom::from(1)), Some(Atom::from(2))]);
    assert_eq!(s.read(ask(&[])).await, Reply::Values(vec![]));
}

async fn an_absent_hash_is_empty(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.count(Query::HashLen { key: key.clone() }).await, 0);
    assert_eq!(s.field(&key, "a").await, None);
    assert_eq!(all(&s, &key).await, []);
    let many = Query::HashGetMany { key: key.clone(), fields: atoms(["a", "b"]) };
    assert_eq!(s.read(many).await, Reply::Values(vec![None, None]));
    assert_eq!(s.op(remove(&key, ["a"])).await, Reply::Count(0));
    assert_eq!(s.kind(&key).await, None);
}

async fn removing_counts_and_the_last_field_takes_the_hash(s: Subject) {
    let key = s.key("a");
    s.op(set(&key, [("a", "1"), ("b", "2"), ("c", "3")])).await;
    assert_eq!(s.op(remove(&key, ["a", "no", "a"])).await, Reply::Count(1));
    assert_eq!(s.op(remove(&key, ["b", "c"])).await, Reply::Count(2));
    assert_eq!(s.kind(&key).await, None);
}

async fn a_field_twice_in_one_operation(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(set(&key, [("a", "1"), ("a", "2")])).await, Reply::Count(1));
    assert_eq!(all(&s, &key).await, pairs([("a", "2")]));
}

async fn increments_add_up(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, [("a", 1), ("b", -2)])).await, Reply::Done);
    assert_eq!(s.op(add(&key, [("b", 5), ("c", 0)])).await, Reply::Done);
    assert_eq!(all(&s, &key).await, pairs([("a", "1"), ("b", "3"), ("c", "0")]));
}

async fn a_field_twice_in_one_increment(s: Subject) {
    let key = s.key("a");
    s.op(set(&key, [("a", "10")])).await;
    s.op(add(&key, [("a", 1), ("b", 7), ("a", 2), ("b", -7), ("a", 3)])).await;
    assert_eq!(all(&s, &key).await, pairs([("a", "16"), ("b", "0")]));
}

async fn operations_of_one_batch_see_each_other(s: Subject) {
    let key = s.key("a");
    let replies = s
        .write([
            set(&key, [("a", "5"), ("b", "x")]),
            add(&key, [("a", 1), ("c", 1)]),
            add(&key, [("a", 1), ("c", 1)]),
            remove(&key, ["c", "b"]),
            add(&key, [("c", 4), ("b", 1)]),
            set(&key, [("d", "1")]),
        ])
        .await;
    let expected = [Reply::Count(2), Reply::Done, Reply::Done, Reply::Count(2), Reply::Done, Reply::Count(1)];
    assert_eq!(replies, expected);
    assert_eq!(all(&s, &key).await, pairs([("a", "7"), ("b", "1"), ("c", "4"), ("d", "1")]));
    s.write([Op::Delete { key: key.clone() }, add(&key, [("a", 1)])]).await;
    assert_eq!(all(&s, &key).await, pairs([("a", "1")]));
    s.write([remove(&key, ["a"]), add(&key, [("a", 2)])]).await;
    assert_eq!(all(&s, &key).await, pairs([("a", "2")]));
}

async fn large_increments(s: Subject) {
    let key = s.key("a");
    let fields: Vec<_> = (0..20_000).map(|n| (Atom::from(1_700_000_000 + n), Number::Int(n))).collect();
    for times in 1..=2 {
        s.op(Op::HashIncrement { key: key.clone(), fields: fields.clone() }).await;
        assert_eq!(s.count(Query::HashLen { key: key.clone() }).await, 20_000);
        for n in [0, 1, 3_499, 3_500, 6_999, 7_000, 7_001, 13_999, 19_999] {
            assert_eq!(s.field(&key, 1_700_000_000 + n).await, Some(Atom::from(n * times)), "{n}");
        }
    }
    let removed = fields.into_iter().map(|(field, _)| field).collect();
    assert_eq!(s.op(Op::HashRemove { key: key.clone(), fields: removed }).await, Reply::Count(20_000));
    assert_eq!(s.kind(&key).await, None);
}

async fn integers_stay_exact(s: Subject) {
    let key = s.key("a");
    for (start, by) in [
        (9_007_199_254_740_992, 1),
        (9_007_199_254_740_991, 9_007_199_254_740_991),
        (4_503_599_627_370_495, 4_503_599_627_370_495),
        (-4_503_599_627_370_496, -4_503_599_627_370_496),
        (i64::MAX, i64::MIN),
        (i64::MIN, i64::MAX),
    ] {
        let fields =
            vec![("f".into(), Number::Int(start)), ("g".into(), Number::Int(1)), ("f".into(), Number::Int(by))];
        s.write([Op::Delete { key: key.clone() }, Op::HashIncrement { key: key.clone(), fields }]).await;
        assert_eq!(s.field(&key, "f").await, Some(Atom::from(start + by)), "{start} + {by}");
        let back = -(start + by);
        s.op(Op::HashIncrement { key: key.clone(), fields: vec![("f".into(), Number::Int(back))] }).await;
        assert_eq!(s.field(&key, "f").await, Some(Atom::from(0)), "{start} + {by} + {back}");
    }
}

async fn decimals_in_fields(s: Subject) {
    let key = s.key("a");
    let fields = vec![
        ("a".into(), Number::Decimal(0.5)),
        ("b".into(), Number::Int(1)),
        ("a".into(), Number::Int(1)),
        ("b".into(), Number::Decimal(0.25)),
    ];
    let add_all = Op::HashIncrement { key: key.clone(), fields };
    s.write([set(&key, [("c", "2.5")]), add_all, add(&key, [("c", 2)])]).await;
    assert_eq!(all(&s, &key).await, pairs([("a", "1.5"), ("b", "1.25"), ("c", "4.5")]));
    let halves = vec![("a".into(), Number::Decimal(0.5))];
    s.op(Op::HashIncrement { key: key.clone(), fields: halves }).await;
    assert_eq!(s.field(&key, "a").await, Some(Atom::from(2)));
}

async fn what_is_not_a_number_is_refused(s: Subject) {
    let key = s.key("a");
    s.op(set(&key, [("a", "1"), ("b", "x")])).await;
    let error = s.refused(vec![add(&key, [("a", 1), ("c", 1), ("b", 1)])]).await;
    assert_matches!(&error, Error::NotANumber { key: named, field: Some(field), value }
        if *named == key && *field == Atom::from("b") && value == "x");
    let error = s.refused(vec![set(&key, [("a", "y")]), add(&key, [("a", 1)])]).await;
    assert_matches!(&error, Error::NotANumber { value, .. } if value == "y");
}

async fn an_overflow_is_refused(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, [("a", i64::MAX), ("b", 1)])).await;
    for ops in [
        vec![add(&key, [("b", 1), ("a", 1)])],
        vec![add(&key, [("a", -1)]), add(&key, [("a", 2)])],
        vec![add(&key, [("b", 1), ("a", i64::MAX)])],
    ] {
        let error = s.refused(ops).await;
        assert_matches!(&error, Error::Overflow { key: named, field: Some(field), .. }
            if *named == key && *field == Atom::from("a"));
    }
}

async fn nothing_to_do_is_done(s: Subject) {
    let key = s.key("a");
    let replies = s.write([set(&key, []), add(&key, []), remove(&key, [])]).await;
    assert_eq!(replies, [Reply::Count(0), Reply::Done, Reply::Count(0)]);
    assert_eq!(s.kind(&key).await, None);
}

async fn any_bytes_are_a_field(s: Subject) {
    let key = s.key("a");
    let every_byte: Vec<u8> = (0..=255).collect();
    let odd: Vec<Atom> = vec![
        Atom::from(every_byte),
        Atom::from(""),
        Atom::from("061"),
        Atom::from(61),
        Atom::from(-61),
        Atom::from(i64::MIN),
        Atom::from(4_503_599_627_370_497),
    ];
    let fields = odd.iter().map(|atom| (atom.clone(), atom.clone())).collect();
    assert_eq!(s.op(Op::HashSet { key: key.clone(), fields }).await, Reply::Count(7));
    for atom in &odd {
        assert_eq!(s.field(&key, atom.clone()).await.as_ref(), Some(atom));
    }
    let fields = odd.iter().skip(1).map(|atom| (atom.clone(), Number::Int(1))).collect();
    let other = s.key("b");
    s.op(Op::HashIncrement { key: other.clone(), fields }).await;
    for atom in odd.iter().skip(1) {
        assert_eq!(s.field(&other, atom.clone()).await, Some(Atom::from(1)));
    }
}
