//! `cargo xtask test`: everything that can fail, on a machine that has only the toolchain.

use crate::machine;
use crate::shell::{self, Outcome};

/// Arguments go to `cargo test`, so that `cargo xtask test -p tickmark-store guards` runs a few.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    machine::prepare()?;
    let mut test = shell::cargo(&["test"]);
    if arguments.is_empty() {
        test.args(["--workspace", "--all-features"]);
    }
    shell::run(test.args(arguments))
}
