//! Connections to a server, before anything is known about it.

use std::sync::Once;

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo, RedisResult, Value};

use super::link;
use super::options::Options;
use super::url::{Address, Node};
use crate::{Error, Result};

/// How long a silent connection may stay unproven.
const KEEPALIVE: std::time::Duration = std::time::Duration::from_secs(15);

/// Prepares connections to a database of a server; opens none.
pub(super) fn open(address: &Address, node: &Node, database: u32, options: &Options) -> Result<Client> {
    build(address, node, database, options).map_err(|error| Error::Unavailable(format!("{node}: {error}")))
}

fn build(address: &Address, node: &Node, database: u32, options: &Options) -> RedisResult<Client> {
    let mut settings = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(i64::from(database));
    if let Some(user) = &address.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &address.password {
        settings = settings.set_password(password);
    }
    let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(TcpKeepalive::new().with_time(KEEPALIVE));
    let (host, port) = (node.host.clone(), node.port);
    let at = if address.tls {
        choose_cryptography();
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
    } else {
        ConnectionAddr::Tcp(host, port)
    };
    let info = at.into_connection_info()?.set_redis_settings(settings).set_tcp_settings(tcp);
    match &options.root_certificate_pem {
        Some(pem) if address.tls => {
            let root_cert = Some(pem.clone().into_bytes());
            Client::build_with_tls(info, redis::TlsCertificates { client_tls: None, root_cert })
        }
        _ => Client::open(info),
    }
}

/// How many databases a server has, given that it does not have this one. `CONFIG GET databases` would tell, but
/// hosted servers forbid it, so the last one is searched for.
pub(super) async fn count_databases(
    address: &Address,
    node: &Node,
    missing: u32,
    options: &Options,
) -> RedisResult<u32> {
    let (mut connection, _) = link::connect(&build(address, node, 0, options)?, options, |_| ()).await?;
    let (mut there, mut missing) = (0, missing);
    while there + 1 < missing {
        let middle = there + (missing - there) / 2;
        match connection.send_packed_command(redis::cmd("SELECT").arg(middle)).await? {
            Value::ServerError(_) => missing = middle,
            _ => there = middle,
        }
    }
    Ok(missing)
}

/// The TLS library must be told which cryptography to use, once per process; if somebody already did, theirs is good.
fn choose_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
