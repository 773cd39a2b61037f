//! Scans: everything is seen, page by page.

use std::collections::HashSet;

use super::subject::Subject;
use super::{assert_matches, cases};
use crate::{AddWhen, Atom, Cursor, Error, Key, Op, Query, Reply};

cases![
    a_large_hash,
    a_large_set,
    a_large_sorted_set,
    small_collections,
    what_is_there_throughout_is_seen,
    keys_by_prefix,
    prefixes_are_no_patterns,
    expired_and_deleted_keys_are_not_seen,
    nonsense_is_no_cursor,
];

const LARGE: i64 = 5_000;

async fn a_large_hash(s: Subject) {
    let key = s.key("a");
    let fields = (0..LARGE).map(|n| (Atom::from(n), Atom::from(format!("v{n}")))).collect();
    s.op(Op::HashSet { key: key.clone(), fields }).await;
    for limit in [1_000, 33] {
        let mut seen = HashSet::new();
        s.walk(async |cursor| match s.read(Query::HashScan { key: key.clone(), cursor, limit }).await {
            Reply::FieldPage { fields, next } => {
                for (field, value) in fields {
                    assert_eq!(value, Atom::from(format!("v{field}")));
                    seen.insert(field);
                }
                next
            }
            other => panic!("{other:?}"),
        })
        .await;
        assert_eq!(seen, (0..LARGE).map(Atom::from).collect());
    }
}

async fn a_large_set(s: Subject) {
    let key = s.key("a");
    let members: Vec<Atom> = (0..LARGE).map(|n| Atom::from(format!("m{n}"))).collect();
    s.op(Op::SetAdd { key: key.clone(), members: members.clone() }).await;
    let mut seen = HashSet::new();
    s.walk(async |cursor| match s.read(Query::SetScan { key: key.clone(), cursor, limit: 500 }).await {
        Reply::MemberPage { members, next } => {
            seen.extend(members);
            next
        }
        other => panic!("{other:?}"),
    })
    .await;
    assert_eq!(seen, members.into_iter().collect());
}

async fn a_large_sorted_set(s: Subject) {
    let key = s.key("a");
    let members = (0..LARGE).map(|n| (Atom::from(format!("m{n}")), n as f64 / 3.0)).collect();
    s.op(Op::SortedAdd { key: key.clone(), when: AddWhen::Always, members }).await;
    let mut seen = HashSet::new();
    s.walk(async |cursor| match s.read(Query::SortedScan { key: key.clone(), cursor, limit: 500 }).await {
        Reply::ScoredPage { members, next } => {
            seen.extend(members.into_iter().map(|(member, score)| (member, score.to_bits())));
            next
        }
        other => panic!("{other:?}"),
    })
    .await;
    let expected = (0..LARGE).map(|n| (Atom::from(format!("m{n}")), (n as f64 / 3.0).to_bits())).collect();
    assert_eq!(seen, expected);
}

async fn small_collections(s: Subject) {
    let (set, sorted, absent) = (s.key("set"), s.key("sorted"), s.key("absent"));
    let scored = vec![("m".into(), f64::INFINITY), ("n".into(), -0.5)];
    s.write([
        Op::SetAdd { key: set.clone(), members: vec![1.into(), 2.into()] },
        Op::SortedAdd { key: sorted.clone(), when: AddWhen::Always, members: scored.clone() },
    ])
    .await;
    for limit in [0, 1, 10] {
        let mut seen = HashSet::new();
        s.walk(async |cursor| match s.read(Query::SetScan { key: set.clone(), cursor, limit }).await {
            Reply::MemberPage { members, next } => {
                seen.extend(members);
                next
            }
            other => panic!("{other:?}"),
        })
        .await;
        assert_eq!(seen, [1.into(), 2.into()].into());
    }
    let mut seen = Vec::new();
    s.walk(async |cursor| match s.read(Query::SortedScan { key: sorted.clone(), cursor, limit: 10 }).await {
        Reply::ScoredPage { members, next } => {
            seen.extend(members);
            next
        }
        other => panic!("{other:?}"),
    })
    .await;
    seen.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert_eq!(seen, scored);
    let page = s.read(Query::HashScan { key: absent, cursor: None, limit: 10 }).await;
    assert_eq!(page, Reply::FieldPage { fields: vec![], next: None });
}

async fn what_is_there_throughout_is_seen(s: Subject) {
    let key = s.key("a");
    let stays: HashSet<Atom> = (0..LARGE).map(|n| Atom::from(format!("stays{n}"))).collect();
    let goes = |n: i64| (n * 500..n * 500 + 500).map(|m| Atom::from(format!("goes{m}"))).collect::<Vec<_>>();
    s.op(Op::SetAdd { key: key.clone(), members: stays.iter().cloned().collect() }).await;
    s.op(Op::SetAdd { key: key.clone(), members: (0..10).flat_map(goes).collect() }).await;
    let mut seen = HashSet::new();
    let mut n = 0;
    s.walk(async |cursor| match s.read(Query::SetScan { key: key.clone(), cursor, limit: 700 }).await {
        Reply::MemberPage { members, next } => {
            seen.extend(members);
            s.op(Op::SetRemove { key: key.clone(), members: goes(n) }).await;
            s.op(Op::SetAdd { key: key.clone(), members: goes(n + 100) }).await;
            n += 1;
            next
        }
        other => panic!("{other:?}"),
    })
    .await;
    assert!(stays.is_subset(&seen));
}

