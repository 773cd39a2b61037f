//! Many who write and ask at once, and writers who go away without a word.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use fastrand::Rng;
use tickmark_store::{Account, Batch, Cursor, Key, KeyPage, Placement, Query, Reply, Result, Store, Subscription};

use super::laws::compare;
use super::model::{Model, Sent};
use super::{ACCOUNT, Stage};
use crate::stores::{Kept, directory, memory, redis};

const START_MS: i64 = 1_700_000_000_000;
const THRESHOLD_MS: i64 = 65_000;
const SESSIONS: [&str; 2] = ["keynote", "panel"];
const WRITERS: u64 = 6;
const REQUESTS: usize = 40;

/// What a viewer says never changes, so it does not matter who comes first.
fn beat(viewer: usize, session: usize, at_ms: i64) -> Sent {
    Sent {
        user: format!("user:{viewer}"),
        session: Some(SESSIONS[session].to_owned()),
        country: Some(["HK", "DE"][viewer % 2].to_owned()),
        groups: vec![format!("g{}", viewer % 3)],
        at_ms,
    }
}

fn request(rng: &mut Rng) -> Vec<Sent> {
    (0..20).map(|_| beat(rng.usize(..200), rng.usize(..2), START_MS + rng.i64(0..600_000))).collect()
}

