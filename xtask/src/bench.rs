//! `cargo xtask bench`: the side-by-side measurements, which are a workspace of their own so that their dependencies
//! never weigh on an ordinary build.

use crate::shell::{self, Outcome};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !shell::root().join("bench/Cargo.toml").is_file() {
        return Err("there is no bench/Cargo.toml in this checkout, so there is nothing to measure".into());
    }
    // What is measured over HTTP is the program itself.
    shell::run(&mut shell::cargo(&["build", "--release", "--package", "tickmark"]))?;
    shell::run(shell::cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml", "--"]).args(arguments))
}
