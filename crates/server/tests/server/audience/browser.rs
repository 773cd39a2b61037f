//! The script for pages, in a real browser.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tickmark_engine::accounts::Limits;
use tickmark_server::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::client::Client;
use crate::running::{Running, memory, open};

const PATIENCE: Duration = Duration::from_mins(1);

/// Another site, with one page, until the test ends.
async fn site(page: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _ =
                stream.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len()).as_bytes()).await;
        }
    });
    port
}

fn is_installed() -> bool {
    let is_there = Command::new("chromium").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there.is_ok_and(|status| status.success())
}

/// A browser that shows a page, until it is dropped.
struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn show(port: u16) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("http://127.0.0.1:{port}/"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, _profile: profile }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn until_seen(reader: &Client, session: &str, user: &str) -> Value {
    let start = Instant::now();
    loop {
        let answer = reader.get(&format!("/v1/audience/expo/sessions/{session}/viewers/{user}")).await;
        if answer.status == 200 {
            return answer.json();
        }
        assert!(start.elapsed() < PATIENCE, "no heartbeat of {user} in {session}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_view_is_someone_watching() {
    if !is_installed() {
        eprintln!("not tested: there is no chromium");
        return;
    }
    let mut settings = open();
    settings.cors_origins = vec!["*".into()];
    let server = Running::start(settings, memory()).await;
    let token = server.token(0, "heartbeat", None, Limits::default()).await;
    let reader = server.bearer(0, "read").await;
    let script = |user: &str| {
        format!(
            "<script src=\"http://{}/heartbeat.js\" data-event=expo data-user={user} data-session=keynote \
             data-token={token} data-groups=staff,press></script>",
            server.address
        )
    };
    // Half a minute is half a second here.
    let hasty = "<script>const slow = setInterval; window.setInterval = (then, ms) => slow(then, ms / 60);</script>";
    // In view from the start; says where it is for each heartbeat; and is left after a while.
    let page = format!(
        "<!doctype html><body>{hasty}{}<script>const heartbeat = document.querySelector('[data-event]').dataset;\
         setTimeout(() => heartbeat.session = 'later', 300);\
         setTimeout(() => {{ heartbeat.session = 'left'; location = 'about:blank'; }}, 3000);</script>",
        script("u1")
    );
    let browser = Browser::show(site(page).await);
    // The first at once, the next after half a minute, the last on leaving.
    for session in ["keynote", "later", "left"] {
        assert_eq!(until_seen(&reader, session, "u1").await["groups"], json!(["press", "staff"]));
    }
    drop(browser);
    let sender = server.client().with_token(&token);
    assert_eq!(sender.get("/v1/audience/expo/viewers/active").await.status, 403, "a heartbeat token reads");
    assert_eq!(sender.delete("/v1/audience/expo").await.status, 403, "a heartbeat token deletes");

    // Out of view nothing is sent; someone else on the same page says when there was time for it.
    let hidden = "<script>Object.defineProperty(document, 'visibilityState', { get: () => window.shown ? 'visible' : 'hidden' });</script>";
    let shown = "<script>setTimeout(() => { window.shown = true; }, 2000);</script>";
    let then = format!(
        "<script>setTimeout(() => document.body.append(document.createRange().createContextualFragment(`{}`)), 2500);</script>",
        script("u3").replace("</script>", "<\\/script>")
    );
    let page = format!("<!doctype html><body>{hasty}{hidden}{}{shown}{then}", script("u2"));
    let _browser = Browser::show(site(page).await);
    until_seen(&reader, "keynote", "u3").await;
    assert_eq!(reader.get("/v1/audience/expo/viewers/u2").await.status, 404);
}

#[tokio::test]
async fn plain_text_takes_a_token_beside_it() {
    let server = Running::start(Settings::default(), memory()).await;
    let send = async |query: &str, content_type: &str| {
        let request = server.client().request("POST", &format!("/v1/audience/expo/heartbeats{query}"));
        crate::client::send(request.header("content-type", content_type).body("{\"user\":\"u\"}")).await
    };
    let token = server.token(0, "heartbeat", None, Limits::default()).await;
    assert_eq!(send(&format!("?access_token={token}"), "text/plain;charset=UTF-8").await.status, 200);
    assert_eq!(send("?access_token=tm_nonsense", "text/plain").await.status, 401);
    assert_eq!(send("", "application/json").await.status, 401);
    let everyone = Running::open().await;
    let open = everyone.client().request("POST", "/v1/audience/expo/heartbeats");
    let plain = crate::client::send(open.header("content-type", "text/plain").body("{\"user\":\"u\"}")).await;
    assert_eq!(plain.problem(), "unsupported_media_type");
    let reader = server.token(0, "read", None, Limits::default()).await;
    assert_eq!(send(&format!("?access_token={reader}"), "text/plain").await.status, 403);
    let beside = server.client().get(&format!("/v1/audience?access_token={reader}")).await;
    assert_eq!(beside.status, 401, "only heartbeats take a token in the query");
}
