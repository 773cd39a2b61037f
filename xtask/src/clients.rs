//! Programs of others that the tests talk to the server with: the npm client of Redis, the PyPI client of InfluxDB.
//!
//! Installed into `target/clients`, once for each list of versions. Where Node or Python is missing, the tests that need it
//! say so and are skipped.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::machine;
use crate::shell::{self, Outcome};

pub(crate) fn install() -> Outcome {
    let folder = shell::target().join("clients");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if shell::is_installed("npm") {
        once(&folder, "package.json", || {
            shell::run(
                Command::new("npm").args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder),
            )
        })?;
    } else {
        eprintln!("\nnot tested: the readers and writers of Redis in Node, because there is no npm.");
    }
    if shell::is_installed("python3") {
        once(&folder, "requirements.txt", || {
            machine::prepare_python()?;
            let environment = folder.join("python");
            shell::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
            shell::run(
                Command::new(environment.join("bin/python"))
                    .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
                    .arg(folder.join("requirements.txt")),
            )
        })?;
    } else {
        eprintln!("\nnot tested: the line protocol with a client of InfluxDB, because there is no python3.");
    }
    Ok(())
}

/// Installs what a list says, unless that was done before.
fn once(folder: &Path, list: &str, install: impl FnOnce() -> Outcome) -> Outcome {
    let source = shell::root().join("xtask/clients").join(list);
    let wanted = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let stamp = folder.join(format!("{list}.installed"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let write = |path: &Path| fs::write(path, &wanted).map_err(|error| format!("{}: {error}", path.display()));
    write(&folder.join(list))?;
    install()?;
    write(&stamp)
}
