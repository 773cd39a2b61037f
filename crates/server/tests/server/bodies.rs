use std::io::Write;

use reqwest::Body;
use tickmark_server::Bounds;

use crate::client::{Answer, Client, send};
use crate::process;
use crate::running::{Running, memory, open};

const TOKENS: &str = "/v1/tokens";

/// Headers, body, status, word.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);

async fn post(client: &Client, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let request = client.request("POST", TOKENS).body(body);
    send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

#[tokio::test]
async fn each_bad_body_has_its_answer() {
    let server = Running::open().await;
    let client = server.client();
    let json = ("content-type", "application/json");
    let cases: &[Case<'_>] = &[
        (&[json], b"{", 400, "malformed_json"),
        (&[json], b"", 400, "malformed_json"),
        (&[json], b"{\"name\":\"\xff\"}", 400, "invalid_utf8"),
        (&[json], b"{\"name\":7}", 422, "rule_broken"),
        (&[json], b"{\"name\":\"x\",\"scopes\":[\"root\"]}", 422, "rule_broken"),
        (&[json], b"{\"name\":\"x\",\"scopes\":[],\"more\":1}", 422, "rule_broken"),
        (&[], b"{}", 415, "unsupported_media_type"),
        (&[("content-type", "text/xml")], b"<a/>", 415, "unsupported_media_type"),
        (&[json, ("content-encoding", "br")], b"{}", 415, "unsupported_encoding"),
        (&[json, ("content-encoding", "gzip")], b"{}", 400, "bad_compression"),
        (&[json, ("content-encoding", "zstd")], b"{}", 400, "bad_compression"),
        (&[json, ("idempotency-key", "a b")], b"{}", 400, "bad_header"),
    ];
    for (headers, body, status, word) in cases {
        let answer = post(&client, headers, body.to_vec()).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (*status, *word), "{headers:?}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_read() {
    let server = Running::start(open(), memory()).await;
    let body = br#"{"name":"packed","scopes":["admin"]}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(body).unwrap();
    let headers = |encoding| [("content-type", "application/json"), ("content-encoding", encoding)];
    let first = post(&server.client(), &headers("gzip"), gzip.finish().unwrap()).await;
    assert_eq!(first.status, 201, "{first:?}");
    let admin = server.client().with_token(first.json()["token"].as_str().unwrap());
    let second = post(&admin, &headers("zstd"), zstd::encode_all(&body[..], 3).unwrap()).await;
    assert_eq!(second.status, 201, "{second:?}");
}

#[tokio::test]
async fn too_much_is_413_packed_or_not() {
    let server = Running::open().await;
    let client = server.client();
    let json = ("content-type", "application/json");
    let large = post(&client, &[json], vec![b' '; 65 * 1_024 * 1_024]).await;
    assert_eq!((large.status.as_u16(), large.problem().as_str()), (413, "body_too_large"));

    let bomb = zstd::encode_all(std::io::Read::take(std::io::repeat(b' '), 1 << 30), 1).unwrap();
    assert!(bomb.len() < 10 << 20);
    let bombed = post(&client, &[json, ("content-encoding", "zstd")], bomb).await;
    assert_eq!((bombed.status.as_u16(), bombed.problem().as_str()), (413, "body_too_large"));
    let resident_kib = process::resident_kib();
    assert!(resident_kib < 1_024 * 1_024, "{resident_kib} KiB");
}

#[tokio::test]
async fn bodies_share_one_budget() {
    let mut settings = open();
    settings.bounds = Bounds { bodies_bytes_max: 1 << 20, ..Bounds::default() };
    let server = Running::start(settings, memory()).await;
    let answer = post(&server.client(), &[("content-type", "application/json")], vec![b' '; 2 << 20]).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (503, "overloaded"));
    let small = post(&server.client(), &[("content-type", "application/json")], vec![b' '; 1 << 18]).await;
    assert_eq!(small.problem(), "malformed_json");
}
