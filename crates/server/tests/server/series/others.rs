//! Programs of others, as they are: what they wrote is read here, and what is written here they read.

use std::path::PathBuf;
use std::process::{Command, Output};

use tickmark_engine::accounts::Limits;
use tickmark_rig::Redis;

use crate::running::{Running, open, redis};

/// Where `cargo xtask test` installs clients.
fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("clients")
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

async fn output(mut command: Command) -> String {
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let Output { status, stdout, stderr } = ran;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_javascript_this_layout_comes_from_reads_and_writes_the_same() {
    if !clients().join("node_modules/redis").is_dir() {
        eprintln!(
            "skipped: there is no npm client of Redis in {}; `cargo xtask test` installs it",
            clients().display()
        );
        return;
    }
    let store = Redis::start().unwrap();
    let server = Running::start(open(), redis(&store.url()).await).await;
    let client = server.client();
    let node = |verb: &str, sort: &str, name: &str| {
        let mut command = Command::new("node");
        command.arg(script("seed.js")).args([&store.port().to_string(), verb, sort, name]).env("CLIENTS", clients());
        output(command)
    };
    let counts = "{\"at\":0}\n{\"at\":1}\n{\"at\":1}\n{\"at\":3}\n{\"at\":61}\n";
    let members = "{\"at\":0,\"member\":\"user:max\"}\n{\"at\":1,\"member\":\"user:hugo\"}\n\
        {\"at\":1,\"member\":\"user:renata\"}\n{\"at\":3,\"member\":\"user:hugo\"}\n{\"at\":61,\"member\":\"user:kc\"}\n";
    for (sort, declaration, events, minutes) in [
        ("hash", "{}", counts, "[4,1,0]"),
        ("string", "{\"layout\":\"string\"}", counts, "[4,1,0]"),
        ("sorted-set", "{\"kind\":\"unique\"}", members, "[3,1,0]"),
        ("hyperloglog", "{\"kind\":\"unique_approx\"}", members, "[3,1,0]"),
    ] {
        let (ours, theirs) = (format!("ours:{sort}"), format!("theirs:{sort}"));
        client.put(&format!("/v1/series/{ours}"), declaration).await;
        client.count(&ours, events).await;
        assert_eq!(node("fetch", sort, &ours).await.trim(), format!("[[1,2,0,1,0],{minutes}]"), "{sort}");

        node("insert", sort, &theirs).await;
        client.put(&format!("/v1/series/{theirs}"), declaration).await;
        assert_eq!(client.values(&theirs, "1sec", 0, 4).await, [1.0, 2.0, 0.0, 1.0, 0.0], "{sort}");
        let read: Vec<_> = client.values(&theirs, "1min", 0, 120).await;
        assert_eq!(format!("{read:?}").replace([' '], "").replace(".0", ""), minutes, "{sort}");
        // Both go on counting in the same keys.
        client.count(&theirs, events).await;
        node("insert", sort, &ours).await;
        assert_eq!(node("fetch", sort, &ours).await, node("fetch", sort, &theirs).await, "{sort}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_influxdb_writes_what_it_means() {
    let python = clients().join("python/bin/python");
    if !python.is_file() {
        eprintln!("skipped: there is no client of InfluxDB in {}; `cargo xtask test` installs it", clients().display());
        return;
    }
    let server = Running::open().await;
    let token = server.token(0, "read,write", None, Limits::default()).await;
    let mut command = Command::new(python);
    command.arg(script("influx.py")).args([&format!("http://{}", server.address), &token]);
    output(command).await;
    let client = server.client().with_token(&token);
    let at = 1_700_000_000;
    for (series, from, expected) in [
        ("ev:s=item1:n", at, 10.0),
        ("ev:s=item1:x", at, 0.5),
        ("my%20ev:a%20b=c,d=e:yes", at + 1, 1.0),
        ("my%20ev:a%20b=c,d=e:no", at + 1, 0.0),
        ("my%20ev:a%20b=c,d=e:text", at + 1, 1.0),
    ] {
        assert_eq!(client.values(series, "1sec", from, from).await, [expected], "{series}");
    }
    assert_eq!(client.total("now:n", "").await, 1);
    assert_eq!(client.total("many:n", "from=0&to=999").await, 1_000);
}
