//! Guards: what must still be so.

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::{AddWhen, Atom, Batch, End, Error, Guard, Kind, Number, Op, Presence, Reply};

cases![
    guards_that_hold_let_the_batch_through,
    guards_that_fail_stop_it,
    the_first_failing_guard_is_named,
    guards_look_at_what_was_before_the_batch,
    guards_without_operations,
    guards_on_absent_keys,
    many_fields_in_one_guard,
    a_guard_on_another_type_is_an_error,
    integers_and_their_spelling_are_equal,
    an_expired_key_is_absent,
];

/// A key of every type to guard: string 7, hash f=v, set {m}, sorted {m: 1.5}, list [a, b].
async fn fill(s: &Subject) {
    s.write([
        Op::Set { key: s.key("string"), value: 7.into() },
        Op::HashSet { key: s.key("hash"), fields: vec![("f".into(), "v".into())] },
        Op::SetAdd { key: s.key("set"), members: atoms(["m"]) },
        Op::SortedAdd { key: s.key("sorted"), when: AddWhen::Always, members: vec![("m".into(), 1.5)] },
        Op::ListPush { key: s.key("list"), end: End::Back, values: atoms(["a", "b"]) },
    ])
    .await;
}

fn holding(s: &Subject) -> Vec<Guard> {
    let key = |name: &str| s.key(name);
    vec![
        Guard::Key { key: key("string"), is: Presence::Present },
        Guard::Key { key: key("absent"), is: Presence::Absent },
        Guard::Value { key: key("string"), is: Some(7.into()) },
        Guard::Value { key: key("absent"), is: None },
        Guard::Field { key: key("hash"), field: "f".into(), is: Some("v".into()) },
        Guard::Field { key: key("hash"), field: "g".into(), is: None },
        Guard::Fields { key: key("hash"), are: vec![("f".into(), Some("v".into())), ("g".into(), None)] },
        Guard::Fields { key: key("absent"), are: vec![("f".into(), None), ("g".into(), None)] },
        Guard::Fields { key: key("hash"), are: Vec::new() },
        Guard::Member { key: key("set"), member: "m".into(), is: Presence::Present },
        Guard::Member { key: key("set"), member: "n".into(), is: Presence::Absent },
        Guard::Score { key: key("sorted"), member: "m".into(), is: Some(1.5) },
        Guard::Score { key: key("sorted"), member: "n".into(), is: None },
        Guard::Front { key: key("list"), is: Some("a".into()) },
        Guard::Front { key: key("absent"), is: None },
    ]
}

fn failing(s: &Subject) -> Vec<Guard> {
    let key = |name: &str| s.key(name);
    vec![
        Guard::Key { key: key("string"), is: Presence::Absent },
        Guard::Key { key: key("absent"), is: Presence::Present },
        Guard::Value { key: key("string"), is: Some(8.into()) },
        Guard::Value { key: key("string"), is: None },
        Guard::Value { key: key("absent"), is: Some(7.into()) },
        Guard::Value { key: key("absent"), is: Some("".into()) },
        Guard::Field { key: key("hash"), field: "f".into(), is: Some("w".into()) },
        Guard::Field { key: key("hash"), field: "f".into(), is: None },
        Guard::Field { key: key("hash"), field: "g".into(), is: Some("v".into()) },
        Guard::Field { key: key("absent"), field: "f".into(), is: Some("v".into()) },
        Guard::Fields { key: key("hash"), are: vec![("g".into(), None), ("f".into(), Some("w".into()))] },
        Guard::Fields { key: key("hash"), are: vec![("f".into(), None)] },
        Guard::Fields { key: key("hash"), are: vec![("f".into(), Some("v".into())), ("g".into(), Some("".into()))] },
        Guard::Fields { key: key("absent"), are: vec![("f".into(), None), ("g".into(), Some("v".into()))] },
        Guard::Member { key: key("set"), member: "m".into(), is: Presence::Absent },
        Guard::Member { key: key("set"), member: "n".into(), is: Presence::Present },
        Guard::Score { key: key("sorted"), member: "m".into(), is: Some(1.25) },
        Guard::Score { key: key("sorted"), member: "m".into(), is: None },
        Guard::Score { key: key("sorted"), member: "n".into(), is: Some(0.0) },
        Guard::Front { key: key("list"), is: Some("b".into()) },
        Guard::Front { key: key("list"), is: None },
        Guard::Front { key: key("absent"), is: Some("a".into()) },
    ]
}

async fn guards_that_hold_let_the_batch_through(s: Subject) {
    fill(&s).await;
    let target = s.key("target");
    for guard in holding(&s) {
        let batch = Batch::new().guard(guard.clone()).op(Op::Increment { key: target.clone(), by: Number::Int(1) });
        assert_eq!(s.commit(batch).await.unwrap(), [Reply::Done], "{guard:?}");
    }
    let count = i64::try_from(holding(&s).len()).unwrap();
    assert_eq!(s.get(&target).await, Some(Atom::from(count)));
    let all = Batch { guards: holding(&s), ops: vec![Op::Delete { key: target }] };
    assert_eq!(s.commit(all).await.unwrap(), [Reply::Count(1)]);
}

async fn guards_that_fail_stop_it(s: Subject) {
    fill(&s).await;
    let target = s.key("target");
    for guard in failing(&s) {
        let batch = Batch::new().guard(guard.clone()).op(Op::Increment { key: target.clone(), by: Number::Int(1) });
        assert_matches!(s.refused(batch).await, Error::GuardFailed { index: 0 }, "{guard:?}");
    }
}

