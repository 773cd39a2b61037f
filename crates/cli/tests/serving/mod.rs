//! A server for a test of the commands that talk to one.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A server in memory, killed with the test.
pub(crate) struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickmark"))
            .args(["serve", "--listen=127.0.0.1:0", "--store=memory:", "--log=error"])
            .env_clear()
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        let url = said.strip_prefix("listening on").unwrap().trim().to_owned();
        Self { child, url }
    }

    /// The exit code, and what was printed: the answer, or why there is none.
    pub(crate) fn run(&self, command: &str, arguments: &[&str]) -> (i32, String) {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tickmark"));
        program.arg(command).args(arguments).env_clear().env("TICKMARK_SERVER", &self.url);
        let output = program.output().unwrap();
        let said = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.code().unwrap(), String::from_utf8(said).unwrap().trim_end().to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
