//! Strings and counters.

use super::subject::Subject;
use super::{assert_matches, cases};
use crate::{Atom, Error, Key, Kind, Number, Op, Query, Reply};

cases![
    a_value_comes_back_as_it_was,
    an_absent_key_has_no_value,
    set_replaces,
    integers_are_their_spelling,
    increments_add_up,
    integers_stay_exact,
    an_overflow_is_refused,
    decimals_add_up,
    whole_decimals_are_integers_again,
    decimals_are_spelled_without_exponents,
    decimal_sums_are_those_of_doubles,
    a_decimal_overflow_is_refused,
    odd_spellings_of_numbers_count,
    what_is_not_a_number_is_refused,
    several_increments_in_one_batch_add_up,
];

fn set(key: &Key, value: impl Into<Atom>) -> Op {
    Op::Set { key: key.clone(), value: value.into() }
}

fn add(key: &Key, by: i64) -> Op {
    Op::Increment { key: key.clone(), by: Number::Int(by) }
}

fn add_decimal(key: &Key, by: f64) -> Op {
    Op::Increment { key: key.clone(), by: Number::Decimal(by) }
}

async fn a_value_comes_back_as_it_was(s: Subject) {
    let key = s.key("a");
    let every_byte: Vec<u8> = (0..=255).collect();
    let long = vec![b'x'; 1_000_000];
    for value in [b"".to_vec(), b"text".to_vec(), every_byte, b"\r\n\0".to_vec(), b"HYLL".to_vec(), long] {
        let value = Atom::from(value);
        assert_eq!(s.op(set(&key, value.clone())).await, Reply::Done);
        assert_eq!(s.get(&key).await, Some(value));
    }
    assert_eq!(s.kind(&key).await, Some(Kind::String));
}

async fn an_absent_key_has_no_value(s: Subject) {
    assert_eq!(s.get(&s.key("a")).await, None);
    assert_eq!(s.kind(&s.key("a")).await, None);
}

async fn set_replaces(s: Subject) {
    let key = s.key("a");
    s.write([set(&key, "one"), set(&key, 2)]).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(2)));
}

async fn integers_are_their_spelling(s: Subject) {
    let key = s.key("a");
    for (given, back) in [
        (Atom::from("61"), Atom::from(61)),
        (Atom::from(i64::MIN), Atom::from("-9223372036854775808")),
        (Atom::from(i64::MAX), Atom::from("9223372036854775807")),
        (Atom::from(4_503_599_627_370_495), Atom::from("4503599627370495")),
        (Atom::from(4_503_599_627_370_496), Atom::from("4503599627370496")),
        (Atom::from(9_007_199_254_740_993), Atom::from("9007199254740993")),
        (Atom::from(1_000_000_000_000_000), Atom::from("1000000000000000")),
    ] {
        s.op(set(&key, given)).await;
        assert_eq!(s.get(&key).await, Some(back));
    }
    for text in ["061", "-0", "+7", "9223372036854775808", "1.0", "1e3"] {
        s.op(set(&key, text)).await;
        assert_eq!(s.get(&key).await.unwrap().as_bytes(), text.as_bytes());
    }
}

async fn increments_add_up(s: Subject) {
    let key = s.key("a");
    assert_eq!(s.op(add(&key, 5)).await, Reply::Done);
    assert_eq!(s.get(&key).await, Some(Atom::from(5)));
    s.op(add(&key, -7)).await;
    s.op(add(&key, 0)).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(-2)));
}

async fn integers_stay_exact(s: Subject) {
    let key = s.key("a");
    for (start, by) in [
        (9_007_199_254_740_992, 1),
        (9_007_199_254_740_991, 9_007_199_254_740_991),
        (4_503_599_627_370_495, 1),
        (-4_503_599_627_370_495, -1),
        (i64::MAX - 1, 1),
        (i64::MIN + 1, -1),
        (i64::MIN, i64::MAX),
        (i64::MAX, i64::MIN),
        (i64::MAX, -i64::MAX),
        (1_000_000_000, -1),
        (-1_000_000_000, 1),
        (999_999_999, 1),
        (1_000_000_000_000_000_000, -999_999_999_999_999_999),
        (-5_000_000_000_000_000_001, 5_000_000_000_000_000_000),
        (1, -2),
    ] {
        s.write([set(&key, start), add(&key, by)]).await;
        assert_eq!(s.get(&key).await, Some(Atom::from(start + by)), "{start} + {by}");
        s.op(set(&key, start)).await;
        s.op(add(&key, by)).await;
        assert_eq!(s.get(&key).await, Some(Atom::from(start + by)), "{start} + {by}");
    }
}

async fn an_overflow_is_refused(s: Subject) {
    let key = s.key("a");
    for (start, by) in
        [(i64::MAX, 1), (i64::MIN, -1), (1, i64::MAX), (-2, i64::MIN), (i64::MAX, i64::MAX), (i64::MIN, i64::MIN)]
    {
        s.op(set(&key, start)).await;
        let other = s.key("other");
        let error = s.refused(vec![set(&other, 1), add(&key, by), set(&other, 2)]).await;
        assert_matches!(
            &error,
            Error::Overflow { key: named, field: None, value, by: added }
                if *named == key && *value == start.to_string() && *added == by.to_string()
        );
        assert_eq!(s.get(&other).await, None);
    }
}

