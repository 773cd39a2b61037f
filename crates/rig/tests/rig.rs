//! The rig itself: servers come up, go down, come back, and end with their handles.

use std::time::Instant;

use tickmark_rig::{Answer, Cluster, Fsync, Redis, Settings};

#[test]
fn a_server_keeps_its_port_and_its_append_only_file() {
    let settings = Settings { append_only: Some(Fsync::Always), ..Settings::default() };
    let mut redis = Redis::start_with(&settings).unwrap();
    redis.command(&["SET", "a", "1"]).unwrap();
    let port = redis.port();
    redis.kill().unwrap();
    assert!(redis.command(&["PING"]).is_err());
    redis.restart().unwrap();
    assert_eq!(redis.port(), port);
    assert_eq!(redis.command(&["GET", "a"]).unwrap(), Answer::Text("1".to_owned()));
    redis.stop().unwrap();
    assert!(redis.command(&["PING"]).is_err());
}

#[test]
fn a_dropped_server_is_gone() {
    let redis = Redis::start().unwrap();
    let port = redis.port();
    drop(redis);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn six_servers_make_a_cluster() {
    let start = Instant::now();
    let cluster = Cluster::start().unwrap();
    println!("a Cluster in {:?}", start.elapsed());
    let masters: std::collections::HashSet<_> =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|key| cluster.master_of(key).unwrap()).into();
    assert_eq!(masters.len(), 3);
}
