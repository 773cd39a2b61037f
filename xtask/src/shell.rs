//! Running other programs, saying which, and what to do when one fails.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What went wrong, as a sentence that says what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The folder with the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The cargo that started this chore, in the workspace's folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments).current_dir(root());
    command
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Prints the command, runs it with its output shown, and fails with its name.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = spell(command);
    run_as(&line, command)
}

/// The same under another name, for commands with a secret in them.
pub(crate) fn run_as(line: &str, command: &mut Command) -> Outcome {
    eprintln!("\n$ {line}");
    let status = command.status().map_err(|error| format!("could not start `{line}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status}); its output is above")) }
}

/// What a command prints; its errors go to the terminal.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let line = spell(command);
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("could not start `{line}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{line}` failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{line}` printed something that is not UTF-8"))
}

/// Whether a command runs and succeeds; nothing it prints is shown.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program of this name is on the path.
pub(crate) fn is_installed(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn spell(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
