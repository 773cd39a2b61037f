//! Single operations from 64 tasks at once, each acknowledged when the disk has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tickmark_rig::{Fsync, Redis};
use tickmark_store::embedded::EmbeddedStore;
use tickmark_store::{Account, Atom, Batch, Key, Number, Op, Store};

use crate::measure::{line, median_of, ratio};
use crate::peer::{Peer, Pipe};

const TASKS: usize = 64;
const COMMITS_PER_TASK: usize = 2_000;

pub fn run() {
    let ours = median_of(3, embedded);
    line("embedded, always", TASKS * COMMITS_PER_TASK, ours);
    for (name, fsync) in [("always", Fsync::Always), ("everysec", Fsync::EverySecond)] {
        let theirs = redis(fsync);
        line(&format!("Redis, 64 connections, appendfsync {name}"), TASKS * COMMITS_PER_TASK, theirs);
        ratio(&format!("embedded to Redis {name}"), ours, theirs);
    }
}

fn embedded() -> Duration {
    let directory = super::directory();
    let store = Arc::new(super::open_store(&directory.path().join("store")));
    super::runtime().block_on(async {
        let start = Instant::now();
        let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(commits(Arc::clone(&store), task))).collect();
        for task in tasks {
            task.await.expect("a task");
        }
        let took = start.elapsed();
        store.close().await.expect("a clean end");
        took
    })
}

async fn commits(store: Arc<EmbeddedStore>, task: usize) {
    for number in 0..COMMITS_PER_TASK {
        let field = Atom::Int(i64::try_from(number % 300).expect("small"));
        let op = Op::HashIncrement { key: Key::from(format!("task:{task}")), fields: vec![(field, Number::Int(1))] };
        store.commit(Account(0), Batch::new().op(op)).await.expect("a commit");
    }
}

fn redis(fsync: Fsync) -> Duration {
    let redis = Redis::start_with(&crate::peer::settings(fsync)).expect("a Redis");
    let start = Instant::now();
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let port = redis.port();
            scope.spawn(move || {
                let mut peer = Peer::connect(port);
                for number in 0..COMMITS_PER_TASK {
                    let mut pipe = Pipe::default();
                    pipe.command(&["HINCRBY", &format!("task:{task}"), &(number % 300).to_string(), "1"]);
                    peer.run_few(&pipe);
                }
            });
        }
    });
    start.elapsed()
}
