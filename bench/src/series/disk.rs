//! A day of one event a second in each of twenty series: what the directory grows by.

use std::fmt::Write;

use super::{START, post};
use crate::measure::disk_bytes;
use crate::program::Program;

const SERIES: u64 = 20;
const DAY: u64 = 86_400;

pub fn run() {
    let directory = crate::store::directory();
    let path = directory.path().join("store");
    Program::serve(&path, &[]).stop();
    let before = disk_bytes(&path);
    let program = Program::serve(&path, &[]);
    for hour in 0..24 {
        let mut body = String::new();
        for at in START + hour * DAY / 24..START + (hour + 1) * DAY / 24 {
            for series in 0..SERIES {
                let _ = writeln!(body, "day,s=item{series} n=1 {at}");
            }
        }
        post(&program.url("/write?precision=s"), "text/plain", body.as_bytes());
    }
    program.stop();
    let grown = disk_bytes(&path).saturating_sub(before);
    println!("  {:52} {:>12} bytes", "growth on disk a series, after a clean stop", grown / SERIES);
}
