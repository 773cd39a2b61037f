//! `cargo xtask test`: everything that can fail, on a machine that has only the toolchain.

use crate::clients;
use crate::fuzz;
use crate::machine;
use crate::shell::{self, Outcome};

/// Arguments go to `cargo test`, so that `cargo xtask test -p tickmark-store guards` runs a few.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    machine::prepare()?;
    if !arguments.is_empty() {
        return shell::run(shell::cargo(&["test"]).args(arguments));
    }
    clients::install()?;
    shell::run(&mut shell::cargo(&["test", "--workspace", "--all-features"]))?;
    fuzz::run(&[])
}
