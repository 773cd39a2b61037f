//! schemathesis against a running server: no 5xx, no status and no answer that the OpenAPI document does not have.
//!
//! Bounded by examples and a fixed seed, so that it takes a minute and fails for a change, not for a throw of the dice.
//! Live routes are left out, because their answers have no end; they have tests of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::machine;
use crate::shell::{self, Outcome};

const EXAMPLES_MAX: &str = "100";
const SEED: &str = "1";

/// Arguments go to schemathesis after ours, so that `--seed 7 --max-examples 1000` looks further.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !shell::is_installed("python3") {
        eprintln!("\nnot tested: the routes against their OpenAPI document, because there is no python3.");
        return Ok(());
    }
    let schemathesis = install()?;
    shell::run(&mut shell::cargo(&["build", "--bin", "tickmark"]))?;
    let program = shell::target().join("debug/tickmark");
    let store = Scratch::new()?;
    let token = shell::output(
        Command::new(&program)
            .args(["token", "create", "--name=fuzz", "--scopes=read,write,admin", "--store"])
            .arg(&store.0),
    )?;
    let server = Server::start(&program, &store.0)?;
    let mut fuzz = Command::new(schemathesis);
    fuzz.arg("--config-file")
        .arg(shell::root().join("xtask/schemathesis.toml"))
        .args(["run", &format!("{}/openapi.json", server.url)])
        .args(["--max-examples", EXAMPLES_MAX, "--seed", SEED, "--workers", "1"])
        // The stateful phase would find its own token in the list and revoke it.
        .args(["--phases", "examples,coverage,fuzzing", "--exclude-path-regex", "/live$"])
        .args(["--request-timeout", "10", "--no-color", "--header"])
        .arg(format!("Authorization: Bearer {}", token.trim()))
        .args(arguments)
        .current_dir(&store.0);
    shell::run_as("schemathesis run /openapi.json", &mut fuzz)
}

/// A virtual environment of our own, made once.
fn install() -> Outcome<PathBuf> {
    let requirements = shell::root().join("xtask/schemathesis.txt");
    let wanted = fs::read_to_string(&requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let environment = shell::target().join("schemathesis");
    let program = environment.join("bin/schemathesis");
    let stamp = environment.join("installed.txt");
    if program.is_file() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(program);
    }
    machine::prepare_python()?;
    shell::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    shell::run(
        Command::new(environment.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&requirements),
    )?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(program)
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Outcome<Self> {
        let folder = shell::target().join(format!("fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server on a free port, stopped when dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(program: &Path, store: &Path) -> Outcome<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--listen=127.0.0.1:0", "--durability=os", "--log=error", "--store"])
            .arg(store)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not start {}: {error}", program.display()))?;
        let mut said = String::new();
        if let Some(output) = child.stdout.as_mut() {
            // The address is the first line.
            let _ = BufReader::new(output).read_line(&mut said);
        }
        let url = said.strip_prefix("listening on").map(|url| url.trim().to_owned());
        // Made first, so that a server that says something else is stopped too.
        let server = Self { child, url: url.clone().unwrap_or_default() };
        url.map(|_| server).ok_or_else(|| format!("the server did not say where it listens, but {said:?}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
