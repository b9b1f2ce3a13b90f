//! Arguments that cannot be understood: what clap says of them, what we know better, and a line in the log, since Helm 4
//! shows nothing of it.

use crate::cli::messages::{Messages, Verbosity};
use crate::cli::{Exit, log_file_of_variable};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Arguments of other tools, each with its equivalent.
const OF_OTHER_TOOLS: &[(&[&str], &str)] = &[
    (&["--dry-run"], "`--diff` shows what would change, `--check` lists it"),
    (&["-n"], "write `--namespace`"),
    (&["-f", "--file", "--filename"], "files and folders are named without a flag"),
    (&["-R", "-r", "--recursive"], "folders are always walked to their end"),
    (&["-w", "--write", "--inplace"], "`-i` changes the files"),
    (&["-o"], "`-i` changes files; else the result goes to stdout"),
    (&["-c"], "write `--config`"),
];

/// Help and version, which are no errors, or what is wrong with the arguments.
pub(crate) fn answer(mut error: clap::Error) -> Exit {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        let tip = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(argument)) => tip(argument),
            _ => None,
        };
        // clap's own advice is to write `-- --dry-run`, which would name a file.
        error.remove(ContextKind::Suggested);
        if let Some(tip) = tip {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        }
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(tip) = tip_for_path(word)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    let _ = error.print();
    if let Some(file) = log_file(std::env::args_os().skip(1)).or_else(log_file_of_variable) {
        let logged = Messages::new(Verbosity::default(), Some(&file))
            .and_then(|mut messages| Ok(messages.note(line(&error.render().to_string()))?));
        if let Err(error) = logged {
            anstream::eprintln!("error: {error}");
        }
    }
    Exit::Trouble
}

fn tip(argument: &str) -> Option<&'static str> {
    OF_OTHER_TOOLS.iter().find(|(names, _)| names.contains(&argument)).map(|(_, tip)| *tip)
}

/// A file or folder where a command is expected.
fn tip_for_path(word: &str) -> Option<String> {
    let is_path = word.contains(['/', '.']) || Path::new(word).exists();
    is_path.then(|| format!("to inject it, write `inject {word}`"))
}

/// The log file that arguments name which clap cannot parse.
fn log_file(mut arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    while let Some(argument) = arguments.next() {
        if argument == "--log-file" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(file) = argument.to_str().and_then(|argument| argument.strip_prefix("--log-file=")) {
            return Some(PathBuf::from(file));
        }
    }
    None
}

/// `error: unexpected argument '--sett' found; tip: a similar argument exists: '--set'`
fn line(picture: &str) -> String {
    let lines = picture.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_file_is_found_among_arguments_that_are_wrong() {
        let found = |arguments: &[&str]| log_file(arguments.iter().map(OsString::from));
        assert_eq!(found(&["--sett=a", "--log-file=v.log"]), Some("v.log".into()));
        assert_eq!(found(&["inject", "--log-file", "v.log", "--sett"]), Some("v.log".into()));
        assert_eq!(found(&["inject", "--sett"]), None);
        assert_eq!(found(&["--log-file"]), None);
    }

    #[test]
    fn an_argument_of_another_tool_gets_advice() {
        assert_eq!(tip("--dry-run").unwrap(), "`--diff` shows what would change, `--check` lists it");
        assert_eq!(tip("--nonsense"), None);
        assert_eq!(tip_for_path("web.yaml").unwrap(), "to inject it, write `inject web.yaml`");
        assert_eq!(tip_for_path("injetc"), None);
    }
}
