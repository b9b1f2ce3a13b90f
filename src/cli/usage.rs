//! Parses the arguments. An error of clap gets a line in the log, since Helm 4 hides stderr.

use crate::cli::args::Cli;
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::{Exit, log_file_of_variable};
use crate::diagnostic::{shell_argument, visible};
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file name by which kubectl runs the program as its plugin `kubectl mackerel`.
const KUBECTL_PLUGIN: &str = "kubectl-mackerel";

/// Parses the arguments.
pub fn parse() -> Result<Cli, clap::Error> {
    parse_from(std::env::args_os()).or_else(|_| {
        // clap prints an argument as it is. The error is the same if its control characters are visible.
        let visible = |argument: OsString| visible(&argument.to_string_lossy()).into_owned();
        let shown = parse_from(std::env::args_os().map(visible));
        shown.and(Err(clap::Error::new(ErrorKind::ValueValidation)))
    })
}

fn parse_from<A: Into<OsString> + Clone>(
    arguments: impl Iterator<Item = A>,
) -> Result<Cli, clap::Error> {
    let matches = program().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

/// Returns the commands, with the name by which the user called the program.
pub fn program() -> Command {
    let program = Cli::command();
    let path = std::env::args_os().next().map(PathBuf::from);
    match path.as_deref().and_then(Path::file_stem) {
        Some(stem) if stem == KUBECTL_PLUGIN => {
            let name = KUBECTL_PLUGIN.replace('-', " ");
            let mut program = program.bin_name(&name);
            program.build();
            with_examples_of(program, &name)
        }
        _ => program,
    }
}

/// Names the program in the examples of the help.
fn with_examples_of(command: Command, name: &str) -> Command {
    let program = env!("CARGO_PKG_NAME");
    let help = command.get_after_help().map(|help| {
        help.to_string()
            .replace(&format!("{program} "), &format!("{name} "))
    });
    command
        .after_help(help.unwrap_or_default())
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

/// Adds an error about arguments to the log file.
fn log_error(error: &clap::Error) -> anyhow::Result<()> {
    let arguments = std::env::args_os().skip(1);
    if let Some(file) = log_file(arguments).or_else(log_file_of_variable) {
        let mut messages = Messages::new(Verbosity::default(), Some(&file))?;
        messages.note_line(&line(&error.render().to_string()))?;
    }
    Ok(())
}

/// Returns true if the argument is the long or short name of the option.
fn is_option(option: &Arg, argument: &str) -> bool {
    let is_long = |long: &str| argument.strip_prefix("--") == Some(long);
    let is_short = |short: char| argument == format!("-{short}");
    option.get_long().is_some_and(is_long) || option.get_short().is_some_and(is_short)
}

/// Returns this call without its paths, for a shell.
pub fn words_without_paths() -> String {
    let mut program = Cli::command();
    program.build();
    let options = || program.get_subcommands().flat_map(Command::get_arguments);
    let takes_value =
        |option: &Arg| option.get_action().takes_values() && !option.is_require_equals_set();
    // `-qn` takes the next word, `-nq` does not.
    let is_open = |word: &str| {
        let has_value =
            |letter| options().any(|one| one.get_short() == Some(letter) && takes_value(one));
        let letters = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
        letters.is_some_and(|letters| letters.find(has_value) == Some(letters.len() - 1))
    };
    let mut words = program.get_name().to_owned();
    let (mut is_value, mut has_command) = (false, false);
    for word in std::env::args_os().skip(1).take_while(|word| word != "--") {
        let word = word.to_string_lossy();
        let is_name = !is_value && !word.starts_with('-');
        let is_long = |one: &Arg| is_option(one, &word) && takes_value(one);
        is_value = !is_value && (is_open(&word) || options().any(is_long));
        if !(is_name && std::mem::replace(&mut has_command, true)) {
            words = words + " " + &shell_argument(&word);
        }
    }
    words
}

/// Finds the log file among arguments that clap cannot parse.
fn log_file(mut arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    while let Some(argument) = arguments.next() {
        if argument == "--log-file" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(file) = argument
            .to_str()
            .and_then(|argument| argument.strip_prefix("--log-file="))
        {
            return Some(PathBuf::from(file));
        }
    }
    None
}

/// Returns an error of clap as one line: `error: unexpected argument '--sett' found; tip: a similar argument exists: '--set'`
fn line(error: &str) -> String {
    let mut lines = Vec::new();
    for line in error.lines().map(str::trim) {
        if line.starts_with("Usage:") {
            break;
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines.join("; ")
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
