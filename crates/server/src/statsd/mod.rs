//! StatsD, over UDP and TCP on one port, for programs that speak it already.
//!
//! | metric | becomes |
//! |---|---|
//! | `name:3|c`, `name:1|c|@0.1` | 3, or 10, in the series `name` |
//! | `name:user7|s` | the member `user7` of the series of uniques `name` |
//! | `name:320|ms` (also `h`, `d`) | 1 in `name:count` and 320 in `name:sum`, so that one divided by the other is the mean |
//! | `name:7|g`, `name:-1|g` | the value it has at each flush, as 1 in `name:count` and the value in `name:sum` |
//! | `…|#region:eu,host:a` | the series `name:region=eu:host=a` |
//!
//! Metrics are tallied as they come and counted once a second in one commit. Nobody hears of what goes wrong here, so it
//! is counted in `/metrics`.

mod aggregate;
mod metric;
mod sockets;

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{mpsc, watch};

use crate::context::Context;
use aggregate::Aggregate;

/// Packets that wait to be read. When there are more, UDP loses them and TCP waits.
const PACKETS_MAX: usize = 4_096;
/// Ports tried where any will do, because one may be free for TCP and not for UDP.
const BINDS_MAX: usize = 20;

/// Sockets, bound but not yet read.
#[derive(Debug)]
pub struct Statsd {
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Statsd {
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut failure = None;
        for _ in 0..BINDS_MAX {
            let tcp = TcpListener::bind(address).await?;
            match UdpSocket::bind(tcp.local_addr()?).await {
                Ok(udp) => return Ok(Self { udp, tcp }),
                Err(error) if address.port() == 0 => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Counts what comes until told to stop, then what has come.
    pub(crate) async fn run(self, context: Context, stopped: watch::Receiver<bool>) {
        let (packets, waiting) = mpsc::channel(PACKETS_MAX);
        let udp = tokio::spawn(sockets::receive(self.udp, packets.clone(), stopped.clone()));
        let tcp = tokio::spawn(sockets::accept(self.tcp, packets, stopped));
        Aggregate::new(context).run(waiting).await;
        udp.abort();
        tcp.abort();
    }
}
