//! The program as a user runs it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn tickmark(folder: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickmark"));
    command.args(arguments).current_dir(folder).env_clear();
    command
}

fn run(folder: &std::path::Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = tickmark(folder, arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A server, killed with the test.
struct Serving {
    child: Child,
    address: String,
    said: String,
}

impl Serving {
    fn start(folder: &std::path::Path, arguments: &[&str]) -> Self {
        let mut command = tickmark(folder, &["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
        while !said.contains("access") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "it ended after saying {said:?}");
        }
        let address = said.lines().find_map(|line| line.strip_prefix("listening on  ")).unwrap().to_owned();
        Self { child, address, said }
    }

    fn get(&self, path: &str) -> u16 {
        let url = format!("{}{path}", self.address);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { reqwest::get(url).await.unwrap().status().as_u16() })
    }

    /// Ends it as a service manager would, and returns its exit code and how long it took.
    fn terminate(mut self) -> (Option<i32>, Duration) {
        let started = Instant::now();
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        (self.child.wait().unwrap().code(), started.elapsed())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serves_says_where_and_stops_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::start(folder.path(), &["--store", "data", "--durability", "interval"]);
    for said in
        ["listening on  http://127.0.0.1:", "store         data", "durability    interval", "access        open"]
    {
        assert!(server.said.contains(said), "{said:?} is not in {:?}", server.said);
    }
    assert_eq!((server.get("/health"), server.get("/ready")), (200, 200));
    let (code, took) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn tokens_live_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (code, made, _) = run(folder.path(), &["token", "create", "--name", "me", "--scopes", "admin", "--json"]);
    assert_eq!(code, 0);
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let server = Serving::start(folder.path(), &[]);
    assert_eq!(server.get("/v1/tokens"), 401);
    let (code, _, why) = run(folder.path(), &["token", "list"]);
    assert!(code == 1 && why.contains("in use by another process"), "{code} {why}");
    assert_eq!(server.terminate().0, Some(0));
    let id = made["id"].as_str().unwrap();
    let (_, listed, _) = run(folder.path(), &["token", "list"]);
    assert!(listed.contains(id) && !listed.contains("tm_"), "{listed}");
    assert_eq!(run(folder.path(), &["token", "revoke", id]).1, format!("revoked {id}\n"));
    assert_eq!(run(folder.path(), &["token", "revoke", id]).0, 1);
    assert_eq!(run(folder.path(), &["token", "list", "--json"]).1, "[]\n");
}

#[test]
fn runs_on_redis() {
    let folder = tempfile::tempdir().unwrap();
    let redis = tickmark_rig::Redis::start().unwrap();
    let url = redis.url();
    let server = Serving::start(folder.path(), &["--store", &url]);
    assert!(server.said.contains("durability    as Redis is configured"), "{}", server.said);
    assert_eq!((server.get("/ready"), server.get("/v1/tokens")), (200, 200));
    let (code, _, why) = run(folder.path(), &["token", "create", "--name", "me", "--store", &url]);
    assert_eq!(code, 0, "{why}");
    // An open server looks for tokens that others made once a second.
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.get("/v1/tokens") == 200 {
        assert!(Instant::now() < deadline, "still open");
    }
    assert_eq!(server.get("/v1/tokens"), 401);
    assert_eq!(server.terminate().0, Some(0));
    let (code, _, why) = run(folder.path(), &["serve", "--store", "redis://user:hunter2@127.0.0.1:1"]);
    assert!(code == 1 && why.contains("redis://127.0.0.1:1") && !why.contains("hunter2"), "{code} {why}");
}

#[test]
fn beyond_loopback_takes_access_control() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, why) = run(folder.path(), &["serve", "--listen", "0.0.0.0:0", "--store", "memory:"]);
    assert_eq!(code, 1);
    for way_out in ["tickmark token create", "--jwt-keys", "127.0.0.1", "--insecure"] {
        assert!(why.contains(way_out), "{why}");
    }
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&["serve", "--durability", "never"][..], "always, interval, os"),
        (&["serve", "--store", "http://x"], "redis+cluster://"),
        (&["serve", "--jwt-keys", "x"], "--jwt-issuer"),
        (&["serve", "--log", "loud=very"], "allowed are"),
        (&["serve", "--listen", "localhost:7700"], "127.0.0.1:7700"),
        (&["serv"], "serve"),
        (&["serve", "--config", "missing.toml"], "missing.toml"),
    ] {
        let (code, _, why) = run(folder.path(), arguments);
        assert!(code == 2 && why.contains(said), "{arguments:?}: {code} {why}");
    }
    let mut command = tickmark(folder.path(), &["serve"]);
    let output = command.env("TICKMARK_LISTN", "x").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn help_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let (code, help, _) = run(folder.path(), &["serve", "--help"]);
    assert_eq!(code, 0);
    for word in ["--store", "TICKMARK_STORE", "--durability", "default: 256MiB", "memory:"] {
        assert!(help.contains(word), "{word} is not in {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let mut script = String::new();
        let mut child = tickmark(folder.path(), &["completions", shell]).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_to_string(&mut script).unwrap();
        assert!(child.wait().unwrap().success() && script.contains("durability"), "{shell}");
    }
}

#[test]
fn logs_have_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tickmark(folder.path(), &["serve", "--listen=127.0.0.1:0", "--store=memory:", "--log=trace"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    let url = format!("{}/v1/updates/repo?access_token=hunter3", said.strip_prefix("listening on").unwrap().trim());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let status = runtime.block_on(async {
        let request = reqwest::Client::new().post(url).header("idempotency-key", "hunter4");
        request.bearer_auth("tm_hunter2").body("hunter5").send().await.unwrap().status()
    });
    assert_eq!(status, 401);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let logs = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    let request = logs.lines().find(|line| line.contains("/v1/updates/repo")).unwrap_or_else(|| panic!("{logs}"));
    let request: serde_json::Value = serde_json::from_str(request).unwrap();
    assert_eq!((&request["status"], &request["refusal"]), (&401.into(), &"unauthenticated".into()));
    assert!(!logs.contains("hunter"), "{logs}");
}
