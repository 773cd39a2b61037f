//! Resident memory while a store grows to ten times its budget, with small objects and large ones.

use tickmark_store::embedded::{EmbeddedStore, Options};
use tickmark_store::{Account, AddWhen, Atom, Batch, Key, Op, Query, ScoreRange, Store};

use crate::measure::{disk_bytes, resident_bytes};

const BUDGET_BYTES: usize = 64 << 20;
const GROWTH: usize = 10;
const VALUE_BYTES: usize = 48;

pub fn run() {
    let directory = super::directory();
    let path = directory.path().join("store");
    let options = Options { memory_bytes: BUDGET_BYTES, ..Options::default() };
    let store = EmbeddedStore::open(&path, &options).expect("a store");
    let before = resident_bytes();
    let (members, most) = super::runtime().block_on(grow(&store));
    println!("  budget {} MiB, grown to {} MiB on disk", BUDGET_BYTES >> 20, disk_bytes(&path) >> 20);
    println!("  {:52} {:>12} MiB", "resident before", before >> 20);
    println!("  {:52} {:>12} MiB", "resident at most", most >> 20);
    println!("  {:52} {:>12.2} times", "of the budget", most as f64 / BUDGET_BYTES as f64);
    let count = Query::SortedCount { key: Key::from("large"), range: ScoreRange::ALL };
    let counted = super::runtime().block_on(store.read(Account(0), vec![count])).expect("an answer");
    assert_eq!(counted[0].clone().count().expect("a count"), members);
}

/// Writes until ten budgets of names and values went in. Answers the members of the one large set, and the most memory.
async fn grow(store: &EmbeddedStore) -> (u64, usize) {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut written, mut most, mut number) = (0, 0, 0u64);
    while written < BUDGET_BYTES * GROWTH {
        let mut batch = Batch::new();
        for _ in 0..20 {
            let fields: Vec<_> = (0..50).map(|field| (Atom::Int(field), random(&mut rng))).collect();
            written += fields.len() * (VALUE_BYTES + 2);
            batch.push(Op::HashSet { key: Key::from(format!("hash:{number}")), fields });
            let members: Vec<_> =
                (0..10).map(|member| (Atom::from(format!("member {number} {member}")), number as f64)).collect();
            written += members.len() * 30;
            batch.push(Op::SortedAdd { key: Key::from("large"), when: AddWhen::Always, members });
            number += 1;
        }
        store.commit(Account(0), batch).await.expect("a commit");
        most = most.max(resident_bytes());
    }
    (number * 10, most)
}

/// Nothing that compression could make small.
fn random(rng: &mut fastrand::Rng) -> Atom {
    Atom::from((0..VALUE_BYTES).map(|_| rng.u8(..)).collect::<Vec<u8>>())
}
