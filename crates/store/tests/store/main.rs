//! Every test of the store that needs a directory, a process or another store, in one binary: it links once.

mod crash;
mod damage;
mod differential;
mod disk_full;
mod dump;
mod embedded;
mod random;
mod redis;
mod redis_access;
mod redis_cluster;
mod redis_cluster_faults;
mod redis_faults;

/// The seed of this run: the one asked for, or a new one. It is printed, so that a failure can be played again.
fn seed() -> u64 {
    let seed =
        std::env::var("TICKMARK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    eprintln!("seed: {seed} (play it again with TICKMARK_SEED={seed})");
    seed
}
