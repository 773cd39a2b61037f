//! Sets.

use super::cases;
use super::subject::{Subject, atoms};
use crate::{Atom, Key, Kind, Op, Query, Reply};

cases![
    members_are_added_and_counted,
    removing_counts_and_the_last_member_takes_the_set,
    an_absent_set_is_empty,
    integers_and_bytes_live_together,
    large_sets,
    nothing_to_do_is_done,
];

fn add(key: &Key, members: impl IntoIterator<Item = &'static str>) -> Op {
    Op::SetAdd { key: key.clone(), members: atoms(members) }
}

fn remove(key: &Key, members: impl IntoIterator<Item = &'static str>) -> Op {
    Op::SetRemove { key: key.clone(), members: atoms(members) }
}

async fn all(s: &Subject, key: &Key) -> Vec<String> {
    let mut members: Vec<_> =
        s.members(Query::SetAll { key: key.clone() }).await.iter().map(ToString::to_string).collect();
    members.sort();
    members
}

async fn contains(s: &Subject, key: &Key, member: impl Into<Atom>) -> u64 {
    s.count(Query::SetContains { key: key.clone(), member: member.into() }).await
}

async fn members_are_added_and_counted(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, ["a", "b", "a"])).await, Reply::Count(2));
    assert_eq!(s.op(add(&key, ["b", "c"])).await, Reply::Count(1));
    assert_eq!(s.count(Query::SetLen { key: key.clone() }).await, 3);
    assert_eq!(all(&s, &key).await, ["a", "b", "c"]);
    assert_eq!((contains(&s, &key, "a").await, contains(&s, &key, "d").await), (1, 0));
    assert_eq!(s.kind(&key).await, Some(Kind::Set));
}

async fn removing_counts_and_the_last_member_takes_the_set(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, ["a", "b", "c"])).await;
    assert_eq!(s.op(remove(&key, ["a", "no", "a"])).await, Reply::Count(1));
    assert_eq!(s.op(remove(&key, ["b", "c"])).await, Reply::Count(2));
    assert_eq!(s.kind(&key).await, None);
}

async fn an_absent_set_is_empty(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.count(Query::SetLen { key: key.clone() }).await, 0);
    assert_eq!(contains(&s, &key, "a").await, 0);
    assert_eq!(all(&s, &key).await, [""; 0]);
    assert_eq!(s.op(remove(&key, ["a"])).await, Reply::Count(0));
}

async fn integers_and_bytes_live_together(s: Subject) {
    let key = s.key("a");
    let every_byte: Vec<u8> = (0..=255).collect();
    let members = vec![
        Atom::from(1),
        Atom::from("1"),
        Atom::from("01"),
        Atom::from(""),
        Atom::from(every_byte.clone()),
        Atom::from(i64::MIN),
        Atom::from(i64::MAX),
    ];
    assert_eq!(s.op(Op::SetAdd { key: key.clone(), members: members.clone() }).await, Reply::Count(6));
    for member in members {
        assert_eq!(contains(&s, &key, member.clone()).await, 1, "{member}");
    }
    assert_eq!(contains(&s, &key, "001").await, 0);
}

async fn large_sets(s: Subject) {
    let key = s.key("a");
    let members: Vec<Atom> = (0..20_000).map(|n| Atom::from(format!("member {n}"))).collect();
    assert_eq!(s.op(Op::SetAdd { key: key.clone(), members: members.clone() }).await, Reply::Count(20_000));
    assert_eq!(s.count(Query::SetLen { key: key.clone() }).await, 20_000);
    assert_eq!(all(&s, &key).await.len(), 20_000);
    let half = members[..10_000].to_vec();
    assert_eq!(s.op(Op::SetRemove { key: key.clone(), members: half }).await, Reply::Count(10_000));
    assert_eq!(s.count(Query::SetLen { key: key.clone() }).await, 10_000);
    assert_eq!(contains(&s, &key, "member 9999").await, 0);
    assert_eq!(contains(&s, &key, "member 10000").await, 1);
}

async fn nothing_to_do_is_done(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.write([add(&key, []), remove(&key, [])]).await, [Reply::Count(0), Reply::Count(0)]);
    assert_eq!(s.kind(&key).await, None);
}