async fn the_first_failing_guard_is_named(s: Subject) {
    fill(&s).await;
    let count = holding(&s).len();
    for at in 0..=count {
        let mut guards = holding(&s);
        guards.insert(at, failing(&s)[at].clone());
        guards.push(failing(&s)[0].clone());
        let batch = Batch { guards, ops: vec![Op::Set { key: s.key("target"), value: 1.into() }] };
        assert_matches!(s.refused(batch).await, Error::GuardFailed { index } if index == at);
    }
}

async fn guards_look_at_what_was_before_the_batch(s: Subject) {
    let key = s.key("a");
    let batch = Batch::new()
        .op(Op::Set { key: key.clone(), value: 1.into() })
        .guard(Guard::Key { key: key.clone(), is: Presence::Absent });
    s.commit(batch.clone()).await.unwrap();
    assert_matches!(s.refused(batch).await, Error::GuardFailed { index: 0 });
}

async fn guards_without_operations(s: Subject) {
    fill(&s).await;
    assert_eq!(s.commit(Batch { guards: holding(&s), ops: vec![] }).await.unwrap(), []);
    let batch = Batch { guards: failing(&s), ops: vec![] };
    assert_matches!(s.refused(batch).await, Error::GuardFailed { index: 0 });
}

async fn guards_on_absent_keys(s: Subject) {
    let key = s.key("absent");
    let guards = vec![
        Guard::Value { key: key.clone(), is: None },
        Guard::Field { key: key.clone(), field: "f".into(), is: None },
        Guard::Member { key: key.clone(), member: "m".into(), is: Presence::Absent },
        Guard::Score { key: key.clone(), member: "m".into(), is: None },
        Guard::Front { key: key.clone(), is: None },
        Guard::Key { key, is: Presence::Absent },
    ];
    assert_eq!(s.commit(Batch { guards, ops: vec![] }).await.unwrap(), []);
}

async fn a_guard_on_another_type_is_an_error(s: Subject) {
    fill(&s).await;
    s.op(Op::HllAdd { key: s.key("hll"), members: atoms(["m"]) }).await;
    let kinds = [
        ("string", Kind::String),
        ("hash", Kind::Hash),
        ("set", Kind::Set),
        ("sorted", Kind::SortedSet),
        ("list", Kind::List),
        ("hll", Kind::HyperLogLog),
    ];
    for (name, found) in kinds {
        let key = s.key(name);
        let guards = [
            (Kind::String, Guard::Value { key: key.clone(), is: None }),
            (Kind::Hash, Guard::Field { key: key.clone(), field: "f".into(), is: None }),
            (Kind::Hash, Guard::Fields { key: key.clone(), are: vec![("f".into(), None)] }),
            (Kind::Set, Guard::Member { key: key.clone(), member: "m".into(), is: Presence::Absent }),
            (Kind::SortedSet, Guard::Score { key: key.clone(), member: "m".into(), is: None }),
            (Kind::List, Guard::Front { key: key.clone(), is: None }),
        ];
        for (wanted, guard) in guards.into_iter().filter(|(wanted, _)| *wanted != found) {
            let batch = Batch::new().guard(guard).op(Op::Set { key: s.key("target"), value: 1.into() });
            let error = s.refused(batch).await;
            assert_matches!(&error, Error::WrongType { key: named, wanted: w, found: f }
                if *named == key && *w == wanted && *f == found);
        }
    }
}

async fn integers_and_their_spelling_are_equal(s: Subject) {
    let key = s.key("a");
    s.op(Op::Set { key: key.clone(), value: "61".into() }).await;
    let holds = |is: Atom| Batch::new().guard(Guard::Value { key: key.clone(), is: Some(is) });
    s.commit(holds(Atom::from(61))).await.unwrap();
    assert_matches!(s.refused(holds(Atom::from("061"))).await, Error::GuardFailed { index: 0 });
    s.op(Op::Increment { key: key.clone(), by: Number::Int(i64::MAX - 61) }).await;
    s.commit(holds(Atom::from(i64::MAX))).await.unwrap();
}

async fn an_expired_key_is_absent(s: Subject) {
    let key = s.key("a");
    s.write([Op::Set { key: key.clone(), value: 1.into() }, Op::ExpireIn { key: key.clone(), ms: 20 }]).await;
    let batch = Batch::new().guard(Guard::Key { key: key.clone(), is: Presence::Absent });
    s.eventually("the key to be absent", async || s.commit(batch.clone()).await.is_ok()).await;
}

/// More than a script can unpack at once, and more than a collection holds whole.
async fn many_fields_in_one_guard(s: Subject) {
    let (key, count) = (s.key("hash"), 20_000);
    let fields: Vec<(Atom, Atom)> = (0..count).map(|n| (format!("f{n:05}").into(), Atom::from(n))).collect();
    s.write([Op::HashSet { key: key.clone(), fields: fields.clone() }]).await;
    let mut are: Vec<_> = fields.into_iter().map(|(field, value)| (field, Some(value))).collect();
    are.push(("g".into(), None));
    let target = s.key("target");
    let batch = |are: &[(Atom, Option<Atom>)]| {
        let guard = Guard::Fields { key: key.clone(), are: are.to_vec() };
        Batch::new().guard(guard).op(Op::Increment { key: target.clone(), by: Number::Int(1) })
    };
    s.commit(batch(&are)).await.unwrap();
    for at in [0, 7_999, 8_000, are.len() - 2, are.len() - 1] {
        let mut other = are.clone();
        other[at].1 = Some("other".into());
        assert_matches!(s.commit(batch(&other)).await, Err(Error::GuardFailed { index: 0 }));
    }
    assert_eq!(s.get(&target).await, Some(1.into()));
}
