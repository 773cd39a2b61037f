//! What becomes of audiences with time: purging, deleting, being cut off half-way.

use tickmark_engine::Error;
use tickmark_engine::audience::{AudienceError, Settled};
use tickmark_store::{Account, Key};

use super::model::Sent;
use super::{ACCOUNT, Stage};
use crate::stores::{Kept, cluster, memory, redis};

const START_MS: i64 = 1_700_000_000_000;
const DAY_MS: i64 = 86_400_000;

fn beat(user: &str, at_ms: i64) -> Sent {
    let session = Some("s".to_owned());
    Sent { user: user.to_owned(), session, country: Some("HK".to_owned()), groups: vec!["g".to_owned()], at_ms }
}

async fn keys(stage: &Stage, account: Account) -> Vec<Key> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = stage.store.scan(account, Key::from(""), cursor, 1_000).await.unwrap();
        keys.extend(page.keys);
        cursor = page.next;
        if cursor.is_none() {
            return keys;
        }
    }
}

async fn purged(kept: Kept) {
    let stage = Stage::new(&kept.store, "expo");
    // One who never came back, one who did, and one who is new.
    let mut sent: Vec<Sent> = (0..6).map(|number| beat("gone", START_MS + number * 30_000)).collect();
    sent.extend((0..4).map(|number| beat("back", START_MS + number * 200_000)));
    stage.send(&sent, START_MS).await.unwrap_err();
    stage.send(&sent, START_MS + DAY_MS).await.unwrap();
    let later_ms = START_MS + 3 * DAY_MS;
    stage.send(&[beat("back", later_ms), beat("new", later_ms)], later_ms).await.unwrap();
    let (audience, scope) = (&stage.audience, stage.scope(None));
    let peak = audience.peak(ACCOUNT, &scope).await.unwrap();
    let viewing = stage.viewing(&scope, later_ms).await;
    let records = audience.records(ACCOUNT, &scope, None, None, later_ms, 10_000).await.unwrap();
    assert_eq!((peak.viewers, viewing.viewing_sessions), (2, 7));

    let mut rounds = 0;
    while audience.purge(ACCOUNT, &stage.event, later_ms - DAY_MS, later_ms).await.unwrap() > 0 {
        rounds += 1;
        assert!(rounds < 100);
    }
    for session in [None, Some("s")] {
        let scope = stage.scope(session);
        let unknown = audience.viewer(ACCOUNT, &scope, "gone", later_ms).await.unwrap_err();
        assert!(matches!(unknown, Error::Audience(AudienceError::UnknownViewer { .. })));
        let back = audience.viewer(ACCOUNT, &scope, "back", later_ms).await.unwrap();
        assert_eq!((back.first_ms, back.viewing_sessions.len()), (START_MS, 1));
        assert_eq!(audience.peak(ACCOUNT, &scope).await.unwrap(), peak);
        assert_eq!(audience.attended(ACCOUNT, &scope).await.unwrap(), 3);
        assert_eq!(stage.viewing(&scope, later_ms + DAY_MS).await, viewing);
        assert_eq!(audience.records(ACCOUNT, &scope, None, None, later_ms, 10_000).await.unwrap(), records);
        assert_eq!(audience.active(ACCOUNT, &scope, later_ms).await.unwrap(), 2);
    }
    // Whoever comes back after all is counted once.
    stage.send(&[beat("gone", later_ms + 1_000)], later_ms + 1_000).await.unwrap();
    assert_eq!(audience.attended(ACCOUNT, &scope).await.unwrap(), 3);
    assert_eq!(audience.active(ACCOUNT, &scope, later_ms + 1_000).await.unwrap(), 3);
    assert_eq!(stage.viewing(&scope, later_ms + 1_000).await.viewing_sessions, viewing.viewing_sessions + 1);
    // A heartbeat from when everybody is forgotten counts, but not as if nobody had left since.
    let late = ["x", "y", "z"].map(|user| beat(user, START_MS + 280_000));
    stage.send(&late, later_ms + 1_000).await.unwrap();
    for session in [None, Some("s")] {
        let scope = stage.scope(session);
        for _ in 0..2 {
            // Not four: the one who was there when the five minutes began had left by then.
            assert_eq!(audience.peak(ACCOUNT, &scope).await.unwrap().viewers, 3);
            audience.settle(ACCOUNT, &stage.event, later_ms + 2_000).await.unwrap();
        }
        assert_eq!(audience.attended(ACCOUNT, &scope).await.unwrap(), 6);
    }
    // They are forgotten in their turn, though a purge had found nobody older.
    while audience.purge(ACCOUNT, &stage.event, later_ms - DAY_MS, later_ms).await.unwrap() > 0 {}
    for session in [None, Some("s")] {
        let unknown = audience.viewer(ACCOUNT, &stage.scope(session), "x", later_ms).await.unwrap_err();
        assert!(matches!(unknown, Error::Audience(AudienceError::UnknownViewer { .. })));
        audience.viewer(ACCOUNT, &stage.scope(session), "gone", later_ms).await.unwrap();
    }
}

