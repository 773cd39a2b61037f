//! The `HyperLogLog` against the one it must equal: every answer and every byte that a real Redis gives.

mod redis;

use redis::Redis;
use tickmark_stats::Hll;

/// Members of many lengths, text and binary, all different.
fn member(number: u32) -> Vec<u8> {
    match number % 3 {
        0 => format!("user:{number}").into_bytes(),
        1 => number.to_be_bytes().to_vec(),
        _ => (0..number % 41).map(|at| at.to_be_bytes()[3]).chain(number.to_le_bytes()).collect(),
    }
}

fn members(range: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    range.map(member).collect()
}

/// Adds to both, a thousand at a time, and compares what each says has changed.
fn add(redis: &mut Redis, key: &[u8], hll: &mut Hll, members: &[Vec<u8>]) {
    for some in members.chunks(1_000) {
        let mut command: Vec<&[u8]> = vec![b"PFADD", key];
        command.extend(some.iter().map(Vec::as_slice));
        let existed = redis.number(&[b"EXISTS", key]) == 1;
        let changed = some.iter().filter(|member| hll.add(member)).count() > 0;
        assert_eq!(redis.number(&command) == 1, changed || !existed);
    }
}

/// The value of the key is these registers, and Redis takes it back from us, unchanged in meaning.
fn check_round_trip(redis: &mut Redis, key: &[u8], hll: &Hll) {
    let value = redis.bytes(&[b"GET", key]);
    assert_eq!(Hll::from_redis(&value).as_ref(), Ok(hll));
    let count = redis.number(&[b"PFCOUNT", key]);
    redis.bytes(&[b"SET", b"ours", &hll.to_redis_dense()]);
    assert_eq!(redis.number(&[b"PFCOUNT", b"ours"]), count);
    redis.bytes(&[b"SET", b"compact", &Hll::from_compact(&hll.to_compact()).unwrap().to_redis_dense()]);
    assert_eq!(redis.number(&[b"PFCOUNT", b"compact"]), count);
}

#[test]
fn counts_and_registers_are_equal_at_every_size() {
    let mut redis = Redis::start();
    let mut hll = Hll::new();
    redis.number(&[b"PFADD", b"key"]);
    let (mut size, mut encodings) = (0, [0, 0]);
    while size <= 100_000 {
        assert_eq!(redis.number(&[b"PFCOUNT", b"key"]), hll.count(), "{size} members");
        encodings[usize::from(redis.bytes(&[b"GETRANGE", b"key", b"4", b"4"])[0])] += 1;
        check_round_trip(&mut redis, b"key", &hll);
        let more = 1 + size / 40;
        add(&mut redis, b"key", &mut hll, &members(size..size + more));
        size += more;
    }
    assert!(encodings.iter().all(|&times| times > 50), "both encodings were met often: {encodings:?}");
}

#[test]
fn one_by_one_every_answer_is_equal() {
    let mut redis = Redis::start();
    let mut hll = Hll::new();
    redis.number(&[b"PFADD", b"key"]);
    for number in 0..4_000 {
        let member = member(number * 2 / 3);
        assert_eq!(redis.number(&[b"PFADD", b"key", &member]) == 1, hll.add(&member), "{member:?}");
        assert_eq!(redis.number(&[b"PFCOUNT", b"key"]), hll.count(), "{number} members");
    }
}

/// No real set fills registers like these, and the estimator's far ends are reached by nothing else.
#[test]
fn counts_are_equal_for_registers_of_any_value() {
    let mut redis = Redis::start();
    let mut check = |what: &str, value: &dyn Fn(u32) -> u32| {
        let mut bytes = Hll::new().to_redis_dense();
        for (group, packed) in (0..).step_by(4).zip(bytes[16..].chunks_exact_mut(3)) {
            let word = (0..4).map(|lane| value(group + lane) << (6 * lane)).sum::<u32>();
            packed.copy_from_slice(&word.to_le_bytes()[..3]);
        }
        let hll = Hll::from_redis(&bytes).unwrap();
        redis.bytes(&[b"SET", b"key", &bytes]);
        assert_eq!(redis.number(&[b"PFCOUNT", b"key"]), hll.count(), "{what}");
    };
    for value in 0..=51 {
        let scattered = |index: u32| index * 7_919 % 10_007 % (value + 1);
        check(&format!("up to {value}"), &scattered);
        check(&format!("few, up to {value}"), &|index| if index < 300 { scattered(index) } else { 0 });
        check(&format!("half at {value}"), &|index| if index % 2 == 0 { value } else { value.min(46) });
        check(&format!("all but few at {value}"), &|index| if index < 16_000 { value.min(48) } else { value });
    }
}

#[test]
fn merges_are_equal() {
    let mut redis = Redis::start();
    let sizes = [0, 3, 400, 1_100, 9_000, 60_000];
    let sketches: Vec<_> = sizes
        .iter()
        .map(|&size| {
            let (key, mut hll) = (format!("size:{size}").into_bytes(), Hll::new());
            redis.number(&[b"PFADD", &key]);
            add(&mut redis, &key, &mut hll, &members(size / 3..size / 3 + size));
            (key, hll)
        })
        .collect();
    for (left, ours) in &sketches {
        for (right, theirs) in &sketches {
            let mut merged = ours.clone();
            merged.merge(theirs);
            assert_eq!(redis.number(&[b"PFCOUNT", left, right]), merged.count());
            redis.bytes(&[b"PFMERGE", b"merged", left, right]);
            check_round_trip(&mut redis, b"merged", &merged);
            redis.number(&[b"DEL", b"merged"]);
        }
    }
}

#[test]
fn redis_goes_on_with_what_we_wrote() {
    let mut redis = Redis::start();
    for size in [0, 10, 5_000] {
        let mut hll = Hll::new();
        for member in members(0..size) {
            hll.add(&member);
        }
        redis.bytes(&[b"SET", b"ours", &hll.to_redis_dense()]);
        add(&mut redis, b"ours", &mut hll, &members(size / 2..size + 3_000));
        check_round_trip(&mut redis, b"ours", &hll);
        redis.bytes(&[b"SET", b"again", &hll.to_redis_dense()]);
        redis.bytes(&[b"PFMERGE", b"again", b"ours"]);
        check_round_trip(&mut redis, b"again", &hll);
    }
}
