//! Series over HTTP, as clients meet them, beside the seed's own commands piped into Redis.

pub mod disk;
pub mod fetch;
pub mod ingest;
pub mod uniques;

/// A Saturday, at the start of an hour and of a day.
pub const START: u64 = 1_700_006_400;

/// The seed's granularities for counts: name, bucket, group, and whether it expires.
pub const COUNT_GRANULARITIES: [(&str, u64, u64, Option<u64>); 4] = [
    ("1sec", 1, 300, Some(7_200)),
    ("1min", 60, 28_800, Some(604_800)),
    ("1hour", 3_600, 864_000, Some(5_184_000)),
    ("1day", 86_400, 2_592_000, None),
];

pub const UNIQUE_GRANULARITIES: [(&str, u64, u64, Option<u64>); 4] = [
    ("1sec", 1, 120, Some(7_200)),
    ("1min", 60, 7_200, Some(604_800)),
    ("1hour", 3_600, 432_000, Some(5_184_000)),
    ("1day", 86_400, 2_592_000, None),
];

pub fn post(url: &str, content_type: &str, body: &[u8]) {
    let answer = ureq::post(url).header("content-type", content_type).send(body).expect("an answer");
    assert!(answer.status().is_success(), "{url}: {}", answer.status());
}