async fn write_and_ask(kept: Kept) {
    let stage = Arc::new(Stage::new(&kept.store, "expo"));
    let now_ms = START_MS + 600_000;
    let is_over = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn({
        let (stage, is_over) = (Arc::clone(&stage), Arc::clone(&is_over));
        async move {
            let scope = stage.scope(None);
            while !is_over.load(Ordering::Relaxed) {
                // Nothing is there yet, at first.
                let _ = stage.audience.settle(ACCOUNT, &stage.event, now_ms).await;
                let _ = stage.audience.active_within(ACCOUNT, &scope, 1_000, now_ms).await;
                let _ = stage.audience.live(ACCOUNT, &scope, now_ms).await;
                let _ = stage.audience.peak(ACCOUNT, &scope).await;
                tokio::task::yield_now().await;
            }
        }
    });
    let writers = (0..WRITERS).map(|seed| {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            let mut rng = Rng::with_seed(seed);
            let mut all = Vec::new();
            for number in 0..REQUESTS {
                let sent = request(&mut rng);
                let turn = stage.write(&sent, now_ms).await.unwrap();
                // Some go away before they can say what they wrote.
                if number % 10 != 9 {
                    turn.written();
                }
                all.extend(sent);
            }
            all
        })
    });
    let mut sent = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        sent.extend(writer.await.unwrap());
    }
    is_over.store(true, Ordering::Relaxed);
    asking.await.unwrap();
    for session in [None, Some(SESSIONS[0]), Some(SESSIONS[1])] {
        let mut model = Model::new(THRESHOLD_MS);
        let here = sent.iter().filter(|sent| session.is_none() || sent.session.as_deref() == session);
        model.take(&here.cloned().collect::<Vec<_>>());
        for later_ms in [0, 30_000, 64_000, 70_000] {
            compare(&stage, session, &model, now_ms + later_ms).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory() {
    write_and_ask(memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory() {
    write_and_ask(directory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_redis() {
    write_and_ask(redis().await).await;
}

/// A store to which somebody else writes just before the next commit.
#[derive(Debug)]
struct Meddled {
    store: Arc<dyn Store>,
    first: Mutex<Option<Batch>>,
}

#[async_trait]
impl Store for Meddled {
    fn placement(&self) -> Placement {
        self.store.placement()
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        let first = self.first.lock().unwrap().take();
        if let Some(first) = first {
            self.store.commit(account, first).await.unwrap();
        }
        self.store.commit(account, batch).await
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        self.store.read(account, queries).await
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        self.store.scan(account, prefix, cursor, limit).await
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        self.store.subscribe(account, channel).await
    }

    async fn ping(&self) -> Result<()> {
        self.store.ping().await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

async fn meddle(kept: Kept) {
    let meddled = Arc::new(Meddled { store: Arc::clone(&kept.store), first: Mutex::default() });
    let store: Arc<dyn Store> = meddled.clone();
    let (stage, other) = (Stage::new(&store, "expo"), Stage::new(&kept.store, "expo"));
    let mut model = Model::new(THRESHOLD_MS);
    let first = [beat(1, 0, START_MS), beat(2, 0, START_MS)];
    stage.send(&first, START_MS).await.unwrap();
    model.take(&first);
    compare(&stage, None, &model, START_MS + 60_000).await;
    // One comes back at the very moment in which both are taken out.
    let back = [beat(1, 0, START_MS + 60_000)];
    let roll = Stage::roll(&back, START_MS + 60_000).unwrap();
    let planned = other.audience.count(ACCOUNT, &other.event, &roll).await.unwrap();
    *meddled.first.lock().unwrap() = Some(planned.batch);
    model.take(&back);
    stage.audience.settle(ACCOUNT, &stage.event, START_MS + 70_000).await.unwrap();
    assert!(meddled.first.lock().unwrap().is_none(), "nobody was taken out");
    compare(&stage, None, &model, START_MS + 70_000).await;
    compare(&stage, None, &model, START_MS + 126_000).await;
}

async fn meddle_with_purge(kept: Kept) {
    let meddled = Arc::new(Meddled { store: Arc::clone(&kept.store), first: Mutex::default() });
    let store: Arc<dyn Store> = meddled.clone();
    let (stage, other) = (Stage::new(&store, "expo"), Stage::new(&kept.store, "expo"));
    stage.send(&[beat(1, 0, START_MS), beat(2, 0, START_MS)], START_MS).await.unwrap();
    let later_ms = START_MS + 3 * 86_400_000;
    stage.audience.settle(ACCOUNT, &stage.event, later_ms).await.unwrap();
    // One comes back at the very moment in which both are forgotten.
    let roll = Stage::roll(&[beat(1, 0, later_ms)], later_ms).unwrap();
    let planned = other.audience.count(ACCOUNT, &other.event, &roll).await.unwrap();
    *meddled.first.lock().unwrap() = Some(planned.batch);
    while stage.audience.purge(ACCOUNT, &stage.event, later_ms - 86_400_000, later_ms).await.unwrap() > 0 {}
    assert!(meddled.first.lock().unwrap().is_none(), "nobody was forgotten");
    for scope in [stage.scope(None), stage.scope(Some(SESSIONS[0]))] {
        stage.audience.viewer(ACCOUNT, &scope, "user:1", later_ms).await.unwrap();
        for (after_ms, active) in [(0, 1), (65_000, 1), (65_001, 0)] {
            assert_eq!(stage.audience.active(ACCOUNT, &scope, later_ms + after_ms).await.unwrap(), active, "{scope:?}");
        }
    }
}

#[tokio::test]
async fn who_comes_back_while_being_forgotten() {
    meddle_with_purge(memory()).await;
    meddle_with_purge(redis().await).await;
}

#[tokio::test]
async fn who_comes_back_while_being_taken_out() {
    meddle(memory()).await;
    meddle(redis().await).await;
}

/// Two programs, or one that was started again: what one wrote the other knows.
#[tokio::test]
async fn another_writer() {
    let kept = memory();
    let (one, other) = (Stage::new(&kept.store, "expo"), Stage::new(&kept.store, "expo"));
    let mut model = Model::new(THRESHOLD_MS);
    for number in 0_i64..8 {
        let at_ms = START_MS + number * 20_000;
        let sent: Vec<Sent> = (0..5).map(|viewer| beat(viewer + usize::try_from(number).unwrap(), 0, at_ms)).collect();
        let stage = if number % 3 == 0 { &other } else { &one };
        stage.send(&sent, at_ms).await.unwrap();
        model.take(&sent);
        compare(&one, None, &model, at_ms + 50_000).await;
        compare(&other, Some(SESSIONS[0]), &model, at_ms + 50_000).await;
    }
}