async fn decimals_add_up(s: Subject) {
    let key = s.key("a");
    s.op(set(&key, "1.5")).await;
    s.op(add(&key, 2)).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(3.5)));
    s.op(add_decimal(&key, 0.25)).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(3.75)));
    s.op(add_decimal(&key, -10.0)).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(-6.25)));
    let fresh = s.key("fresh");
    s.write([add_decimal(&fresh, 0.1), add_decimal(&fresh, 0.2)]).await;
    let sum = s.get(&fresh).await.and_then(|atom| atom.as_decimal()).unwrap();
    assert!((sum - 0.3).abs() < 1e-15, "{sum}");
}

async fn whole_decimals_are_integers_again(s: Subject) {
    let key = s.key("a");
    s.write([add_decimal(&key, 0.5), add_decimal(&key, 0.5)]).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(1)));
    s.op(add_decimal(&key, -1.0)).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(0)));
    let zero = s.key("zero");
    s.op(add_decimal(&zero, -0.0)).await;
    assert_eq!(s.get(&zero).await, Some(Atom::from(0)));
    s.op(add_decimal(&zero, 2.0)).await;
    assert_eq!(s.get(&zero).await, Some(Atom::from(2)));
}

async fn decimals_are_spelled_without_exponents(s: Subject) {
    for (n, by) in
        [1e-7, 1.5e-10, 1e15, 123_456_789.125, 1e21, 1.7e300, -2.5e-3, 5e-324, 1e16, 1e22].into_iter().enumerate()
    {
        let key = s.key(&n.to_string());
        s.op(add_decimal(&key, by)).await;
        let value = s.get(&key).await.unwrap();
        assert!(!value.to_string().contains(['e', 'E']), "{value}");
        assert_eq!(value, Atom::from(by));
    }
}

async fn decimal_sums_are_those_of_doubles(s: Subject) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let pairs: Vec<(f64, f64)> = (0..400)
        .map(|n| {
            let scale = 10_f64.powi(n % 41 - 20);
            ((random() - 0.5) * scale, (random() - 0.5) * scale * 10_f64.powi(n % 7 - 3))
        })
        .collect();
    let key = |n: usize| s.key(&n.to_string());
    let ops: Vec<Op> = pairs
        .iter()
        .enumerate()
        .flat_map(|(n, (a, b))| [set(&key(n), Atom::from(*a)), add_decimal(&key(n), *b)])
        .collect();
    s.write(ops).await;
    let queries = (0..pairs.len()).map(|n| Query::Get { key: key(n) }).collect();
    let sums = s.store.read(s.account, queries).await.unwrap();
    for ((a, b), sum) in pairs.into_iter().zip(sums) {
        assert_eq!(sum, Reply::Value(Some(Atom::from(a + b))), "{a} + {b}");
    }
}

async fn a_decimal_overflow_is_refused(s: Subject) {
    let key = s.key("a");
    s.op(add_decimal(&key, f64::MAX)).await;
    let error = s.refused(vec![add_decimal(&key, f64::MAX)]).await;
    assert_matches!(error, Error::Overflow { key: named, field: None, .. } if named == key);
}

async fn odd_spellings_of_numbers_count(s: Subject) {
    let key = s.key("a");
    for (text, by, sum) in [
        ("007", 1, 8.0),
        ("+7", 1, 8.0),
        ("-0", 1, 1.0),
        ("1e3", 1, 1001.0),
        ("1E-1", 1, 1.1),
        (".5", 1, 1.5),
        ("5.", 1, 6.0),
        ("2.50", 0, 2.5),
        ("9223372036854775808", 0, 9_223_372_036_854_775_808.0),
        ("-99999999999999999999", 1, -99_999_999_999_999_999_999.0),
    ] {
        s.op(set(&key, text)).await;
        s.op(add(&key, by)).await;
        assert_eq!(s.get(&key).await, Some(Atom::from(sum)), "{text} + {by}");
    }
}

async fn what_is_not_a_number_is_refused(s: Subject) {
    let key = s.key("a");
    for text in [
        "", " 7", "7 ", "abc", "0x10", "inf", "-inf", "nan", "infinity", "1e", "e1", ".", "-", "+", "1,5", "--1",
        "1e999", "1_0",
    ] {
        s.op(set(&key, text)).await;
        for op in [add(&key, 1), add_decimal(&key, 0.5)] {
            let error = s.refused(vec![op]).await;
            assert_matches!(
                &error,
                Error::NotANumber { key: named, field: None, value } if *named == key && value == text,
                "{text:?}"
            );
        }
    }
}

async fn several_increments_in_one_batch_add_up(s: Subject) {
    let key = s.key("a");
    s.write([add(&key, 1), add(&key, 2), add_decimal(&key, 0.5), set(&key, 10), add(&key, 1)]).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(11)));
    s.write([Op::Delete { key: key.clone() }, add(&key, 4)]).await;
    assert_eq!(s.get(&key).await, Some(Atom::from(4)));
    let replies = s.store.read(s.account, vec![Query::Get { key: key.clone() }; 3]).await.unwrap();
    assert_eq!(replies, vec![Reply::Value(Some(Atom::from(4))); 3]);
}