#[tokio::test]
async fn individuals_are_purged_and_numbers_stay() {
    purged(memory()).await;
    purged(redis().await).await;
    purged(cluster().await).await;
}

async fn cut_off(kept: Kept) {
    let stage = Stage::new(&kept.store, "expo");
    stage.send(&[beat("a", START_MS), beat("b", START_MS + 400_000)], START_MS + 400_000).await.unwrap();
    // Deleted, and then nothing more was heard of it.
    stage.commit(stage.audience.removal(ACCOUNT, &stage.event).await.unwrap()).await;
    let gone = stage.audience.attended(ACCOUNT, &stage.scope(None)).await.unwrap_err();
    assert!(matches!(gone, Error::Audience(AudienceError::UnknownEvent { .. })));
    // Whoever comes next does not see anything of it.
    stage.send(&[beat("c", START_MS)], START_MS).await.unwrap();
    for session in [None, Some("s")] {
        assert_eq!(stage.audience.attended(ACCOUNT, &stage.scope(session)).await.unwrap(), 1);
        assert_eq!(stage.audience.peak(ACCOUNT, &stage.scope(session)).await.unwrap().viewers, 1);
    }
    stage.commit(stage.audience.removal(ACCOUNT, &stage.event).await.unwrap()).await;
    stage.audience.finish_removal(ACCOUNT, &stage.event).await.unwrap();
    assert_eq!(keys(&stage, ACCOUNT).await, []);
}

#[tokio::test]
async fn a_deletion_that_was_cut_off_is_finished() {
    cut_off(memory()).await;
    cut_off(redis().await).await;
    cut_off(cluster().await).await;
}

#[tokio::test]
async fn a_crowd_that_leaves_at_one_instant() {
    let kept = memory();
    let stage = Stage::new(&kept.store, "expo");
    let crowd: Vec<Sent> = (0..12_000).map(|number| beat(&format!("u{number}"), START_MS)).collect();
    stage.send(&crowd, START_MS).await.unwrap();
    let scope = stage.scope(None);
    for (after_ms, active) in [(0, 12_000), (65_000, 12_000), (65_001, 0)] {
        assert_eq!(stage.audience.active(ACCOUNT, &scope, START_MS + after_ms).await.unwrap(), active);
        assert_eq!(stage.audience.live(ACCOUNT, &scope, START_MS + after_ms).await.unwrap().viewers, active);
    }
    let settled = stage.audience.settle(ACCOUNT, &stage.event, START_MS + 70_000).await.unwrap();
    assert_eq!(settled, Settled::UntilTheNextHeartbeat);
    assert_eq!(stage.audience.peak(ACCOUNT, &scope).await.unwrap().viewers, 12_000);
}

async fn attendees(stage: &Stage, session: Option<&str>) -> Vec<String> {
    let (mut users, mut cursor) = (Vec::new(), None);
    loop {
        let page = stage.audience.attendees(ACCOUNT, &stage.scope(session), cursor, 100).await.unwrap();
        users.extend(page.0);
        cursor = page.1;
        if cursor.is_none() {
            users.sort_unstable();
            users.dedup();
            return users;
        }
    }
}

/// Few of an event's viewers are in one session, and are found among the others.
async fn listed(kept: Kept) {
    let stage = Stage::new(&kept.store, "expo");
    let mut sent: Vec<Sent> = (0..5_000).map(|number| beat(&format!("u{number:04}"), START_MS)).collect();
    let few = ["u0000", "u2500", "u4999"];
    sent.extend(few.map(|user| Sent { session: Some("few".to_owned()), ..beat(user, START_MS + 1) }));
    stage.send(&sent, START_MS + 1).await.unwrap();
    assert_eq!(attendees(&stage, Some("few")).await, few);
    for session in [None, Some("s")] {
        assert_eq!(attendees(&stage, session).await.len(), 5_000);
        assert_eq!(stage.audience.attended(ACCOUNT, &stage.scope(session)).await.unwrap(), 5_000);
    }
}

#[tokio::test]
async fn everybody_is_listed() {
    listed(memory()).await;
    listed(redis().await).await;
    listed(cluster().await).await;
}
