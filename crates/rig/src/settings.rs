//! What a server is started with.

use std::path::Path;

/// When Redis syncs its append-only file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    Always,
    EverySecond,
    Never,
}

/// The default is the fastest server: nothing kept, nobody asked for a password.
#[derive(Clone, Debug)]
pub struct Settings {
    pub append_only: Option<Fsync>,
    pub databases: u32,
    /// Of the user `default`.
    pub password: Option<String>,
    /// Lines for the ACL, such as `user ann on >secret ~* &* +@all`.
    pub users: Vec<String>,
    /// Listens for TLS on a port of its own, beside the plain one.
    pub tls: bool,
    /// More lines of `redis.conf`.
    pub more: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { append_only: None, databases: 16, password: None, users: Vec::new(), tls: false, more: Vec::new() }
    }
}

/// The ports of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    pub(crate) bus: u16,
}

impl Settings {
    /// The text of `redis.conf`.
    pub(crate) fn config(&self, directory: &Path, ports: Ports) -> String {
        let mut lines = vec![
            "bind 127.0.0.1".to_owned(),
            "protected-mode yes".to_owned(),
            "daemonize no".to_owned(),
            "enable-debug-command local".to_owned(),
            "save \"\"".to_owned(),
            format!("port {}", ports.plain),
            format!("cluster-port {}", ports.bus),
            format!("databases {}", self.databases),
            format!("dir \"{}\"", directory.display()),
        ];
        if let Some(fsync) = self.append_only {
            let policy = match fsync {
                Fsync::Always => "always",
                Fsync::EverySecond => "everysec",
                Fsync::Never => "no",
            };
            lines.push("appendonly yes".to_owned());
            lines.push(format!("appendfsync {policy}"));
        }
        if let Some(password) = &self.password {
            lines.push(format!("requirepass \"{password}\""));
        }
        if self.tls {
            lines.push(format!("tls-port {}", ports.tls));
            lines.push(format!("tls-cert-file \"{}\"", directory.join("cert.pem").display()));
            lines.push(format!("tls-key-file \"{}\"", directory.join("key.pem").display()));
            lines.push(format!("tls-ca-cert-file \"{}\"", directory.join("cert.pem").display()));
            lines.push("tls-auth-clients no".to_owned());
        }
        lines.extend(self.users.iter().cloned());
        lines.extend(self.more.iter().cloned());
        lines.join("\n") + "\n"
    }
}
