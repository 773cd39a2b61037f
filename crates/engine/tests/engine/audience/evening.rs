//! A simulated evening: 50,000 viewers of three sessions who come, go, fall silent, come back, sit in two sessions and in two
//! tabs, travel, and send late. At every minute every number is that of the model.

use fastrand::Rng;

use super::laws::compare;
use super::model::{Model, Sent};
use super::{ACCOUNT, Stage};
use crate::stores::{Kept, cluster, directory, memory, redis};

const VIEWERS: usize = 50_000;
const MINUTES: usize = 20;
const THRESHOLD_MS: i64 = 65_000;
/// Ten minutes to eight.
const START_MS: i64 = 1_700_077_800_000;
const SESSIONS: [&str; 3] = ["opening", "keynote", "panel"];
const COUNTRIES: [&str; 5] = ["HK", "DE", "US", "JP", "BR"];

/// What was sent, by the minute in which it arrives.
fn evening(rng: &mut Rng) -> Vec<Vec<Sent>> {
    let mut minutes: Vec<Vec<Sent>> = vec![Vec::new(); MINUTES];
    for viewer in 0..VIEWERS {
        let visits = if rng.f64() < 0.2 { 2 } else { 1 };
        for _ in 0..visits {
            visit(rng, viewer, &mut minutes);
        }
    }
    for minute in &mut minutes {
        rng.shuffle(minute);
    }
    minutes
}

fn visit(rng: &mut Rng, viewer: usize, minutes: &mut [Vec<Sent>]) {
    let session = SESSIONS[rng.usize(..SESSIONS.len())];
    let other = (rng.f64() < 0.1).then(|| SESSIONS[rng.usize(..SESSIONS.len())]);
    let is_late = rng.f64() < 0.15;
    let mut country = COUNTRIES[viewer % COUNTRIES.len()];
    let groups = match viewer % 4 {
        0 => vec!["staff".to_owned()],
        1 => vec!["press".to_owned(), "vip".to_owned()],
        _ => Vec::new(),
    };
    let end_ms = i64::try_from(MINUTES).unwrap() * 60_000;
    let mut after_ms = rng.i64(0..end_ms);
    for _ in 0..rng.usize(1..8) {
        // Whoever sends late does not travel: a late heartbeat does not say what the latest says.
        if !is_late && rng.f64() < 0.05 {
            country = COUNTRIES[rng.usize(..COUNTRIES.len())];
        }
        for session in [Some(session), other].into_iter().flatten() {
            // Two tabs are never in step.
            let at_ms = after_ms + if Some(session) == other { rng.i64(0..20_000) } else { 0 };
            let late_ms = if is_late { rng.i64(0..THRESHOLD_MS) } else { 0 };
            let Some(minute) = minutes.get_mut(usize::try_from((at_ms + late_ms) / 60_000).unwrap()) else { continue };
            minute.push(Sent {
                user: format!("user:{viewer}"),
                session: Some(session.to_owned()),
                country: Some(country.to_owned()),
                groups: groups.clone(),
                at_ms: START_MS + at_ms,
            });
        }
        after_ms += match rng.u8(..10) {
            0 => THRESHOLD_MS,
            1 => THRESHOLD_MS + 1,
            2 => rng.i64(66_000..300_000),
            3 => rng.i64(31_000..65_000),
            _ => 30_000,
        };
    }
}

async fn spend(kept: Kept) {
    let mut rng = Rng::with_seed(2_026);
    let mut stage = Stage::new(&kept.store, "evening");
    let scopes = [None, Some(SESSIONS[0]), Some(SESSIONS[1]), Some(SESSIONS[2])];
    let mut models = scopes.map(|_| Model::new(THRESHOLD_MS));
    let mut sent = 0;
    for (minute, beats) in evening(&mut rng).into_iter().enumerate() {
        let now_ms = START_MS + i64::try_from(minute + 1).unwrap() * 60_000 + rng.i64(-500..500);
        for request in beats.chunks(5_000) {
            stage.send(request, now_ms).await.unwrap();
            for (session, model) in scopes.iter().zip(&mut models) {
                let here = request.iter().filter(|sent| session.is_none() || sent.session.as_deref() == *session);
                model.take(&here.cloned().collect::<Vec<_>>());
            }
        }
        sent += beats.len();
        // As a server does, though not always in time.
        if minute % 3 == 0 {
            stage.audience.settle(ACCOUNT, &stage.event, now_ms).await.unwrap();
        }
        if minute == MINUTES / 2 {
            // As after a restart: what was only in memory is gone.
            stage = Stage::new(&kept.store, "evening");
        }
        for (session, model) in scopes.iter().zip(&models) {
            compare(&stage, *session, model, now_ms).await;
        }
    }
    assert!(sent > 150_000 && models[0].attended() > 49_000, "{sent} heartbeats");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory() {
    spend(memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory() {
    spend(directory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_redis() {
    spend(redis().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_cluster() {
    spend(cluster().await).await;
}
