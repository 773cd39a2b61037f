//! Accounts: the same names, other data.

use std::collections::HashSet;

use super::cases;
use super::subject::Subject;
use crate::{Atom, Guard, Key, Op, Presence};

cases![accounts_do_not_see_each_other, scans_stay_in_their_account, names_that_look_like_prefixes];

async fn accounts_do_not_see_each_other(s: Subject) {
    let key = s.key("a");
    let accounts = [0, 1, 2].map(|n| s.of(n));
    for (n, account) in (0_i64..).zip(&accounts) {
        account.op(Op::Set { key: key.clone(), value: n.into() }).await;
    }
    for (n, account) in (0_i64..).zip(&accounts) {
        assert_eq!(account.get(&key).await, Some(Atom::from(n)));
    }
    accounts[1].op(Op::Delete { key: key.clone() }).await;
    assert_eq!(accounts[0].get(&key).await, Some(Atom::from(0)));
    assert_eq!(accounts[1].get(&key).await, None);
    let guard = crate::Batch::new().guard(Guard::Key { key: key.clone(), is: Presence::Absent });
    accounts[1].commit(guard.clone()).await.unwrap();
    assert!(accounts[2].commit(guard).await.is_err());
}

async fn keys(s: &Subject, prefix: Key) -> HashSet<Key> {
    let mut seen = HashSet::new();
    s.walk(async |cursor| {
        let page = s.store.scan(s.account, prefix.clone(), cursor, 1_000).await.unwrap();
        seen.extend(page.keys);
        page.next
    })
    .await;
    seen
}

async fn scans_stay_in_their_account(s: Subject) {
    let (mine, theirs) = (s.key("mine"), s.key("theirs"));
    let other = s.of(1);
    s.op(Op::Set { key: mine.clone(), value: 1.into() }).await;
    other.op(Op::Set { key: theirs.clone(), value: 1.into() }).await;
    assert_eq!(keys(&s, s.key("")).await, [mine.clone()].into());
    assert_eq!(keys(&other, s.key("")).await, [theirs.clone()].into());
    let everything = keys(&s, Key::from("")).await;
    assert!(everything.contains(&mine) && !everything.contains(&theirs));
    assert!(everything.iter().all(|key| !key.as_bytes().starts_with(b"@1:")));
    let everything = keys(&other, Key::from("")).await;
    assert!(everything.contains(&theirs) && !everything.contains(&mine));
}

async fn names_that_look_like_prefixes(s: Subject) {
    let other = s.of(1);
    let name = |text: &str| Key::from([text.as_bytes(), s.key("").as_bytes()].concat());
    let names = ["@1:", "@0:", "@", "@x:", "@12", "@0:@1:"].map(name);
    for key in &names {
        s.op(Op::Set { key: key.clone(), value: "zero".into() }).await;
    }
    other.op(Op::Set { key: s.key(""), value: "one".into() }).await;
    for key in &names {
        assert_eq!(s.get(key).await, Some(Atom::from("zero")), "{key}");
        assert!(keys(&s, key.clone()).await.contains(key), "{key}");
        assert_eq!(other.get(key).await, None, "{key}");
    }
    assert_eq!(other.get(&s.key("")).await, Some(Atom::from("one")));
    assert_eq!(s.get(&s.key("")).await, None);
    assert!(keys(&s, Key::from("@")).await.is_superset(&names.into()));
}
