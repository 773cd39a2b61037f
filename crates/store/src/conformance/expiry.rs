//! Expiry: exact when read, kept or cleared as Redis does.

use super::subject::{Subject, atoms, now_ms};
use super::{assert_matches, cases};
use crate::{AddWhen, Atom, End, Error, Expiry, Key, Kind, Number, Op, Query, Reply};

cases![
    an_expiry_is_what_was_said,
    a_key_expires,
    a_passed_instant_removes_the_key,
    an_absent_key_cannot_expire,
    persist_removes_the_expiry,
    set_clears_the_expiry,
    other_writes_keep_the_expiry,
    a_new_key_of_the_same_name_does_not_expire,
    an_expired_key_may_take_another_type,
    the_far_future,
];

fn set(key: &Key) -> Op {
    Op::Set { key: key.clone(), value: "value".into() }
}

async fn an_expiry_is_what_was_said(s: Subject) {
    let key = s.key("a");
    s.op(set(&key)).await;
    assert_eq!(s.expiry(&key).await, Expiry::Never);
    assert_eq!(s.expiry(&s.key("absent")).await, Expiry::NoKey);
    let at_ms = now_ms() + 3_600_123;
    assert_eq!(s.op(Op::ExpireAt { key: key.clone(), at_ms }).await, Reply::Count(1));
    assert_eq!(s.expiry(&key).await, Expiry::AtMs(at_ms));
    let before = now_ms();
    assert_eq!(s.op(Op::ExpireIn { key: key.clone(), ms: 60_000 }).await, Reply::Count(1));
    let after = now_ms();
    // The clock is the store's, which may be a moment off ours.
    assert_matches!(s.expiry(&key).await, Expiry::AtMs(at) if (before + 59_000..=after + 61_000).contains(&at));
}

async fn a_key_expires(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    let add = Op::SetAdd { key: b.clone(), members: atoms(["m"]) };
    let expire = |key: &Key| Op::ExpireIn { key: key.clone(), ms: 40 };
    s.write([set(&a), add, expire(&a), expire(&b)]).await;
    s.eventually("the keys to expire", async || s.kind(&a).await.is_none() && s.kind(&b).await.is_none()).await;
    assert_eq!(s.get(&a).await, None);
    assert_eq!(s.count(Query::SetLen { key: b.clone() }).await, 0);
    assert_eq!(s.expiry(&a).await, Expiry::NoKey);
    assert_eq!(s.op(Op::Delete { key: a.clone() }).await, Reply::Count(0));
    assert_eq!(s.op(Op::Persist { key: b }).await, Reply::Count(0));
}

async fn a_passed_instant_removes_the_key(s: Subject) {
    let key = s.key("a");
    for past in [
        Op::ExpireAt { key: key.clone(), at_ms: 0 },
        Op::ExpireAt { key: key.clone(), at_ms: now_ms() - 10_000 },
        Op::ExpireIn { key: key.clone(), ms: 0 },
    ] {
        let replies = s.write([set(&key), past.clone(), Op::Delete { key: key.clone() }]).await;
        assert_eq!(replies, [Reply::Done, Reply::Count(1), Reply::Count(0)], "{past:?}");
        s.write([set(&key), past]).await;
        assert_eq!(s.kind(&key).await, None);
    }
}

async fn an_absent_key_cannot_expire(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(Op::ExpireIn { key: key.clone(), ms: 1_000 }).await, Reply::Count(0));
    assert_eq!(s.op(Op::ExpireAt { key: key.clone(), at_ms: now_ms() + 1_000 }).await, Reply::Count(0));
    assert_eq!(s.op(Op::Persist { key: key.clone() }).await, Reply::Count(0));
    assert_eq!(s.kind(&key).await, None);
}

async fn persist_removes_the_expiry(s: Subject) {
    let key = s.key("a");
    s.write([set(&key), Op::ExpireIn { key: key.clone(), ms: 60_000 }]).await;
    assert_eq!(s.op(Op::Persist { key: key.clone() }).await, Reply::Count(1));
    assert_eq!(s.op(Op::Persist { key: key.clone() }).await, Reply::Count(0));
    assert_eq!(s.expiry(&key).await, Expiry::Never);
}

