//! Timing something, and saying what came of it.

use std::time::{Duration, Instant};

/// Runs something a few times and keeps the median, because the machine is shared and the first time is cold.
pub fn median_of(times: usize, mut run: impl FnMut() -> Duration) -> Duration {
    median((0..times).map(|_| run()).collect())
}

pub fn median(mut measured: Vec<Duration>) -> Duration {
    measured.sort();
    measured[measured.len() / 2]
}

pub fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed(), result)
}

pub fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

pub fn line(what: &str, count: usize, took: Duration) {
    println!("  {what:52} {:>12} a second", grouped(rate(count, took)));
}

/// How many times as fast as the other.
pub fn ratio(what: &str, ours: Duration, theirs: Duration) {
    println!("  {what:52} {:>12.1} times", theirs.as_secs_f64() / ours.as_secs_f64());
}

/// Memory this process holds now, in bytes.
pub fn resident_bytes() -> usize {
    resident_bytes_of("self")
}

pub fn resident_bytes_of(process: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) * 1_024
}

/// Bytes that a directory takes on disk, holes not counted.
pub fn disk_bytes(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
