use std::sync::Arc;
use std::time::Instant;
use tickmark_store::embedded::*;
use tickmark_store::*;

#[tokio::main]
async fn main() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let store = Arc::new(EmbeddedStore::open(&dir.path().join("a"), &Options::default()).unwrap());
    for round in 0..3 {
        let start = Instant::now();
        let mut n = 0u64;
        let mut seed = 1u64;
        for b in 0..200i64 {
            let mut per: Vec<Vec<(Atom, Number)>> = vec![Vec::new(); 1000];
            for _ in 0..10_000 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let k = (seed >> 33) as usize % 1000;
                per[k].push((Atom::Int(1_700_000_000 + ((seed >> 45) % 300) as i64 + round * 300), Number::Int(1)));
            }
            let ops = per.into_iter().enumerate().filter(|(_, f)| !f.is_empty()).map(|(k, fields)| Op::HashIncrement { key: Key::from(format!("series:{k}:1sec:{}", 1_700_000_000 + b / 100 * 300)), fields }).collect::<Vec<_>>();
            store.commit(Account(0), Batch::from(ops)).await.unwrap();
            n += 10_000;
        }
        let t = start.elapsed();
        println!("hash increments {:.0}/s", n as f64 / t.as_secs_f64());
    }
    let start = Instant::now();
    let mut tasks = Vec::new();
    for t in 0..64 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            for i in 0..1000i64 {
                store.commit(Account(0), Batch::new().op(Op::HashIncrement { key: Key::from(format!("k:{t}")), fields: vec![(Atom::Int(i % 100), Number::Int(1))] })).await.unwrap();
            }
        }));
    }
    for t in tasks { t.await.unwrap(); }
    println!("single commits {:.0}/s", 64_000.0 / start.elapsed().as_secs_f64());
    store.close().await.unwrap();
}
