//! How patient to be with a Redis, and how much to ask of it at once.

use std::time::Duration;

/// The defaults suit a Redis in the same data centre.
#[derive(Clone, Debug)]
pub struct Options {
    /// The longest one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The longest a server may take to answer a request. A commit that is not answered by then has an unknown fate.
    pub response_timeout: Duration,
    /// The longest a call waits, all in all, for what will come back by itself: a connection, a failover, a script that
    /// keeps Redis busy, its turn among `in_flight_max` requests. Then it answers [`crate::Error::Unavailable`].
    pub patience: Duration,
    /// Requests on one connection that were sent and not yet answered. More wait their turn.
    pub in_flight_max: usize,
    /// A certificate to trust instead of the system's, in PEM, for a Redis with a private authority.
    pub root_certificate_pem: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            in_flight_max: 1_024,
            root_certificate_pem: None,
        }
    }
}
