//! The project's own chores: `cargo xtask CHORE`.
//!
//! Only the standard library, so that the first chore of a fresh checkout starts within seconds. A chore is one file
//! and one line in [`CHORES`]; the help text reads that table.

mod bench;
mod check;
mod clients;
mod fuzz;
mod licences;
mod machine;
mod shell;
mod test;

use std::process::ExitCode;

use shell::Outcome;

struct Chore {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const CHORES: &[Chore] = &[
    Chore { name: "test", about: "install what the tests need, then run all of them", run: test::run },
    Chore { name: "check", about: "formatting, lints, documentation, licences of dependencies", run: check::run },
    Chore { name: "fuzz", about: "the routes against their OpenAPI document (part of test)", run: fuzz::run },
    Chore { name: "bench", about: "the measurements in bench/; arguments are passed on", run: bench::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprint!("xtask: there is no chore {name:?}\n\n{}", help());
        return ExitCode::from(2);
    };
    match (chore.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask {name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let chores: Vec<String> = CHORES.iter().map(|chore| format!("  {:<8} {}\n", chore.name, chore.about)).collect();
    format!("usage: cargo xtask CHORE\n\n{}", chores.concat())
}
