use std::time::Duration;

use tickmark_server::Bounds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::running::{Running, memory, open};

async fn with_bounds(bounds: Bounds) -> Running {
    let mut settings = open();
    settings.bounds = bounds;
    Running::start(settings, memory()).await
}

#[tokio::test]
async fn a_flood_of_headers_is_431() {
    let server = Running::open().await;
    for flood in ["x: y\r\n".repeat(200), format!("x: {}\r\n", "y".repeat(200_000))] {
        let answer = server.client().raw(format!("GET /health HTTP/1.1\r\nhost: x\r\n{flood}\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_400() {
    let server = Running::open().await;
    let answer = server.client().raw(b"\x16\x03\x01\x02\x00 hello\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
}

#[tokio::test]
async fn headers_that_never_end_are_408() {
    let server = with_bounds(Bounds { headers_wait: Duration::from_millis(200), ..Bounds::default() }).await;
    let answer = server.client().raw(b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"slow_headers\""), "{answer:?}");
}

/// An answer that nobody asked for would be taken for the answer to the next request.
#[tokio::test]
async fn an_idle_connection_is_closed_without_a_word() {
    let server = with_bounds(Bounds { headers_wait: Duration::from_millis(200), ..Bounds::default() }).await;
    let silent = server.client().raw(b"").await;
    assert_eq!(silent, "");
    let answered = server.client().raw(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answered.starts_with("HTTP/1.1 200 ") && answered.ends_with("{\"status\":\"alive\"}"), "{answered:?}");
}

#[tokio::test]
async fn a_body_that_drips_is_408() {
    let server = with_bounds(Bounds { body_wait: Duration::from_millis(200), ..Bounds::default() }).await;
    let head =
        b"POST /v1/tokens HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let answer = server.client().raw(head).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"slow_body\""), "{answer:?}");
}

#[tokio::test]
async fn a_body_that_stops_early_hurts_nobody() {
    let server = Running::open().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"POST /v1/updates/x HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
    drop(stream);
    assert_eq!(server.client().get("/health").await.status, 200);
}

#[tokio::test]
async fn beyond_the_limit_requests_are_refused_at_once_and_health_is_not() {
    let server = with_bounds(Bounds { requests_max: 1, ..Bounds::default() }).await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(b"POST /v1/updates/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{").await.unwrap();
    let mut refused = server.client().get("/v1/tokens").await;
    // Until the slow request has arrived.
    for _ in 0..1_000 {
        if refused.status != 200 {
            break;
        }
        refused = server.client().get("/v1/tokens").await;
    }
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(server.client().get("/health").await.status, 200);
    slow.write_all(b"}").await.unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 202");
}

#[tokio::test]
async fn beyond_the_limit_connections_are_turned_away() {
    let server = with_bounds(Bounds { connections_max: 1, ..Bounds::default() }).await;
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    first.read_exact(&mut [0; 12]).await.unwrap();
    let mut turned_away = String::new();
    TcpStream::connect(server.address).await.unwrap().read_to_string(&mut turned_away).await.unwrap();
    assert!(turned_away.starts_with("HTTP/1.1 503 ") && turned_away.contains("retry-after: 1"), "{turned_away:?}");
}

#[tokio::test]
async fn stopping_finishes_what_is_in_flight() {
    let server = Running::open().await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(b"POST /v1/updates/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{").await.unwrap();
    // Answered after the slow request was accepted, so it is in flight when the server is told to stop.
    server.client().get("/health").await;
    let stopping = tokio::spawn(server.stop());
    slow.write_all(b"}").await.unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer:?}");
    stopping.await.unwrap();
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let server = with_bounds(Bounds { shutdown_wait: Duration::from_millis(100), ..Bounds::default() }).await;
    let mut stuck = TcpStream::connect(server.address).await.unwrap();
    stuck.write_all(b"POST /v1/updates/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{").await.unwrap();
    server.client().get("/health").await;
    tokio::time::timeout(Duration::from_secs(5), server.stop()).await.unwrap();
}
