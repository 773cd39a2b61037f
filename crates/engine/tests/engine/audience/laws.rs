//! Whatever comes, in whatever order: every number is that of the model.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::model::{Model, Sent};
use super::{ACCOUNT, Stage};
use crate::stores::{Kept, cluster, directory, memory, redis};

const THRESHOLD_SECONDS: u64 = 2;
const THRESHOLD_MS: i64 = 2_000;
/// Just before a record is taken.
const START_MS: i64 = 599_000;

/// A request, how much later than the last, and whether someone looks after the peak before it is read.
type Step = (Vec<Sent>, i64, bool);

fn sent() -> impl Strategy<Value = Sent> {
    let session = prop_oneof![Just(None), Just(Some("keynote".to_owned())), Just(Some("panel".to_owned()))];
    let country = prop_oneof![Just(None), Just(Some("HK".to_owned())), Just(Some("DE".to_owned()))];
    let groups = prop::collection::vec(prop_oneof![Just("staff".to_owned()), Just("vip".to_owned())], 0..3);
    // In steps, so that gaps of exactly the threshold and equal times are common.
    let at_ms = (0_i64..40).prop_map(|step| START_MS + step * 250);
    (0_u8..4, session, country, groups, at_ms).prop_map(|(user, session, country, groups, at_ms)| Sent {
        user: format!("u{user}"),
        session,
        country,
        groups,
        at_ms,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (prop::collection::vec(sent(), 1..8), 0_i64..3_000, any::<bool>());
    prop::collection::vec(step, 1..8)
}

async fn check(stage: &Stage, steps: &[Step]) {
    stage.declare(THRESHOLD_SECONDS).await.unwrap();
    let sessions = [None, Some("keynote"), Some("panel")];
    let mut models = sessions.map(|_| Model::new(THRESHOLD_MS));
    let mut now_ms = START_MS;
    for (sent, later_ms, is_settled) in steps {
        now_ms += later_ms;
        stage.send(sent, now_ms).await.unwrap();
        for (session, model) in sessions.iter().zip(&mut models) {
            let here = sent.iter().filter(|sent| session.is_none() || sent.session.as_deref() == *session);
            model.take(&here.cloned().collect::<Vec<_>>());
        }
        if *is_settled {
            stage.audience.settle(ACCOUNT, &stage.event, now_ms).await.unwrap();
        }
        for (session, model) in sessions.iter().zip(&models) {
            if model.attended() > 0 {
                compare(stage, *session, model, now_ms).await;
            }
        }
    }
}

pub(super) async fn compare(stage: &Stage, session: Option<&str>, model: &Model, now_ms: i64) {
    let (audience, scope) = (&stage.audience, stage.scope(session));
    let at = format!("{session:?} at {now_ms}");
    assert_eq!(audience.active(ACCOUNT, &scope, now_ms).await.unwrap(), model.active(now_ms), "active, {at}");
    assert_eq!(audience.live(ACCOUNT, &scope, now_ms).await.unwrap(), model.live(now_ms), "live, {at}");
    for within_ms in [1_000, 30_000] {
        let active = audience.active_within(ACCOUNT, &scope, within_ms, now_ms).await.unwrap();
        assert_eq!(active, model.active_within(within_ms, now_ms), "within {within_ms}, {at}");
    }
    assert_eq!(audience.attended(ACCOUNT, &scope).await.unwrap(), model.attended(), "attended, {at}");
    assert_eq!(audience.peak(ACCOUNT, &scope).await.unwrap(), model.peak(), "peak, {at}");
    assert_eq!(stage.viewing(&scope, now_ms).await, model.viewing(), "viewing, {at}");
    let records = audience.records(ACCOUNT, &scope, None, None, now_ms, 1_000).await.unwrap();
    let expected: Vec<_> = model.record_times(now_ms).into_iter().map(|at_ms| model.record(at_ms)).collect();
    assert_eq!(records, expected, "records, {at}");
}

async fn histories(stage: &Stage, steps: &[Step]) {
    let mut model = Model::new(THRESHOLD_MS);
    for (sent, ..) in steps {
        model.take(sent);
    }
    for user in model.users() {
        let seen = stage.audience.viewer(ACCOUNT, &stage.scope(None), &user, 0).await.unwrap();
        let sessions = model.sessions(&user);
        assert_eq!((seen.first_ms, seen.last_ms), (sessions[0].start_ms, sessions[sessions.len() - 1].end_ms));
        assert_eq!(seen.viewing_sessions, sessions);
    }
}

fn run(kept: &Kept, runtime: &tokio::runtime::Runtime, cases: u32) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let number = std::sync::atomic::AtomicU32::new(0);
    let outcome = runner.run(&steps(), |steps| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let stage = Stage::new(&kept.store, &format!("event{number}"));
        runtime.block_on(async {
            check(&stage, &steps).await;
            histories(&stage, &steps).await;
        });
        Ok(())
    });
    outcome.unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn in_memory() {
    run(&memory(), &runtime(), 300);
}

#[test]
fn in_a_directory() {
    run(&directory(), &runtime(), 30);
}

#[test]
fn on_redis() {
    let runtime = runtime();
    run(&runtime.block_on(redis()), &runtime, 60);
}

#[test]
fn on_a_cluster() {
    let runtime = runtime();
    run(&runtime.block_on(cluster()), &runtime, 30);
}
