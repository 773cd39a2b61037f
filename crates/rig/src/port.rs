//! Ports that are free right now.
//!
//! Nothing keeps another process from taking one before the server has it; whoever starts a server on such a port
//! tries again with another when it does not come up.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// As many free ports as asked for, all different: they are held until the last is found.
pub(crate) fn free<const N: usize>() -> io::Result<[u16; N]> {
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
