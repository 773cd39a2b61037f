//! Where packets come from. A packet is whole lines.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::flag::raised;

/// No datagram is longer.
const PACKET_BYTES_MAX: usize = 65_536;
/// A TCP line may be as long; a client that sends a longer one is cut off.
const LINE_BYTES_MAX: u64 = 8_192;
/// TCP clients at once. More wait to be accepted.
const CONNECTIONS_MAX: usize = 1_000;

pub(super) async fn receive(socket: UdpSocket, packets: mpsc::Sender<Bytes>, mut stopped: watch::Receiver<bool>) {
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    loop {
        tokio::select! {
            received = socket.recv_from(&mut buffer) => {
                let Ok((len, _)) = received else { continue };
                if packets.try_send(Bytes::copy_from_slice(&buffer[..len])).is_err() {
                    metrics::counter!("tickmark_statsd_dropped_packets_total").increment(1);
                }
            }
            () = raised(&mut stopped) => return,
        }
    }
}

pub(super) async fn accept(listener: TcpListener, packets: mpsc::Sender<Bytes>, mut stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        tokio::select! {
            (accepted, place) = async { let place = place.await; (listener.accept().await, place) } => {
                if let (Ok((stream, _)), Ok(place)) = (accepted, place) {
                    let (packets, stopped) = (packets.clone(), stopped.clone());
                    tokio::spawn(async move {
                        lines(stream, packets, stopped).await;
                        drop(place);
                    });
                }
            }
            () = raised(&mut stopped) => return,
        }
    }
}

async fn lines(stream: TcpStream, packets: mpsc::Sender<Bytes>, mut stopped: watch::Receiver<bool>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LINE_BYTES_MAX);
        tokio::select! {
            read = limited.read_until(b'\n', &mut line) => {
                let is_cut = line.len() as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n');
                if is_cut {
                    metrics::counter!("tickmark_statsd_unparsed_total").increment(1);
                }
                if is_cut || !read.is_ok_and(|len| len > 0) || packets.send(line.into()).await.is_err() {
                    return;
                }
            }
            () = raised(&mut stopped) => return,
        }
    }
}
