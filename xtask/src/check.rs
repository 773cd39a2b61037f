//! `cargo xtask check`: what a reader would rather not have to point out.

use crate::licences;
use crate::shell::{self, Outcome};

/// Runs every check, also after one failed: who mends one thing wants to know of the others.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Some(argument) = arguments.first() {
        return Err(format!("takes no arguments, but got {argument:?}"));
    }
    let outcomes = [formatting(), lints(), documentation(), dependencies()];
    let failures: Vec<String> = outcomes.into_iter().filter_map(Outcome::err).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn formatting() -> Outcome {
    let formatted = shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]));
    formatted.map_err(|why| format!("{why}; run `cargo fmt --all`"))
}

fn lints() -> Outcome {
    let mut clippy = shell::cargo(&["clippy", "--workspace", "--all-targets", "--all-features"]);
    shell::run(clippy.args(["--", "--deny", "warnings"]))
}

fn documentation() -> Outcome {
    let mut doc = shell::cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--document-private-items"]);
    shell::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// `cargo deny` where it is installed; it is not installed from here, because building it takes minutes.
fn dependencies() -> Outcome {
    if !shell::is_installed("cargo-deny") {
        licences::check()?;
        eprintln!(
            "not checked: advisories and yanked versions. `cargo install cargo-deny --locked` makes this check them too."
        );
        return Ok(());
    }
    shell::run(&mut shell::cargo(&["deny", "--all-features", "check", "licenses", "bans", "sources"]))?;
    if shell::succeeds("cargo", &["deny", "fetch", "db"]) {
        shell::run(&mut shell::cargo(&["deny", "--all-features", "check", "advisories"]))
    } else {
        eprintln!("not checked: advisories and yanked versions, because their database cannot be fetched from here.");
        Ok(())
    }
}
