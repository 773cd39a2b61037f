//! `tickmark completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Outcome;
use crate::arguments::Arguments;

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn print(shell: Shell) -> Outcome {
    clap_complete::generate(shell, &mut Arguments::command(), "tickmark", &mut std::io::stdout());
    Ok(())
}
