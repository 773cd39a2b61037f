//! `cargo xtask check`: what a reader would rather not have to point out.

use crate::licences;
use crate::shell::{self, Outcome};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Some(argument) = arguments.first() {
        return Err(format!("takes no arguments, but got {argument:?}"));
    }
    shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))
        .map_err(|why| format!("{why}; run `cargo fmt --all`"))?;
    shell::run(&mut shell::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "--deny",
        "warnings",
    ]))?;
    shell::run(
        shell::cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;
    dependencies()
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
