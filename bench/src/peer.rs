//! Redis at its best: commands written ahead into one connection, replies only counted.

use std::io::{Read, Write};
use std::net::TcpStream;

use tickmark_rig::{Fsync, Settings};

/// Commands in Redis's own form, ready to be sent.
#[derive(Default)]
pub struct Pipe {
    bytes: Vec<u8>,
    /// Lines that the replies have.
    lines: usize,
}

impl Pipe {
    pub fn command(&mut self, words: &[&str]) {
        let _ = write!(self.bytes, "*{}\r\n", words.len());
        for word in words {
            let _ = write!(self.bytes, "${}\r\n{word}\r\n", word.len());
        }
        self.lines += 1;
    }

    /// For commands whose replies are not one line each.
    pub fn expect_lines(&mut self, lines: usize) {
        self.lines = lines;
    }
}

pub struct Peer {
    connection: TcpStream,
    buffer: Vec<u8>,
}

impl Peer {
    pub fn connect(port: u16) -> Self {
        let connection = TcpStream::connect(("127.0.0.1", port)).expect("Redis is there");
        connection.set_nodelay(true).expect("a socket");
        Self { connection, buffer: vec![0; 1 << 16] }
    }

    /// Sends everything and waits for the replies, which are only counted.
    pub fn run(&mut self, pipe: &Pipe) {
        let mut writer = self.connection.try_clone().expect("a socket");
        std::thread::scope(|scope| {
            scope.spawn(|| writer.write_all(&pipe.bytes).expect("Redis reads"));
            self.count_replies(pipe.lines);
        });
    }

    /// The same for so little that it fits into the socket's buffers.
    pub fn run_few(&mut self, pipe: &Pipe) {
        self.connection.write_all(&pipe.bytes).expect("Redis reads");
        self.count_replies(pipe.lines);
    }

    fn count_replies(&mut self, expected: usize) {
        let mut lines = 0;
        while lines < expected {
            let read = self.connection.read(&mut self.buffer).expect("replies");
            assert!(read > 0, "Redis hung up");
            assert!(lines > 0 || self.buffer[0] != b'-', "{}", String::from_utf8_lossy(&self.buffer[..read]));
            lines += self.buffer[..read].iter().filter(|byte| **byte == b'\n').count();
        }
    }
}

/// A Redis that writes its log, and when it syncs it.
pub fn settings(fsync: Fsync) -> Settings {
    Settings { append_only: Some(fsync), ..Settings::default() }
}
