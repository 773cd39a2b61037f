//! Audiences over HTTP, beside the seed's own commands piped into Redis.

pub mod heartbeats;
pub mod reading;

use std::time::{SystemTime, UNIX_EPOCH};

pub const SESSIONS: u32 = 30;
const COUNTRIES: [&str; 8] = ["HK", "DE", "US", "JP", "BR", "KE", "FR", "IN"];
const GROUPS: [&str; 4] = ["staff", "press", "vip", "guest"];

/// A heartbeat of one of many viewers.
pub struct Heartbeat {
    pub user: u32,
    pub session: u32,
    pub at_ms: u64,
}

impl Heartbeat {
    pub fn country(&self) -> &'static str {
        COUNTRIES[self.user as usize % COUNTRIES.len()]
    }

    pub fn group(&self) -> &'static str {
        GROUPS[self.user as usize / 7 % GROUPS.len()]
    }

    pub fn ip(&self) -> String {
        let [_, a, b, c] = self.user.to_be_bytes();
        format!("10.{a}.{b}.{c}")
    }

    pub fn line(&self, body: &mut String) {
        use std::fmt::Write;
        let (country, group, at) = (self.country(), self.group(), self.at_ms as f64 / 1_000.0);
        let _ = writeln!(
            body,
            "{{\"user\":\"user:{}\",\"session\":\"session{}\",\"location\":\"web\",\"ip\":\"{}\",\"country\":\"{country}\",\"groups\":[\"{group}\"],\"at\":{at}}}",
            self.user,
            self.session,
            self.ip(),
        );
    }
}

pub fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(0)
}
