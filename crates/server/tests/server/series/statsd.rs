use std::sync::Arc;
use std::time::Duration;

use tickmark_server::{Server, Statsd};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::running::{memory, open};

#[tokio::test]
async fn what_was_received_is_counted_at_the_latest_when_the_server_stops() {
    let store = memory();
    let statsd = Statsd::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = statsd.local_addr().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::new(open(), Arc::clone(&store)).with_statsd(statsd);
    let running = tokio::spawn(server.run(listener, async { drop(stopped.await) }));

    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    udp.send_to(b"hits:1|c\nhits:2|c|@0.5\nusers:max|s\nusers:max|s\nusers:hugo|s\nload:7|g\nload:+1|g\n", address)
        .await
        .unwrap();
    udp.send_to(b"rubbish\ntm:1|c|x\nhits:1|c", address).await.unwrap();
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(b"took:320|ms\ntook:80|ms\nhits:5|c|#host:a\n").await.unwrap();
    // Refused for its sort, which must not cost the others their counts.
    tcp.write_all(b"users:1|c\n").await.unwrap();
    drop(tcp);

    let expected = [("hits", 6.0), ("hits:host=a", 5.0), ("users", 2.0), ("took:count", 2.0), ("took:sum", 400.0)];
    for (series, total) in expected {
        eventually(&client, series, total).await;
    }
    eventually(&client, "load:sum", 8.0).await;
    assert_eq!(counter(&client, "tickmark_statsd_unparsed_total").await, 2);

    // Taken, but not flushed yet.
    let taken = counter(&client, "tickmark_statsd_metrics_total").await;
    udp.send_to(b"last:1|c", address).await.unwrap();
    for _ in 0..1_000 {
        if counter(&client, "tickmark_statsd_metrics_total").await > taken {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stop);
    running.await.unwrap();
    let again = crate::running::Running::start(open(), store).await;
    assert_eq!(again.client().total("last", "").await, 1);
}

async fn counter(client: &Client, name: &str) -> u64 {
    let metrics = client.get("/metrics").await.text;
    metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
}

async fn eventually(client: &Client, series: &str, total: f64) {
    for _ in 0..100 {
        let answer = client.get(&format!("/v1/series/{series}/total")).await;
        if answer.status == 200 && answer.json()["total"] == total {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{series} never came to {total}: {:?}", client.get(&format!("/v1/series/{series}/total")).await);
}
