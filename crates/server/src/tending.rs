//! What audiences need as time passes, whether anyone asks or not: viewers who left are taken out of the counts, and what is
//! old goes away.
//!
//! Nothing rests on it: whoever asks is answered for that very moment. It keeps answering cheap, and tells those who listen.

use std::collections::BTreeSet;
use std::time::Duration;

use tickmark_engine::audience::{AudienceError, AudienceName, Settled};
use tickmark_engine::{Error, Result};
use tickmark_store::Account;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::clock;
use crate::context::Context;

const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);
/// Events looked after in one round; where there are more they take turns.
const EVENTS_A_ROUND: usize = 500;
const BETWEEN_PURGES: Duration = Duration::from_hours(1);
/// How long an event that nobody watches is kept up to date after someone wrote to it or asked about it.
const IDLE_MS: i64 = 300_000;
/// Between two batches of a purge, so that it never takes more than a small part of the store.
const PURGE_PAUSE: Duration = Duration::from_millis(50);
const PAGE: u32 = 1_000;

pub(crate) async fn tend(context: Context) {
    tokio::join!(keep_up(&context), forget(&context));
}

async fn keep_up(context: &Context) {
    let mut rounds = interval(BETWEEN_ROUNDS);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut turn = 0;
    loop {
        rounds.tick().await;
        let mut events = context.audience().in_use();
        events.sort_unstable();
        let count = events.len().max(1);
        events.rotate_left(turn % count);
        turn = if count > EVENTS_A_ROUND { (turn + EVENTS_A_ROUND) % count } else { 0 };
        for (account, event) in events.into_iter().take(EVENTS_A_ROUND) {
            let now_ms = clock::now_ms().cast_signed();
            match context.audience().settle(account, &event, now_ms).await {
                Ok(Settled::ForNow) => {}
                Ok(Settled::UntilTheNextHeartbeat) | Err(Error::Audience(AudienceError::UnknownEvent { .. })) => {
                    context.audience().leave(account, &event, now_ms - IDLE_MS);
                }
                Err(error) => tracing::warn!(%error, "an audience could not be brought up to date; trying again"),
            }
        }
    }
}

async fn forget(context: &Context) {
    let Some(retention) = context.settings().audience_retention else { return };
    let retention_ms = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    let mut rounds = interval(BETWEEN_PURGES);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once; a server that just started has better things to do.
    rounds.tick().await;
    loop {
        rounds.tick().await;
        if let Err(error) = purge(context, retention_ms).await {
            tracing::warn!(%error, "old heartbeats could not be purged; trying again later");
        }
    }
}

async fn purge(context: &Context, retention_ms: i64) -> Result<()> {
    for account in accounts(context).await? {
        let mut after: Option<String> = None;
        loop {
            let page = context.audience().list(account, after.as_deref(), PAGE).await?;
            for event in page.names.iter().filter_map(|name| AudienceName::parse(name).ok()) {
                let now_ms = clock::now_ms().cast_signed();
                loop {
                    let purged = context.audience().purge(account, &event, now_ms - retention_ms, now_ms).await?;
                    metrics::counter!("tickmark_heartbeats_purged_total").increment(purged);
                    if purged == 0 {
                        break;
                    }
                    sleep(PURGE_PAUSE).await;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// Every account that someone can come into.
async fn accounts(context: &Context) -> Result<BTreeSet<Account>> {
    let tokens = context.access().registry().all().await?;
    let jwt = context.settings().access.jwt.as_ref().map(|jwt| jwt.account);
    Ok(tokens.iter().map(|token| token.account).chain(jwt).chain([Account(0)]).collect())
}
