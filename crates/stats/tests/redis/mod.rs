//! A real Redis to compare with: started in a temporary directory, stopped when dropped.
//!
//! It listens on a socket file instead of a port, so that nothing else can be in its place. Commands and answers are
//! written by hand, because one reader of four kinds of answer is less than a client is to depend on.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

pub(crate) struct Redis {
    process: Child,
    connection: BufReader<UnixStream>,
    _directory: TempDir,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let socket = directory.path().join("socket");
        let mut process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        for _ in 0..500 {
            if let Ok(stream) = UnixStream::connect(&socket) {
                return Self { process, connection: BufReader::new(stream), _directory: directory };
            }
            thread::sleep(Duration::from_millis(10));
        }
        process.kill().unwrap();
        process.wait().unwrap();
        panic!("redis-server did not start within five seconds");
    }

    /// An answer that is a number.
    pub(crate) fn number(&mut self, command: &[&[u8]]) -> u64 {
        self.call(command);
        let line = self.line();
        line.strip_prefix(':').unwrap_or_else(|| panic!("answered {line}")).parse().unwrap()
    }

    /// An answer that is a string, short or long.
    pub(crate) fn bytes(&mut self, command: &[&[u8]]) -> Vec<u8> {
        self.call(command);
        let line = self.line();
        if let Some(short) = line.strip_prefix('+') {
            return short.as_bytes().to_vec();
        }
        let length: usize = line.strip_prefix('$').unwrap_or_else(|| panic!("answered {line}")).parse().unwrap();
        let mut bytes = vec![0; length + 2];
        self.connection.read_exact(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes
    }

    fn call(&mut self, command: &[&[u8]]) {
        let mut request = format!("*{}\r\n", command.len()).into_bytes();
        for part in command {
            request.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
            request.extend_from_slice(part);
            request.extend_from_slice(b"\r\n");
        }
        self.connection.get_mut().write_all(&request).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.connection.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
