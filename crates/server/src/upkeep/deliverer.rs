//! Posts alerts to webhooks, again and again until they are taken or there is no hope.

use std::time::Duration;

use tickmark_engine::calculations::{Delivery, Posting};
use tickmark_store::Account;
use tokio::time::sleep;

use super::{Upkeep, webhook};
use crate::clock;
use crate::settings::WebhookReach;

const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// Posts of one alert. With the waits between them that is about half a day.
const ATTEMPTS_MAX: u32 = 15;
const FIRST_WAIT_MS: u64 = 1_000;
const WAIT_MS_MAX: u64 = 3_600_000;

pub(super) async fn run(upkeep: &Upkeep, reach: WebhookReach) {
    loop {
        let mut is_idle = true;
        for account in upkeep.accounts() {
            if let Ok(Some(posting)) = upkeep.calculations.take_posting(account, clock::now_ms()).await {
                is_idle = false;
                deliver(upkeep, account, &posting, reach).await;
            }
        }
        if is_idle {
            sleep(BETWEEN_LOOKS).await;
        }
    }
}

async fn deliver(upkeep: &Upkeep, account: Account, posting: &Posting, reach: WebhookReach) {
    let attempts = posting.attempts + 1;
    let (delivery, again_ms) = match webhook::post(posting, reach).await {
        Ok(()) => (Delivery::Delivered, None),
        Err(why) => {
            metrics::counter!("tickmark_webhook_failures_total").increment(1);
            tracing::warn!(rule = posting.alert.rule, attempts, why, "an alert was not taken by its webhook");
            if attempts >= ATTEMPTS_MAX {
                (Delivery::Failed, None)
            } else {
                (Delivery::Pending { attempts }, Some(clock::now_ms() + wait_ms(attempts)))
            }
        }
    };
    if let Err(error) = upkeep.calculations.posted(account, &posting.alert, delivery, again_ms).await {
        tracing::warn!(%error, "how posting an alert went is not recorded; it may be posted again");
    }
}

/// Twice as long each time.
fn wait_ms(attempts: u32) -> u64 {
    FIRST_WAIT_MS.saturating_mul(1 << (attempts - 1).min(32)).min(WAIT_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_an_hour() {
        assert_eq!([1, 2, 3, 12, 13, 99].map(wait_ms), [1_000, 2_000, 4_000, 2_048_000, 3_600_000, 3_600_000]);
    }
}
