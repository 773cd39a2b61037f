use super::stores::{dump, on_each};
use crate::client::{Answer, Client, send};
use crate::running::Running;

async fn write(client: &Client, path: &str, body: &str) -> Answer {
    send(client.request("POST", path).body(body.to_owned())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_count_in_the_series_they_name() {
    on_each(async |server| {
        let client = server.client();
        let body = "ev,s=item1 n=3 1700000000000000000\nev,s=item1 n=2i,m=0.5 1700000001000000000\n";
        let answer = write(&client, "/write?db=x&rp=y", body).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""), "{answer:?}");
        let answer = write(&client, "/api/v2/write?bucket=b&org=o&precision=s", "ev,s=item1 n=1 1700000000").await;
        assert_eq!(answer.status, 204, "{answer:?}");
        let (from, to) = (1_700_000_000, 1_700_000_001);
        assert_eq!(client.values("ev:s=item1:n", "1sec", from, to).await, [4.0, 2.0]);
        assert_eq!(client.values("ev:s=item1:m", "1sec", from, to).await, [0.0, 0.5]);
    })
    .await;
}

#[tokio::test]
async fn a_bad_line_is_named_and_nothing_is_counted() {
    let server = Running::open().await;
    let client = server.client();
    client.count("plays:u", "{\"at\":1,\"member\":\"max\"}").await;
    let before = dump(&server.store).await;
    for (body, status, word, line) in [
        ("ev n=1 1\nev n 1\n", 400, "malformed_line", 2),
        ("ev n=1 1\nev n=99999999999999999999i 1", 422, "overflow", 2),
        ("ev n=1 1\nev,t={x} n=1 1", 422, "bad_name", 2),
        ("ev n=1 1\n\njobs,t=x n=1 1", 422, "bad_name", 3),
        ("ev n=1 1\nplays u=1 1", 422, "missing_member", 2),
    ] {
        let answer = write(&client, "/write?precision=s", body).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{body:?}");
        assert_eq!(answer.json()["line"], line, "{body:?}");
    }
    assert_eq!(write(&client, "/write?precision=h", "").await.problem(), "bad_parameter");
    assert_eq!(dump(&server.store).await, before);
}

#[tokio::test]
async fn tokens_as_clients_of_the_protocol_send_them() {
    let server = Running::open().await;
    let token = server.token(0, "write", None, tickmark_engine::accounts::Limits::default()).await;
    for (header, status) in [(format!("Token {token}"), 204), (format!("Bearer {token}"), 204), ("Token x".into(), 401)]
    {
        let request = server.client().request("POST", "/api/v2/write").header("authorization", &header);
        assert_eq!(send(request.body("ev n=1")).await.status, status, "{header}");
    }
}

#[tokio::test]
async fn sent_twice_under_one_key_counts_once() {
    let server = Running::open().await;
    let client = server.client();
    for replayed in ["", "true"] {
        let request = client.request("POST", "/write?precision=s").header("idempotency-key", "k");
        let answer = send(request.body("a n=1 1\nb n=1 1")).await;
        assert_eq!((answer.status.as_u16(), answer.header("idempotency-replayed")), (204, replayed));
    }
    assert_eq!(client.values("a:n", "1sec", 1, 1).await, [1.0]);
}
