//! Parses the arguments. An error of clap gets a line in the log, since Helm 4 hides stderr.

use crate::cli::args::Cli;
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::{Exit, log_file_of_variable};
use clap::error::{ContextKind, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use report::{shell_argument, shell_word, visible};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The file name by which kubectl runs the program as its plugin `kubectl mackerel`.
const KUBECTL_PLUGIN: &str = "kubectl-mackerel";

/// Parses the arguments.
pub fn parse() -> Result<Cli, clap::Error> {
    let parse = |arguments: Vec<OsString>| {
        Cli::from_arg_matches(&program().try_get_matches_from(arguments)?)
    };
    parse(std::env::args_os().collect()).or_else(|_| {
        // clap prints an argument as it is. The error is the same if its control characters are visible.
        let visible = |argument: OsString| visible(&argument.to_string_lossy()).into_owned().into();
        parse(std::env::args_os().map(visible).collect())
            .and(Err(clap::Error::new(ErrorKind::ValueValidation)))
    })
}

/// Returns the commands, with the name by which the user called the program.
pub fn program() -> Command {
    let path = std::env::args_os().next().unwrap_or_default();
    if Path::new(&path).file_stem() != Some(OsStr::new(KUBECTL_PLUGIN)) {
        return Cli::command();
    }
    let name = KUBECTL_PLUGIN.replace('-', " ");
    let mut program = Cli::command().bin_name(&name);
    program.build();
    with_examples_of(program, &name)
}

/// Names the program in the examples of the help.
fn with_examples_of(command: Command, name: &str) -> Command {
    let program = concat!(env!("CARGO_PKG_NAME"), " ");
    let help = command
        .get_after_help()
        .map(|help| help.to_string().replace(program, &format!("{name} ")))
        .unwrap_or_default();
    command
        .after_help(help)
        .mut_subcommands(|subcommand| with_examples_of(subcommand, name))
}

/// Prints the help or the version, or an error.
pub fn answer(mut error: clap::Error) -> Exit {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        // clap suggests `-- --dry-run`, which would be the name of a file.
        error.remove(ContextKind::Suggested);
    }
    let _ = error.print();
    if let Err(error) = log_error(&error) {
        anstream::eprintln!("error: {error}");
    }
    Exit::Trouble
}

/// Adds an error about arguments to the log file, as one line:
/// `error: unexpected argument '--sett' found; tip: a similar argument exists: '--set'`
fn log_error(error: &clap::Error) -> anyhow::Result<()> {
    let arguments = std::env::args_os().skip(1);
    if let Some(file) = log_file(arguments).or_else(log_file_of_variable) {
        let text = error.render().to_string();
        let lines: Vec<_> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:"))
            .filter(|line| !line.is_empty())
            .collect();
        let mut messages = Messages::new(Verbosity::default(), Some(&file))?;
        messages.note_line(&lines.join("; "));
        messages.write_log(None)?;
    }
    Ok(())
}

/// Returns this call without its paths, for a shell.
pub fn words_without_paths() -> String {
    let mut program = Cli::command();
    program.build();
    let with_value = || {
        program
            .get_subcommands()
            .flat_map(Command::get_arguments)
            .filter(|option| option.get_action().takes_values() && !option.is_require_equals_set())
    };
    let is_letter = |letter| with_value().any(|option| option.get_short() == Some(letter));
    let takes_next = |word: &str| match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => with_value().any(|option| option.get_long() == Some(name)),
        // `-qn` takes the next word, `-nq` does not.
        (None, Some(letters)) => letters
            .split_once(is_letter)
            .is_some_and(|(_, value)| value.is_empty()),
        (None, None) => false,
    };
    let mut words = program.get_name().to_owned();
    let (mut is_value, mut has_command) = (false, false);
    for word in std::env::args_os().skip(1).take_while(|word| word != "--") {
        let word = word.to_string_lossy();
        let is_name = !is_value && !word.starts_with('-');
        is_value = !is_value && takes_next(&word);
        if !(is_name && std::mem::replace(&mut has_command, true)) {
            words = words + " " + &shell_argument(&word);
        }
    }
    words
}

/// Returns paths as words of a shell, each behind a blank.
pub fn shell_words(paths: impl IntoIterator<Item: AsRef<Path>>) -> String {
    paths
        .into_iter()
        .map(|path| format!(" {}", shell_word(&path.as_ref().to_string_lossy())))
        .collect()
}

/// Finds the log file among arguments that clap cannot parse.
fn log_file(mut arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    while let Some(argument) = arguments.next() {
        let option = argument.to_str().unwrap_or_default();
        if let Some(file) = option.strip_prefix("--log-file=") {
            return Some(file.into());
        }
        if option == "--log-file" {
            return arguments.next().map(PathBuf::from);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_file_is_found_among_arguments_that_are_wrong() {
        let found = |arguments: &[&str]| log_file(arguments.iter().map(OsString::from));
        assert_eq!(
            found(&["--sett=a", "--log-file=v.log"]),
            Some("v.log".into())
        );
        assert_eq!(
            found(&["inject", "--log-file", "v.log", "--sett"]),
            Some("v.log".into())
        );
        assert_eq!(found(&["inject", "--sett"]), None);
        assert_eq!(found(&["--log-file"]), None);
    }
}
