//! Does what was left to do after a request was answered: large keys, and declarations for dimensions.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Upkeep;
use crate::clock;

/// Between looks where nobody rings.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// After something failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

pub(super) async fn run(upkeep: &Upkeep) {
    let mut random = [0_u8; 8];
    // Without randomness the number alone tells attempts of this server apart, which is what matters most.
    let _ = getrandom::fill(&mut random);
    let server = u64::from_be_bytes(random);
    let mut number = 0_u64;
    loop {
        let mut is_idle = true;
        for account in upkeep.known_accounts().await {
            let Ok(Some(work)) = upkeep.calculations.take_work(account, clock::now_ms()).await else { continue };
            is_idle = false;
            number += 1;
            let worker = format!("{server:016x}-{number}");
            if let Err(error) = upkeep.calculations.do_work(account, &work, &worker, &clock::now_ms).await {
                tracing::warn!(%error, %work, "a declaration is not worked in yet; trying again when its lease ends");
                sleep(AFTER_FAILURE).await;
            }
            metrics::counter!("tickmark_calculation_works_total").increment(1);
        }
        if is_idle {
            let _ = timeout(BETWEEN_LOOKS, upkeep.work.notified()).await;
        }
    }
}
