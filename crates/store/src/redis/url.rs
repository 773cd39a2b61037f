//! Where a Redis is, and who we are to it.
//!
//! `redis://user:password@host:6379`, `rediss://…` with TLS, `redis+cluster://h1:p1,h2:p2` and `rediss+cluster://…`.
//! There is no database in a URL, because the account chooses it. A password never leaves this file but to the
//! connection: errors and debug output show the URL without it.

use std::fmt;

use crate::{Error, Result};

const DEFAULT_PORT: u16 = 6379;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    Cluster,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) shape: Shape,
    pub(super) tls: bool,
    /// One for a single Redis; for a Cluster, those to ask first.
    pub(super) nodes: Vec<Node>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self> {
        Self::parse_parts(url).map_err(|why| Error::BadUrl { url: without_password(url), why })
    }

    fn parse_parts(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it has no scheme, such as redis://")?;
        let (shape, tls) = match scheme {
            "redis" => (Shape::Single, false),
            "rediss" => (Shape::Single, true),
            "redis+cluster" => (Shape::Cluster, false),
            "rediss+cluster" => (Shape::Cluster, true),
            _ => return Err("the schemes are redis, rediss, redis+cluster and rediss+cluster".to_owned()),
        };
        let end = rest.rfind('@').map_or(0, |at| at + 1);
        let end = rest[end..].find(['/', '?', '#']).map_or(rest.len(), |slash| end + slash);
        let (authority, path) = rest.split_at(end);
        if !matches!(path, "" | "/" | "/0") {
            return Err(
                "a database or option after the host is not allowed: the account chooses the database".to_owned()
            );
        }
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let (user, password) = match credentials.map(|text| text.split_once(':').unwrap_or((text, ""))) {
            Some((user, password)) => (decode(user)?, decode(password)?),
            None => (String::new(), String::new()),
        };
        if password.is_empty() && !user.is_empty() {
            return Err("there is a user but no password".to_owned());
        }
        let nodes = hosts.split(',').map(parse_node).collect::<Result<Vec<_>, _>>()?;
        if shape == Shape::Single && nodes.len() > 1 {
            return Err("several hosts need redis+cluster:// or rediss+cluster://".to_owned());
        }
        let some = |text: String| (!text.is_empty()).then_some(text);
        Ok(Self { shape, tls, nodes, user: some(user), password: some(password) })
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, tls, nodes, user, password: _ } = self;
        f.debug_struct("Address")
            .field("shape", shape)
            .field("tls", tls)
            .field("nodes", nodes)
            .field("user", user)
            .finish_non_exhaustive()
    }
}

/// Everything between the scheme and the last `@` is taken for a secret, and so is a port that is none, so that a
/// mistyped URL gives nothing away.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let hosts = match rest.rsplit_once('@') {
        Some((_, hosts)) => format!("…@{hosts}"),
        None if rest.split([',', '/']).all(|host| parse_node(host).is_ok()) => rest.to_owned(),
        None => "…".to_owned(),
    };
    format!("{scheme}://{hosts}")
}

fn parse_node(text: &str) -> Result<Node, String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(v6) => v6.split_once(']').ok_or("an IPv6 address has no closing bracket")?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    if host.is_empty() {
        return Err("a host is missing".to_owned());
    }
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().map_err(|_| "what follows a host's colon is not a port")?,
        None if port.is_empty() => DEFAULT_PORT,
        None => return Err("a host is followed by something that is not a port".to_owned()),
    };
    Ok(Node { host: host.to_owned(), port })
}

/// Undoes `%40` and the like.
fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
            let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
            bytes.push(code.ok_or("a % in the user or password is not followed by two hexadecimal digits")?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| "the user or password is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(url: &str) -> Vec<String> {
        Address::parse(url).unwrap().nodes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn hosts_and_ports() {
        assert_eq!(nodes("redis://example"), ["example:6379"]);
        assert_eq!(nodes("redis://example:7000/"), ["example:7000"]);
        assert_eq!(nodes("rediss://[::1]:7000/0"), ["::1:7000"]);
        assert_eq!(nodes("redis+cluster://a:1,b:2,c"), ["a:1", "b:2", "c:6379"]);
    }

    #[test]
    fn users_and_passwords() {
        for (url, user, password) in [
            ("redis://h", None, None),
            ("redis://:p%40ss@h", None, Some("p@ss")),
            ("redis://ann:p:q@h", Some("ann"), Some("p:q")),
            ("rediss+cluster://ann:a@b/c@h:1,i:2", Some("ann"), Some("a@b/c")),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.user.as_deref(), address.password.as_deref()), (user, password), "{url}");
            assert!(!format!("{address:?}").contains(password.unwrap_or("never")));
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for url in [
            "redis:/ann:hunter2@h",
            "http://ann:hunter2@h",
            "redis://ann:hunter2@h/3",
            "redis://ann:hunter2@h?db=3",
            "redis://ann:hunter2@h:port",
            "redis://ann:hunter2@a,b",
            "redis://ann:hunter2@",
            "redis://ann:hunter2%zz@h",
            "redis://[::1",
            "redis://ann@h",
            "redis://ann:hunter2",
            "redis://:hunter2",
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(matches!(error, Error::BadUrl { .. }), "{url}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
