//! What the tests need from the machine beyond the Rust toolchain, and how it gets there.
//!
//! A missing program is installed where that is allowed (root, or `sudo` without a password, on a system with
//! `apt-get`). Elsewhere the exact command is printed and nothing is changed.

use std::process::Command;

use crate::shell::{self, Outcome};

/// A program, and the Debian package that has it.
struct Need {
    program: &'static str,
    package: &'static str,
}

const NEEDS: &[Need] = &[
    Need { program: "redis-server", package: "redis-server" },
    Need { program: "redis-cli", package: "redis-tools" },
    Need { program: "chromium", package: "chromium" },
];

/// Installs packages without starting the services in them: tests start their own Redis on a free port, and a system
/// one that nobody asked for would outlive them. `policy-rc.d` is how Debian is told so; an existing one is respected.
const INSTALL: &str = r#"
made=""
trap '[ -z "$made" ] || rm -f "$made"' EXIT
if [ ! -e /usr/sbin/policy-rc.d ]; then
    made=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' > "$made"
    chmod 755 "$made"
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
apt-get update
apt-get install -y --no-install-recommends "$@"
"#;

/// Makes sure that every program the tests start is there.
pub(crate) fn prepare() -> Outcome {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !shell::is_installed(need.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let programs: Vec<&str> = missing.iter().map(|need| need.program).collect();
    install(&packages).map_err(|why| {
        format!(
            "the tests need {}, and {why}\n  install it with: apt-get install --no-install-recommends {}",
            programs.join(", "),
            packages.join(" ")
        )
    })
}

/// Makes sure that Python can make virtual environments, which Debian leaves out of its Python.
pub(crate) fn prepare_python() -> Outcome {
    if shell::succeeds("python3", &["-c", "import ensurepip, venv"]) {
        return Ok(());
    }
    install(&["python3-venv"]).map_err(|why| {
        format!("the tests need Python's venv, and {why}\n  install it with: apt-get install --no-install-recommends python3-venv")
    })
}

fn install(packages: &[&str]) -> Outcome {
    if !shell::is_installed("apt-get") {
        return Err("this system has no apt-get to install it with".into());
    }
    let mut command = if is_root() {
        Command::new("sh")
    } else if shell::succeeds("sudo", &["-n", "true"]) {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "sh"]);
        sudo
    } else {
        return Err("installing it takes root, or sudo without a password".into());
    };
    eprintln!("installing {}", packages.join(" "));
    let status = command
        .args(["-eu", "-c", INSTALL, "install"])
        .args(packages)
        .status()
        .map_err(|error| format!("the installation could not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the installation failed ({status})")) }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
