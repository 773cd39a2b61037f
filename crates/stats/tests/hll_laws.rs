//! The laws that make sketches safe to keep on several machines: what matters is who was added, not how or when.

use proptest::collection::vec;
use proptest::prelude::*;
use tickmark_stats::Hll;

/// Enough members to be sparse, dense, or on the edge between the two.
fn members() -> impl Strategy<Value = Vec<u16>> {
    prop_oneof![vec(any::<u16>(), 0..40), vec(any::<u16>(), 900..1_400), vec(any::<u16>(), 3_000..4_000)]
}

fn sketch(members: &[u16]) -> Hll {
    let mut hll = Hll::new();
    for member in members {
        hll.add(&member.to_le_bytes());
    }
    hll
}

fn merged(left: &Hll, right: &Hll) -> Hll {
    let mut merged = left.clone();
    merged.merge(right);
    merged
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_commutes_associates_and_repeats(a in members(), b in members(), c in members()) {
        let (a, b, c) = (sketch(&a), sketch(&b), sketch(&c));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&merged(&a, &b), &b), merged(&a, &b));
        prop_assert_eq!(merged(&a, &a), a.clone());
        prop_assert_eq!(merged(&a, &Hll::new()), a);
    }

    #[test]
    fn the_order_of_additions_is_irrelevant(forwards in members()) {
        let backwards: Vec<_> = forwards.iter().rev().copied().collect();
        prop_assert_eq!(sketch(&forwards), sketch(&backwards));
        prop_assert_eq!(sketch(&[&forwards[..], &backwards].concat()), sketch(&forwards));
    }

    #[test]
    fn a_merge_is_the_sketch_of_the_union(a in members(), b in members()) {
        prop_assert_eq!(merged(&sketch(&a), &sketch(&b)), sketch(&[a, b].concat()));
    }

    #[test]
    fn every_form_is_lossless_and_canonical(members in members()) {
        let hll = sketch(&members);
        for copy in [Hll::from_compact(&hll.to_compact()), Hll::from_redis(&hll.to_redis_dense())] {
            let copy = copy.unwrap();
            prop_assert_eq!(copy.to_compact(), hll.to_compact());
            prop_assert_eq!(copy.to_redis_dense(), hll.to_redis_dense());
            prop_assert_eq!(copy.count(), hll.count());
            prop_assert_eq!(&copy, &hll);
        }
    }

    #[test]
    fn no_bytes_panic(encoding in 0_u8..3, bytes in vec(any::<u8>(), 0..60), length in prop_oneof![Just(12_288), 0_usize..100]) {
        let long: Vec<_> = bytes.iter().copied().cycle().take(if bytes.is_empty() { 0 } else { length }).collect();
        let header = [b"HYLL", &[encoding, 0, 0, 0][..], &[0; 8]].concat();
        for bytes in [bytes, long] {
            let _ = Hll::from_redis(&bytes);
            let _ = Hll::from_redis(&[&header[..], &bytes].concat());
            let _ = Hll::from_compact(&bytes);
            if let Ok(hll) = Hll::from_compact(&[&[encoding], &bytes[..]].concat()) {
                prop_assert_eq!(Hll::from_compact(&hll.to_compact()), Ok(hll));
            }
        }
    }
}
