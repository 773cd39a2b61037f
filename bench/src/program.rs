//! The program itself, as a user runs it: a release build that serves a directory.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Program {
    child: Child,
    url: String,
}

impl Program {
    pub fn serve(directory: &Path, more: &[&str]) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/tickmark");
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--store"])
            .arg(directory)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("target/release/tickmark: `cargo xtask bench` builds it");
        let url = address(&mut child).expect("it says where it listens");
        Self { child, url }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub fn resident_bytes(&self) -> usize {
        crate::measure::resident_bytes_of(&self.child.id().to_string())
    }

    /// Asks it to end, as an operator does, and waits until it has.
    pub fn stop(mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(asked.is_ok_and(|status| status.success()) && self.child.wait().is_ok_and(|status| status.success()));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what it says until an address is in it, and leaves the rest to be thrown away.
fn address(child: &mut Child) -> Option<String> {
    let said = child.stdout.take()?;
    let complained = child.stderr.take()?;
    let (found, address) = std::sync::mpsc::channel();
    for lines in [Box::new(said) as Box<dyn std::io::Read + Send>, Box::new(complained)] {
        let found = found.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                if let Some(at) = line.find("http://127.0.0.1:") {
                    let _ = found.send(line[at..].trim().trim_end_matches('/').to_owned());
                }
            }
        });
    }
    address.recv_timeout(std::time::Duration::from_secs(10)).ok()
}
