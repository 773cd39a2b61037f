//! `HyperLogLog`s, to the digit.

use tickmark_stats::hll::Hll;

use super::subject::{Subject, atoms};
use super::{assert_matches, cases};
use crate::{Atom, Error, Key, Kind, Op, Query, Reply};

cases![
    adding_says_whether_it_mattered,
    counts_are_those_of_the_mathematics,
    integers_count_as_their_spelling,
    unions,
    unions_of_distant_keys,
    an_absent_one_is_empty,
    a_dump_is_dense_and_canonical,
    merging_into_a_fresh_key_copies,
    merging_unites,
    a_wrong_cached_count_is_not_believed,
    what_is_not_a_hyperloglog_is_refused,
    nothing_to_do_is_done,
];

fn add(key: &Key, members: impl IntoIterator<Item = Atom>) -> Op {
    Op::HllAdd { key: key.clone(), members: members.into_iter().collect() }
}

fn users(range: std::ops::Range<u32>) -> Vec<Atom> {
    range.map(|n| Atom::from(format!("user:{n}"))).collect()
}

fn sketch(members: &[Atom]) -> Hll {
    let mut hll = Hll::new();
    for member in members {
        hll.add(&member.as_bytes());
    }
    hll
}

async fn count(s: &Subject, keys: &[&Key]) -> u64 {
    s.count(Query::HllCount { keys: keys.iter().copied().cloned().collect() }).await
}

async fn dump(s: &Subject, key: &Key) -> Option<Vec<u8>> {
    let value = s.read(Query::HllDump { key: key.clone() }).await.value().unwrap();
    value.map(|atom| atom.as_bytes().into_owned())
}

async fn adding_says_whether_it_mattered(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, atoms(["a", "b"]))).await, Reply::Count(1));
    assert_eq!(s.op(add(&key, atoms(["a"]))).await, Reply::Count(0));
    assert_eq!(s.op(add(&key, atoms(["a", "c"]))).await, Reply::Count(1));
    assert_eq!(count(&s, &[&key]).await, 3);
    assert_eq!(s.kind(&key).await, Some(Kind::HyperLogLog));
}

async fn counts_are_those_of_the_mathematics(s: Subject) {
    let key = s.key("a");
    let mut hll = Hll::new();
    for members in [users(0..1), users(1..100), users(0..3_000), users(3_000..25_000)] {
        for member in &members {
            hll.add(&member.as_bytes());
        }
        s.op(add(&key, members)).await;
        assert_eq!(count(&s, &[&key]).await, hll.count());
        assert_eq!(dump(&s, &key).await, Some(hll.to_redis_dense()));
    }
}

async fn integers_count_as_their_spelling(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, (0..1_000).map(|n| Atom::from(n * 1_000_003)))).await;
    s.op(add(&key, [Atom::from(i64::MAX), Atom::from(i64::MIN)])).await;
    let mut members: Vec<Atom> = (0..1_000).map(|n| Atom::from((n * 1_000_003).to_string())).collect();
    members.extend([Atom::from(i64::MAX), Atom::from(i64::MIN)]);
    assert_eq!(dump(&s, &key).await, Some(sketch(&members).to_redis_dense()));
}

async fn unions(s: Subject) {
    let (a, b, absent) = (s.key("a"), s.key("b"), s.key("absent"));
    s.write([add(&a, users(0..5_000)), add(&b, users(2_500..7_500))]).await;
    let union = sketch(&users(0..7_500)).count();
    assert_eq!(count(&s, &[&a, &b]).await, union);
    assert_eq!(count(&s, &[&b, &absent, &a, &a]).await, union);
    assert_eq!(count(&s, &[&a, &absent]).await, sketch(&users(0..5_000)).count());
}

