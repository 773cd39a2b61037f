//! From flags, variables and the file to arguments.
//!
//! The file becomes the defaults of the options it names, so that a flag beats a variable beats the file by clap's own
//! rules, and a bad value in the file is refused in the words in which a bad flag is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches};

use crate::arguments::{Arguments, Command as Chosen, JwtOptions};

const FILE: &str = "tickmark.toml";
const PREFIX: &str = "TICKMARK_";

/// What the caller got wrong.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// Also a request for help, which is not wrong at all.
    Usage(clap::Error),
    Configuration(String),
}

impl Wrong {
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
            Self::Configuration(why) => {
                eprintln!("tickmark: {why}");
                ExitCode::from(2)
            }
        }
    }
}

impl From<clap::Error> for Wrong {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

pub(crate) fn read() -> Result<Arguments, Wrong> {
    check_variables(&Arguments::command(), std::env::vars_os()).map_err(Wrong::Configuration)?;
    let given: Vec<OsString> = std::env::args_os().collect();
    parse(&given, Path::new("."))
}

fn parse(given: &[OsString], folder: &Path) -> Result<Arguments, Wrong> {
    // Once to learn where the file is, once more with what is in it.
    let command = Arguments::command();
    let config = command.clone().try_get_matches_from(given)?.get_one::<PathBuf>("config").cloned();
    let command = match text(config.as_deref(), folder).map_err(Wrong::Configuration)? {
        Some((path, text)) => {
            let file = File { name: path.display().to_string() };
            file.apply(command, &text).map_err(Wrong::Configuration)?
        }
        None => command,
    };
    let arguments = Arguments::from_arg_matches(&command.try_get_matches_from(given)?)?;
    refuse_half_a_jwt(&arguments.command).map_err(Wrong::Configuration)?;
    Ok(arguments)
}

/// Not left to clap, which does not look at what comes from the file: a check of tokens that is half configured must not
/// pass for none.
fn refuse_half_a_jwt(command: &Chosen) -> Result<(), String> {
    let Chosen::Serve(options) = command else { return Ok(()) };
    let JwtOptions { jwt_keys, jwt_issuer, jwt_audience, .. } = &options.jwt;
    let given = [jwt_keys, jwt_issuer, jwt_audience].map(Option::is_some);
    if given.iter().any(|given| *given) && !given.iter().all(|given| *given) {
        return Err("--jwt-keys, --jwt-issuer and --jwt-audience go together: set all three, or none".into());
    }
    Ok(())
}

/// The file that was named, which must be there, or the usual one, which need not.
fn text(named: Option<&Path>, folder: &Path) -> Result<Option<(PathBuf, String)>, String> {
    let path = named.map_or_else(|| folder.join(FILE), Path::to_owned);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(error) => Err(format!("could not read {}: {error}", path.display())),
    }
}

struct File {
    name: String,
}

impl File {
    /// The command, with the file's values as defaults wherever a subcommand has the option.
    fn apply(&self, mut command: Command, text: &str) -> Result<Command, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{} is not valid TOML: {error}", self.name))?;
        let known = configurable(&command);
        for (key, value) in table {
            if !known.contains(&key) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(format!("{}: there is no option {key:?}; allowed are {}", self.name, known.join(", ")));
            }
            let values = self.spell(&key, &value)?;
            check(&command, &format!("{}: {key}", self.name), &key, &values.join(","))?;
            command = with_default(command, &key, &values);
        }
        Ok(command)
    }

    fn spell(&self, key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
        match value {
            toml::Value::String(text) => Ok(vec![text.clone()]),
            toml::Value::Integer(number) => Ok(vec![number.to_string()]),
            toml::Value::Boolean(truth) => Ok(vec![truth.to_string()]),
            toml::Value::Array(values) => {
                let spelled: Result<Vec<Vec<String>>, String> =
                    values.iter().map(|value| self.spell(key, value)).collect();
                Ok(spelled?.concat())
            }
            other => {
                Err(format!("{}: {key} = {other:?}: allowed are text, whole numbers, true, false and lists", self.name))
            }
        }
    }
}

/// Reads the value as if it were a flag, alone, so that the message can name where it came from.
fn check(command: &Command, source: &str, key: &str, value: &str) -> Result<(), String> {
    let serve = command.find_subcommand("serve").cloned().unwrap_or_default();
    let serve = serve.mut_args(|argument| argument.env(None::<&str>));
    let flag = format!("--{}={value}", key.replace('_', "-"));
    match serve.try_get_matches_from(["serve", &flag]) {
        Ok(_) => Ok(()),
        Err(error) => {
            let said = error.to_string();
            let said = said.strip_prefix("error: ").unwrap_or(&said);
            let said = said.split("\n\nFor more information").next().unwrap_or(said);
            Err(format!("{source}: {said}"))
        }
    }
}

/// The keys a file may have: the options of `serve`, which has all that others share.
fn configurable(command: &Command) -> BTreeSet<String> {
    let serve = command.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
    serve.filter(|argument| argument.get_env().is_some()).map(|argument| argument.get_id().to_string()).collect()
}

