//! The parser of the arguments. For wrong ones: clap's error with a better tip, and a line in the log, since Helm 4 hides stderr.

use crate::cli::args::Cli;
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::{Exit, log_file_of_variable};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the file, or of a link to it, that kubectl runs as its plugin `kubectl mackerel`.
const KUBECTL_PLUGIN: &str = "kubectl-mackerel";

/// Arguments of other tools, each with its equivalent.
const OF_OTHER_TOOLS: &[(&[&str], &str)] = &[
    (
        &["--dry-run"],
        "`--diff` shows what would change, `--check` lists it",
    ),
    (
        &["-f", "--file", "--filename"],
        "name files and directories without a flag",
    ),
    (
        &["-R", "-r", "--recursive"],
        "directories are always searched recursively",
    ),
    (
        &["-w", "--write", "--inplace"],
        "`inject -i` changes the files",
    ),
    (&["-c"], "use `--config`"),
];

/// Parses the arguments.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    program()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Returns the commands under the name that the user has typed.
pub(crate) fn program() -> Command {
    let program = Cli::command();
    let typed = std::env::args_os().next().map(PathBuf::from);
    match typed.as_deref().and_then(Path::file_stem) {
        Some(stem) if stem == KUBECTL_PLUGIN => {
            let name = KUBECTL_PLUGIN.replace('-', " ");
            with_examples_of(program.bin_name(&name), &name)
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
        .mut_subcommands(|inner| with_examples_of(inner, name))
}

/// Help and version, which are no errors, or what is wrong with the arguments.
pub(crate) fn answer(mut error: clap::Error) -> Exit {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        let tip = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(argument)) => {
                tip(argument).or_else(|| tip_for_command(argument))
            }
            _ => None,
        };
        // clap's own advice is to write `-- --dry-run`, which would name a file.
        error.remove(ContextKind::Suggested);
        if let Some(tip) = tip {
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![StyledStr::from(tip)]),
            );
        }
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(tip) = tip_for_path(word)
    {
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![StyledStr::from(tip)]),
        );
    }
    let _ = error.print();
    if let Some(file) = log_file(std::env::args_os().skip(1)).or_else(log_file_of_variable) {
        let logged = Messages::new(Verbosity::default(), Some(&file))
            .and_then(|mut messages| Ok(messages.note_line(line(&error.render().to_string()))?));
        if let Err(error) = logged {
            anstream::eprintln!("error: {error}");
        }
    }
    Exit::Trouble
}

fn tip(argument: &str) -> Option<String> {
    OF_OTHER_TOOLS
        .iter()
        .find(|(names, _)| names.contains(&argument))
        .map(|(_, tip)| (*tip).to_owned())
}

/// Names the commands that take this flag.
fn tip_for_command(argument: &str) -> Option<String> {
    let program = Cli::command();
    let takes = |command: &&Command| {
        command.get_arguments().any(|known| {
            known
                .get_long()
                .is_some_and(|long| argument.strip_prefix("--") == Some(long))
                || known
                    .get_short()
                    .is_some_and(|short| argument == format!("-{short}"))
        })
    };
    let commands: Vec<_> = program
        .get_subcommands()
        .filter(takes)
        .map(|command| format!("`{}`", command.get_name()))
        .collect();
    (!commands.is_empty())
        .then(|| format!("`{argument}` is an option of {}", commands.join(" and ")))
}

/// A file or directory where a command is expected.
fn tip_for_path(word: &str) -> Option<String> {
    let is_path = word.contains(['/', '.']) || Path::new(word).exists();
    is_path.then(|| format!("to inject the agent into it, use `inject {word}`"))
}

/// The log file that arguments name which clap cannot parse.
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

/// `error: unexpected argument '--sett' found; tip: a similar argument exists: '--set'`
fn line(picture: &str) -> String {
    let lines = picture
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
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

    #[test]
    fn an_argument_of_another_tool_gets_advice() {
        assert_eq!(
            tip("--dry-run").unwrap(),
            "`--diff` shows what would change, `--check` lists it"
        );
        assert_eq!(tip("--nonsense"), None);
        assert_eq!(
            tip_for_path("web.yaml").unwrap(),
            "to inject the agent into it, use `inject web.yaml`"
        );
        assert_eq!(tip_for_path("injetc"), None);
    }
}