async fn unions_of_distant_keys(s: Subject) {
    let keys: Vec<Key> = (0..8).map(|n| s.distant_key(&n.to_string())).collect();
    for (n, key) in (0_u32..).zip(&keys) {
        s.op(add(key, users(n * 500..n * 500 + 1_000))).await;
    }
    let absent = s.distant_key("absent");
    let all: Vec<&Key> = keys.iter().chain([&absent]).collect();
    assert_eq!(count(&s, &all).await, sketch(&users(0..4_500)).count());
    let text = s.distant_key("text");
    s.op(Op::Set { key: text.clone(), value: "no sketch".into() }).await;
    let query = Query::HllCount { keys: vec![keys[0].clone(), text.clone(), keys[1].clone()] };
    assert_matches!(
        s.try_read(query).await,
        Err(Error::WrongType { key, wanted: Kind::HyperLogLog, found: Kind::String }) if key == text
    );
}

async fn an_absent_one_is_empty(s: Subject) {
    let key = s.key("a");
    assert_eq!(count(&s, &[&key]).await, 0);
    assert_eq!(count(&s, &[]).await, 0);
    assert_eq!(dump(&s, &key).await, None);
}

async fn a_dump_is_dense_and_canonical(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    s.op(add(&a, users(0..10))).await;
    s.op(add(&b, users(0..10).into_iter().rev())).await;
    count(&s, &[&a]).await;
    let found = dump(&s, &a).await.unwrap();
    assert_eq!(found.len(), 12_304);
    assert_eq!(dump(&s, &b).await, Some(found));
}

async fn merging_into_a_fresh_key_copies(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    s.op(add(&a, users(0..2_000))).await;
    let hll = dump(&s, &a).await.unwrap();
    let merge = Op::HllMerge { key: b.clone(), hll: hll.clone().into() };
    assert_eq!(s.op(merge.clone()).await, Reply::Done);
    assert_eq!(dump(&s, &b).await, Some(hll));
    assert_eq!(count(&s, &[&b]).await, count(&s, &[&a]).await);
    s.op(merge).await;
    assert_eq!(count(&s, &[&b]).await, count(&s, &[&a]).await);
}

async fn merging_unites(s: Subject) {
    let key = s.key("a");
    let merge = |members: &[Atom]| Op::HllMerge { key: key.clone(), hll: sketch(members).to_redis_dense().into() };
    s.write([
        add(&key, users(0..100)),
        merge(&users(50..3_000)),
        Op::ExpireIn { key: key.clone(), ms: 600_000 },
        merge(&users(2_000..2_100)),
        add(&key, users(5_000..5_001)),
    ])
    .await;
    let members = [users(0..3_000), users(5_000..5_001)].concat();
    assert_eq!(count(&s, &[&key]).await, sketch(&members).count());
    assert_eq!(dump(&s, &key).await, Some(sketch(&members).to_redis_dense()));
    assert_matches!(s.expiry(&key).await, crate::Expiry::AtMs(_));
}

async fn a_wrong_cached_count_is_not_believed(s: Subject) {
    let key = s.key("a");
    let mut hll = sketch(&users(0..1_000)).to_redis_dense();
    hll[8..16].copy_from_slice(&7_u64.to_le_bytes());
    s.op(Op::HllMerge { key: key.clone(), hll: hll.into() }).await;
    assert_eq!(count(&s, &[&key]).await, sketch(&users(0..1_000)).count());
}

async fn what_is_not_a_hyperloglog_is_refused(s: Subject) {
    let key = s.key("a");
    s.op(add(&key, users(0..3))).await;
    let good = sketch(&users(0..3)).to_redis_dense();
    let mut wrong_magic = good.clone();
    wrong_magic[0] = b'X';
    let mut wrong_encoding = good.clone();
    wrong_encoding[4] = 9;
    let sparse_with_too_few_registers = [&b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80"[..], &[0x7f, 0xfe]].concat();
    for hll in
        [vec![], b"HYLL".to_vec(), good[..12_303].to_vec(), wrong_magic, wrong_encoding, sparse_with_too_few_registers]
    {
        let other = s.key("other");
        let batch = vec![add(&other, users(0..1)), Op::HllMerge { key: key.clone(), hll: hll.into() }];
        assert_matches!(s.refused(batch).await, Error::BadHll { key: named, .. } if named == key);
    }
}

async fn nothing_to_do_is_done(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, [])).await, Reply::Count(0));
    assert_eq!(s.kind(&key).await, None);
}
