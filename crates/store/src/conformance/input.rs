//! Bad input: refused by name, and nothing is written.

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::limits::{ELEMENT_BYTES_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, VALUE_BYTES_MAX};
use crate::{AddWhen, Atom, Batch, Error, Guard, Key, Number, Op, Presence, Query, ScoreRange};

cases![
    an_empty_key_is_refused,
    a_long_key_is_refused,
    long_elements_and_values_are_refused,
    a_long_message_is_refused,
    not_a_number_is_no_score,
    increments_are_finite,
    what_is_just_short_enough_is_taken,
];

fn long(len: usize) -> Vec<u8> {
    vec![b'x'; len]
}

async fn an_empty_key_is_refused(s: Subject) {
    let (empty, beside) = (Key::from(""), s.key("beside"));
    let set = |key: &Key| Op::Set { key: key.clone(), value: 1.into() };
    assert_matches!(s.refused(vec![set(&beside), set(&empty)]).await, Error::EmptyKey);
    let guarded = Batch::new().guard(Guard::Key { key: empty.clone(), is: Presence::Absent }).op(set(&beside));
    assert_matches!(s.refused(guarded).await, Error::EmptyKey);
    assert_matches!(s.try_read(Query::Get { key: empty.clone() }).await, Err(Error::EmptyKey));
    let publish = Op::Publish { channel: empty, message: (*b"m").into() };
    assert_matches!(s.refused(vec![set(&beside), publish]).await, Error::EmptyKey);
}

async fn a_long_key_is_refused(s: Subject) {
    let (key, beside) = (Key::from(long(KEY_BYTES_MAX + 1)), s.key("beside"));
    let set = |key: &Key| Op::Set { key: key.clone(), value: 1.into() };
    assert_matches!(s.refused(vec![set(&beside), set(&key)]).await, Error::TooLong { what: "key", .. });
    assert_matches!(s.try_read(Query::Get { key }).await, Err(Error::TooLong { what: "key", .. }));
}

async fn long_elements_and_values_are_refused(s: Subject) {
    let key = s.key("a");
    let element = Atom::from(long(ELEMENT_BYTES_MAX + 1));
    for op in [
        Op::HashSet { key: key.clone(), fields: vec![(element.clone(), 1.into())] },
        Op::HashIncrement { key: key.clone(), fields: vec![(element.clone(), Number::Int(1))] },
        Op::SetAdd { key: key.clone(), members: vec![1.into(), element.clone()] },
        Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members: vec![(element.clone(), 1.0)] },
        Op::HllAdd { key: key.clone(), members: vec![element] },
        Op::Set { key: key.clone(), value: Atom::from(long(VALUE_BYTES_MAX + 1)) },
    ] {
        assert_matches!(s.refused(vec![op]).await, Error::TooLong { .. });
    }
}

async fn a_long_message_is_refused(s: Subject) {
    let message = long(MESSAGE_BYTES_MAX + 1).into();
    let publish = Op::Publish { channel: s.key("a"), message };
    let set = Op::Set { key: s.key("beside"), value: 1.into() };
    assert_matches!(s.refused(vec![set, publish]).await, Error::TooLong { what: "message", .. });
}

async fn not_a_number_is_no_score(s: Subject) {
    let key = s.key("a");
    let members = vec![("m".into(), 1.0), ("n".into(), f64::NAN)];
    let add = Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members };
    let error = s.refused(vec![add]).await;
    assert_matches!(&error, Error::ScoreNotANumber { key: named, member }
        if *named == key && *member == Atom::from("n"));
    let range = ScoreRange::inclusive(f64::NAN, 1.0);
    let remove = Op::SortedRemoveByScore { key: key.clone(), range };
    assert_matches!(s.refused(vec![remove]).await, Error::ScoreNotANumber { .. });
    let count = Query::SortedCount { key: key.clone(), range };
    assert_matches!(s.try_read(count).await, Err(Error::ScoreNotANumber { .. }));
    let guard = Guard::Score { key: key.clone(), member: "m".into(), is: Some(f64::NAN) };
    assert_matches!(s.refused(Batch::new().guard(guard)).await, Error::ScoreNotANumber { .. });
}

async fn increments_are_finite(s: Subject) {
    let key = s.key("a");
    for by in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let by = Number::Decimal(by);
        let one = Op::Increment { key: key.clone(), by };
        assert_matches!(s.refused(vec![one]).await, Error::NotFinite { key: named, .. } if named == key);
        let fields = vec![("f".into(), Number::Int(1)), ("g".into(), by)];
        let many = Op::HashIncrement { key: key.clone(), fields };
        assert_matches!(s.refused(vec![many]).await, Error::NotFinite { .. });
    }
}

async fn what_is_just_short_enough_is_taken(s: Subject) {
    let start = s.key("");
    let name = [start.as_bytes(), &long(KEY_BYTES_MAX - start.as_bytes().len())].concat();
    let key = Key::from(name);
    let element = Atom::from(long(ELEMENT_BYTES_MAX));
    let value = Atom::from(long(VALUE_BYTES_MAX));
    s.op(Op::HashSet { key: key.clone(), fields: vec![(element.clone(), value.clone())] }).await;
    assert_eq!(s.field(&key, element).await, Some(value));
    s.op(Op::HashRemove { key: key.clone(), fields: atoms(["no"]) }).await;
    s.op(Op::Delete { key }).await;
}