fn with_default(command: Command, key: &str, values: &[String]) -> Command {
    command.mut_subcommands(|subcommand| {
        let subcommand = with_default(subcommand, key, values);
        if subcommand.get_arguments().any(|argument| argument.get_id() == key) {
            subcommand.mut_arg(key, |argument| argument.default_values(values.to_vec()))
        } else {
            subcommand
        }
    })
}

/// A misspelt variable would otherwise be ignored in silence, and a bad value blamed on a flag that nobody gave.
fn check_variables(command: &Command, given: impl Iterator<Item = (OsString, OsString)>) -> Result<(), String> {
    let (known, configurable) = (variables(command), configurable(command));
    for (name, value) in given {
        let name = name.to_string_lossy();
        let Some(option) = name.strip_prefix(PREFIX).map(str::to_lowercase) else { continue };
        if !known.contains(&*name) {
            let known: Vec<String> = known.into_iter().collect();
            return Err(format!("there is no variable {name}; allowed are {}", known.join(", ")));
        }
        if configurable.contains(&option) {
            check(command, &name, &option, &value.to_string_lossy())?;
        }
    }
    Ok(())
}

/// Every variable that some command reads.
fn variables(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_env());
    let own = own.map(|name| name.to_string_lossy().into_owned());
    own.chain(command.get_subcommands().flat_map(variables)).chain([format!("{PREFIX}CONFIG")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::ServeOptions;

    fn serve(file: &str, flags: &[&str]) -> Result<Box<ServeOptions>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let given: Vec<OsString> = ["tickmark", "serve"].iter().chain(flags).map(OsString::from).collect();
        match parse(&given, folder.path()) {
            Ok(Arguments { command: Chosen::Serve(options), .. }) => Ok(options),
            Ok(other) => panic!("{other:?}"),
            Err(Wrong::Usage(error)) => Err(error.to_string()),
            Err(Wrong::Configuration(why)) => Err(why),
        }
    }

    #[test]
    fn the_table_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_flag_beats_the_file_beats_the_default() {
        let options =
            serve("listen = \"127.0.0.1:1\"\nmax_requests = 7\ninsecure = true\n", &["--max-requests=9"]).unwrap();
        assert_eq!((options.listen.port(), options.limits.max_requests.0, options.insecure), (1, 9, true));
        assert_eq!(options.limits.max_listeners.0, 10_000);
        let options = serve("cors_origins = [\"https://a\", \"https://b\"]", &[]).unwrap();
        assert_eq!(options.cors_origins, ["https://a", "https://b"].map(|origin| origin.parse().unwrap()));
    }

    #[test]
    fn bad_files_are_refused_with_name_value_and_what_is_allowed() {
        for (file, said) in [
            ("lisen = 1", &["lisen", "listen", "max_body"][..]),
            ("listen = \"here\"", &["listen", "here"]),
            ("durability = \"never\"", &["durability", "never", "always", "interval", "os"]),
            ("memory = \"12 apples\"", &["memory", "12 apples", "MiB"]),
            ("max_requests = -1", &["max_requests", "-1"]),
            ("max_requests = 1.5", &["max_requests", "1.5"]),
            ("max_requests = ", &["TOML"]),
            ("config = \"x\"", &["config"]),
            ("max_listeners = 0", &["max_listeners", "'0'", "from 1"]),
            ("cors_origins = [\"https://a\", \"b\"]", &["cors_origins", "'b'", "https://example.com"]),
            ("log = \"loud=very\"", &["log", "loud=very", "warn"]),
            ("jwt_keys = \"\"", &["jwt_keys"]),
        ] {
            let why = serve(file, &[]).unwrap_err();
            assert!(said.iter().all(|word| why.contains(word)), "{file:?}: {why}");
        }
    }

    #[test]
    fn options_that_need_others_may_find_them_in_the_file() {
        let file = "jwt_keys = \"keys.json\"\njwt_issuer = \"i\"\n";
        assert!(serve(file, &[]).unwrap_err().contains("--jwt-audience"));
        assert_eq!(serve(file, &["--jwt-audience=a"]).unwrap().jwt.jwt_issuer.as_deref(), Some("i"));
    }

    #[test]
    fn bad_variables_are_refused() {
        let check = |name: &str, value: &str| {
            check_variables(&Arguments::command(), std::iter::once((name.into(), value.into())))
        };
        for (name, value) in
            [("TICKMARK_STORE", "x"), ("TICKMARK_MAX_BODY", "1MiB"), ("TICKMARK_CONFIG", "x"), ("PATH", "")]
        {
            assert_eq!(check(name, value), Ok(()), "{name}");
        }
        for (name, value, said) in [
            ("TICKMARK_STOER", "x", &["TICKMARK_STOER", "TICKMARK_STORE"][..]),
            ("TICKMARK_store", "x", &["TICKMARK_store", "TICKMARK_STORE"]),
            ("TICKMARK_MAX_REQUESTS", "0", &["TICKMARK_MAX_REQUESTS", "'0'", "whole number from 1"]),
            ("TICKMARK_LISTEN", "localhost", &["TICKMARK_LISTEN", "'localhost'", "127.0.0.1:7700"]),
        ] {
            let why = check(name, value).unwrap_err();
            assert!(said.iter().all(|word| why.contains(word)), "{why}");
        }
    }
}