/// Every key that a scan shows, and that it shows no other prefix.
async fn keys(s: &Subject, prefix: &Key, limit: u32) -> HashSet<Key> {
    let mut seen = HashSet::new();
    s.walk(async |cursor| {
        let page = s.store.scan(s.account, prefix.clone(), cursor, limit).await.unwrap();
        for key in page.keys {
            assert!(key.as_bytes().starts_with(prefix.as_bytes()), "{key} is not under {prefix}");
            seen.insert(key);
        }
        page.next
    })
    .await;
    seen
}

async fn keys_by_prefix(s: Subject) {
    let near: Vec<Key> = (0..2_500).map(|n| s.key(&format!("near{n}"))).collect();
    let ops: Vec<Op> = near.iter().map(|key| Op::Set { key: key.clone(), value: 1.into() }).collect();
    s.write(ops).await;
    let other = s.key("other");
    s.op(Op::Set { key: other.clone(), value: 1.into() }).await;
    for limit in [1_000, 100] {
        assert_eq!(keys(&s, &s.key("near"), limit).await, near.iter().cloned().collect());
    }
    let mut all: HashSet<Key> = near.into_iter().collect();
    all.insert(other.clone());
    assert_eq!(keys(&s, &s.key(""), 500).await, all);
    assert!(keys(&s, &Key::from(""), 5_000).await.is_superset(&all));
    assert_eq!(keys(&s, &other, 1_000).await, [other.clone()].into());
    assert_eq!(keys(&s, &s.key("nothing"), 1_000).await, HashSet::new());

    let common = format!("far{}", s.key("").as_bytes().escape_ascii());
    let far: HashSet<Key> = (0..100).map(|n| Key::from(format!("{}{n}", common.replace(['{', '}'], "|")))).collect();
    for key in &far {
        s.op(Op::Set { key: key.clone(), value: 1.into() }).await;
    }
    assert_eq!(keys(&s, &Key::from(common.replace(['{', '}'], "|")), 50).await, far);
}

async fn prefixes_are_no_patterns(s: Subject) {
    let names = ["a*b", "a?b", "a[x]b", "a\\b", "axb", "a^b", "a-b", "a\u{e9}b"];
    let ops: Vec<Op> = names.iter().map(|name| Op::Set { key: s.key(name), value: 1.into() }).collect();
    s.write(ops).await;
    for name in names {
        assert_eq!(keys(&s, &s.key(name), 1_000).await, [s.key(name)].into(), "{name}");
    }
    let binary = Key::from([s.key("").as_bytes(), &[0, 255, b'*']].concat());
    s.op(Op::Set { key: binary.clone(), value: 1.into() }).await;
    assert_eq!(keys(&s, &binary, 1_000).await, [binary].into());
}

async fn expired_and_deleted_keys_are_not_seen(s: Subject) {
    let (stays, deleted, expired) = (s.key("stays"), s.key("deleted"), s.key("expired"));
    for key in [&stays, &deleted, &expired] {
        s.op(Op::Set { key: key.clone(), value: 1.into() }).await;
    }
    s.write([Op::Delete { key: deleted }, Op::ExpireIn { key: expired, ms: 30 }]).await;
    s.eventually("the key to expire", async || keys(&s, &s.key(""), 1_000).await.len() == 1).await;
    assert_eq!(keys(&s, &s.key(""), 1_000).await, [stays].into());
}

async fn nonsense_is_no_cursor(s: Subject) {
    let key = s.key("a");
    let members = (0..LARGE).map(|n| Atom::from(format!("m{n}"))).collect();
    s.op(Op::SetAdd { key: key.clone(), members }).await;
    let Reply::MemberPage { next: Some(real), .. } =
        s.read(Query::SetScan { key: key.clone(), cursor: None, limit: 10 }).await
    else {
        panic!("a page of ten of {LARGE} is the last")
    };
    let mut damaged = real.as_bytes().to_vec();
    damaged[0] ^= 1;
    for bytes in [&b""[..], b"0", b"nonsense", &[255; 16], &[0; 40], &damaged] {
        let cursor = Some(Cursor::from_bytes(bytes));
        let scan = Query::SetScan { key: key.clone(), cursor: cursor.clone(), limit: 10 };
        assert_matches!(s.try_read(scan).await, Err(Error::BadCursor), "{bytes:?}");
        let page = s.store.scan(s.account, s.key(""), cursor, 10).await;
        assert_matches!(page, Err(Error::BadCursor), "{bytes:?}");
    }
    let other = Query::HashScan { key: s.key("other"), cursor: Some(real), limit: 10 };
    assert_matches!(s.try_read(other).await, Err(Error::BadCursor));
}