async fn set_clears_the_expiry(s: Subject) {
    let key = s.key("a");
    s.write([set(&key), Op::ExpireIn { key: key.clone(), ms: 60_000 }]).await;
    s.op(set(&key)).await;
    assert_eq!(s.expiry(&key).await, Expiry::Never);
}

async fn other_writes_keep_the_expiry(s: Subject) {
    let at_ms = now_ms() + 3_600_000;
    let key = |name: &str| s.key(name);
    let one = || vec![("m".into(), Number::Int(1))];
    let writes = vec![
        Op::Increment { key: key("string"), by: Number::Int(1) },
        Op::Increment { key: key("string"), by: Number::Decimal(0.5) },
        Op::HashIncrement { key: key("hash"), fields: one() },
        Op::HashSet { key: key("hash"), fields: vec![("n".into(), "v".into())] },
        Op::HashRemove { key: key("hash"), fields: atoms(["n"]) },
        Op::SetAdd { key: key("set"), members: atoms(["m", "n"]) },
        Op::SetRemove { key: key("set"), members: atoms(["m"]) },
        Op::SortedAdd {
            key: key("sorted"),
            when: AddWhen::Always,
            members: vec![("m".into(), 1.0), ("n".into(), 2.0)],
        },
        Op::SortedRemove { key: key("sorted"), members: atoms(["m"]) },
        Op::ListPush { key: key("list"), end: End::Back, values: atoms(["a", "b"]) },
        Op::ListPop { key: key("list"), end: End::Front, count: 1 },
        Op::HllAdd { key: key("hll"), members: atoms(["a"]) },
    ];
    s.write(writes.clone()).await;
    for name in ["string", "hash", "set", "sorted", "list", "hll"] {
        s.op(Op::ExpireAt { key: key(name), at_ms }).await;
    }
    for op in writes {
        let name = op.key().unwrap().clone();
        s.op(op.clone()).await;
        assert_eq!(s.expiry(&name).await, Expiry::AtMs(at_ms), "{op:?}");
    }
}

async fn a_new_key_of_the_same_name_does_not_expire(s: Subject) {
    let key = s.key("a");
    let add = Op::SetAdd { key: key.clone(), members: atoms(["m"]) };
    let expire = Op::ExpireIn { key: key.clone(), ms: 60_000 };
    s.write([add.clone(), expire.clone(), Op::Delete { key: key.clone() }, add.clone()]).await;
    assert_eq!(s.expiry(&key).await, Expiry::Never);
    s.op(expire).await;
    s.write([Op::SetRemove { key: key.clone(), members: atoms(["m"]) }, add]).await;
    assert_eq!(s.expiry(&key).await, Expiry::Never);
}

async fn an_expired_key_may_take_another_type(s: Subject) {
    let key = s.key("a");
    s.write([set(&key), Op::ExpireIn { key: key.clone(), ms: 30 }]).await;
    s.eventually("the key to expire", async || s.kind(&key).await.is_none()).await;
    s.op(Op::HashSet { key: key.clone(), fields: vec![("f".into(), "v".into())] }).await;
    assert_eq!((s.kind(&key).await, s.expiry(&key).await), (Some(Kind::Hash), Expiry::Never));
    let at_once = [Op::ExpireIn { key: key.clone(), ms: 0 }, Op::Increment { key: key.clone(), by: Number::Int(3) }];
    s.write(at_once).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(3)));
}

async fn the_far_future(s: Subject) {
    let key = s.key("a");
    // 9999-12-31, beyond which no time is accepted.
    let at_ms = 253_402_300_799_999;
    s.write([set(&key), Op::ExpireAt { key: key.clone(), at_ms }]).await;
    assert_eq!(s.expiry(&key).await, Expiry::AtMs(at_ms));
    for op in [Op::ExpireAt { key: key.clone(), at_ms: u64::MAX }, Op::ExpireIn { key: key.clone(), ms: u64::MAX }] {
        assert_matches!(
            s.store.commit(s.account, vec![op].into()).await,
            Err(Error::TooMany { what: "milliseconds until expiry", .. })
        );
        assert_eq!(s.expiry(&key).await, Expiry::AtMs(at_ms));
    }
}
