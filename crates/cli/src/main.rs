//! The binary: arguments become a configuration, and a configuration runs.
//!
//! The only crate that reads the environment, and the only one that knows which stores there are.

/// Prints a line. Unlike `println!`, does not panic when whoever reads it has gone.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

mod arguments;
mod audience;
mod completions;
mod configuration;
mod logs;
mod remote;
mod series;
mod serve;
mod store;
mod token;
mod units;
mod values;

use std::process::ExitCode;

use arguments::{Arguments, Command};

/// Requests are read, planned and committed by different threads, which hand large pieces of memory to each other. The C
/// library keeps what each thread frees apart, which took half as much memory again.
/// How it is set up is in `.cargo/config.toml`, because only unsafe code could say it here.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Why a command failed, as a sentence that says what to do.
type Outcome<T = ()> = Result<T, String>;

/// Exit codes: 0 done, 1 failed, 2 wrong usage.
fn main() -> ExitCode {
    let Arguments { command, .. } = match configuration::read() {
        Ok(arguments) => arguments,
        Err(wrong) => return wrong.report(),
    };
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tickmark: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome {
    let command = match command {
        Command::Completions { shell } => return completions::print(shell),
        command => command,
    };
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("could not start threads: {error}"))?;
    let outcome = runtime.block_on(async {
        match command {
            Command::Serve(options) => serve::serve(*options).await,
            Command::Token { command } => token::run(command).await,
            Command::Series { command } => series::run(command).await,
            Command::Audience { command } => audience::run(command).await,
            Command::Values { command } => values::run(command).await,
            Command::Completions { .. } => Ok(()),
        }
    });
    // What is still busy by now was given its time.
    runtime.shutdown_background();
    outcome
}
