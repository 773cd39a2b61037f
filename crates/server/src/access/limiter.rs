//! How much each bearer has left: requests from a bucket that fills by the second, bytes from one a day.
//!
//! Counted by each server for itself and in memory: a restart forgets, two servers allow twice. Only bearers with a limit
//! are held, and of those the ones that were quiet longest are forgotten first when there are too many.

use std::collections::HashMap;
use std::sync::Mutex;

use tickmark_engine::Seconds;
use tokio::time::Instant;

use super::Identity;
use crate::problem::{Problem, Result, Word};

const BEARERS_MAX: usize = 10_000;
const DAY_S: u64 = 86_400;

#[derive(Debug, Default)]
pub(super) struct Limiter {
    bearers: Mutex<HashMap<Box<str>, Allowance>>,
}

#[derive(Debug)]
struct Allowance {
    /// Requests left at `filled_at`.
    requests: f64,
    filled_at: Instant,
    day: u64,
    bytes_spent: u64,
}

impl Limiter {
    /// A bucket holds a second's worth, so a bearer may ask in bursts of that.
    pub(super) fn spend_request(&self, identity: &Identity) -> Result<()> {
        let Some(rate) = identity.limits.requests_per_second.map(f64::from) else { return Ok(()) };
        self.with(identity, |allowance| {
            let now = Instant::now();
            let elapsed_s = now.duration_since(allowance.filled_at).as_secs_f64();
            allowance.requests = (allowance.requests + elapsed_s * rate).min(rate.max(1.0));
            allowance.filled_at = now;
            if allowance.requests < 1.0 {
                let detail = format!("This token may make {rate} requests a second.");
                return Err(Problem::new(Word::TooManyRequests, detail).retry_after_s(1));
            }
            allowance.requests -= 1.0;
            Ok(())
        })
    }

    /// The body that goes over the limit is refused and not counted.
    pub(super) fn spend_bytes(&self, identity: &Identity, bytes: u64, now: Seconds) -> Result<()> {
        let Some(limit) = identity.limits.bytes_per_day else { return Ok(()) };
        self.with(identity, |allowance| {
            let day = now.0 / DAY_S;
            if allowance.day != day {
                (allowance.day, allowance.bytes_spent) = (day, 0);
            }
            let spent = allowance.bytes_spent.saturating_add(bytes);
            if spent > limit {
                let detail =
                    format!("This token may send {limit} bytes a day (UTC); {} are used.", allowance.bytes_spent);
                let wait_s = u32::try_from(DAY_S - now.0 % DAY_S).unwrap_or(u32::MAX);
                return Err(Problem::new(Word::TooManyBytes, detail).retry_after_s(wait_s));
            }
            allowance.bytes_spent = spent;
            Ok(())
        })
    }

    fn with<T>(&self, identity: &Identity, spend: impl FnOnce(&mut Allowance) -> T) -> T {
        let mut bearers = self.bearers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if bearers.len() >= BEARERS_MAX && !bearers.contains_key(&identity.bearer) {
            forget_the_quietest_half(&mut bearers);
        }
        let allowance = bearers.entry(identity.bearer.clone()).or_insert_with(|| Allowance {
            requests: identity.limits.requests_per_second.map_or(0.0, |rate| f64::from(rate).max(1.0)),
            filled_at: Instant::now(),
            day: 0,
            bytes_spent: 0,
        });
        spend(allowance)
    }
}

/// Half at a time, so that the search for them is rare.
fn forget_the_quietest_half(bearers: &mut HashMap<Box<str>, Allowance>) {
    let mut times: Vec<Instant> = bearers.values().map(|allowance| allowance.filled_at).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let median = *median;
    bearers.retain(|_, allowance| allowance.filled_at > median);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tickmark_engine::accounts::Limits;

    use super::*;

    fn identity(requests_per_second: Option<u32>, bytes_per_day: Option<u64>) -> Identity {
        Identity { limits: Limits { requests_per_second, bytes_per_day }, ..Identity::local() }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_fill_up_by_the_second() {
        let limiter = Limiter::default();
        let identity = identity(Some(2), None);
        for (wait_ms, allowed) in
            [(0, true), (0, true), (0, false), (400, false), (100, true), (0, false), (9_000, true)]
        {
            tokio::time::advance(Duration::from_millis(wait_ms)).await;
            assert_eq!(limiter.spend_request(&identity).is_ok(), allowed, "after {wait_ms} ms");
        }
    }

    #[test]
    fn bytes_come_back_at_midnight() {
        let limiter = Limiter::default();
        let identity = identity(None, Some(100));
        for (now, bytes, allowed) in [
            (DAY_S - 10, 60, true),
            (DAY_S - 9, 41, false),
            (DAY_S - 8, 40, true),
            (DAY_S - 1, 1, false),
            (DAY_S, 100, true),
        ] {
            assert_eq!(limiter.spend_bytes(&identity, bytes, Seconds(now)).is_ok(), allowed, "{bytes} at {now}");
        }
    }

    #[test]
    fn no_limit_is_no_limit_and_is_not_held() {
        let limiter = Limiter::default();
        for _ in 0..1_000 {
            limiter.spend_request(&identity(None, None)).unwrap();
        }
        assert!(limiter.bearers.lock().unwrap().is_empty());
    }

    #[test]
    fn bearers_are_bounded() {
        let limiter = Limiter::default();
        for index in 0..BEARERS_MAX * 2 {
            let bearer = index.to_string().into();
            limiter.spend_request(&Identity { bearer, ..identity(Some(1), None) }).unwrap();
        }
        assert!(limiter.bearers.lock().unwrap().len() <= BEARERS_MAX);
    }
}
