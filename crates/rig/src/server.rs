//! One Redis server.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use crate::settings::{Ports, Settings};
use crate::wire::{self, Answer};
use crate::{port, tls, wait_until};

/// How often another port is tried when somebody took the free one first.
const STARTS_MAX: usize = 10;
const PATIENCE: Duration = Duration::from_secs(20);

/// A running (or killed, and perhaps restarted) Redis on 127.0.0.1.
#[derive(Debug)]
pub struct Redis {
    child: Option<Child>,
    ports: Ports,
    password: Option<String>,
    certificate: Option<String>,
    directory: TempDir,
}

impl Redis {
    pub fn start() -> io::Result<Self> {
        Self::start_with(&Settings::default())
    }

    pub fn start_with(settings: &Settings) -> io::Result<Self> {
        let directory = TempDir::with_prefix("tickmark-redis-")?;
        let certificate = if settings.tls { Some(tls::write_certificate(directory.path())?) } else { None };
        let [plain, tls, bus] = port::free()?;
        let password = settings.password.clone();
        let mut redis = Self { child: None, ports: Ports { plain, tls, bus }, password, certificate, directory };
        for _ in 1..STARTS_MAX {
            redis.configure(settings)?;
            if redis.run().is_ok() {
                return Ok(redis);
            }
            redis.kill()?;
            let [plain, tls, bus] = port::free()?;
            redis.ports = Ports { plain, tls, bus };
        }
        redis.configure(settings)?;
        redis.run()?;
        Ok(redis)
    }

    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// Where [`Settings::tls`] made it listen.
    pub fn tls_port(&self) -> u16 {
        self.ports.tls
    }

    /// Without a password, also where there is one.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.ports.plain)
    }

    /// The certificate to trust for TLS, in PEM.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Sends a command as an administrator would, over a connection of its own.
    pub fn command(&self, words: &[&str]) -> io::Result<Answer> {
        match &self.password {
            Some(password) => wire::ask(self.ports.plain, &[&["AUTH", password], words]),
            None => wire::ask(self.ports.plain, &[words]),
        }
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Ends the process in good order; it writes what it was told to keep.
    pub fn stop(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            // The answer to SHUTDOWN is the end of the connection.
            let _ = self.command(&["SHUTDOWN"]);
            let ended = wait_until("Redis to shut down", PATIENCE, || Ok(child.try_wait()?.is_some()));
            if ended.is_err() {
                child.kill()?;
                child.wait()?;
            }
        }
        Ok(())
    }

    /// Starts it again, on the same port and with the same files.
    pub fn restart(&mut self) -> io::Result<()> {
        self.kill()?;
        self.run()
    }

    fn configure(&self, settings: &Settings) -> io::Result<()> {
        let config = settings.config(self.directory.path(), self.ports);
        fs::write(self.directory.path().join("redis.conf"), config)
    }

    fn run(&mut self) -> io::Result<()> {
        let log = fs::File::create(self.directory.path().join("redis.log"))?;
        let child = Command::new("redis-server")
            .arg(self.directory.path().join("redis.conf"))
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| missing("redis-server", &error))?;
        self.child = Some(child);
        let mut exited = None;
        let pid = self.pid().map(|pid| format!("process_id:{pid}")).unwrap_or_default();
        let up = wait_until("Redis to answer", PATIENCE, || {
            if let Some(child) = &mut self.child {
                exited = child.try_wait()?;
            }
            // Another server may hold the port, so that an answer alone proves nothing.
            Ok(exited.is_some()
                || self.command(&["INFO", "server"])?.text().lines().any(|line| line == pid)
                    && self.command(&["PING"])?.text() == "PONG")
        });
        match exited {
            Some(status) => {
                let log = fs::read_to_string(self.directory.path().join("redis.log")).unwrap_or_default();
                Err(io::Error::other(format!("redis-server ended at once ({status}): {log}")))
            }
            None => up,
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// What to do where a program is not installed.
pub(crate) fn missing(program: &str, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "it is not installed; `cargo xtask test` installs it",
        _ => "it could not be started",
    };
    io::Error::new(error.kind(), format!("{program}: {hint} ({error})"))
}
