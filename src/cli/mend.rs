//! Commands that messages name, with the options of the run, for a shell: the one that makes the changes which `--check` reports, the
//! one that prints the permissions, and the one that reads what kustomize builds.

use crate::cli::args::Common;
use crate::cli::configuration;
use crate::cli::find_config::relative;
use crate::cli::kustomizations::Injector;
use crate::cli::run::{OutputMode, RunContext};
use crate::cli::usage::shell_words;
use injector::{Direction, ForeignAgents, HandEdits, Row};
use report::{Reason, shell_argument, shell_word};
use std::collections::HashSet;
use std::path::Path;

/// Paths that a command names.
const MAX_PATHS: usize = 20;

/// Returns a command of this program with the options of a run that give its configuration.
fn command(words: &str, common: &Common) -> String {
    let mut command = format!("mackerel-agent-injector {words}");
    if let Some(file) = configuration::file(common) {
        command += &option("--config", &file.to_string_lossy());
    }
    command += &settings(common);
    if common.no_config {
        command += " --no-config";
    }
    command
}

/// Returns the options that change settings, each behind a blank.
fn settings(common: &Common) -> String {
    let set = common.set.iter().map(|setting| option("--set", setting));
    let namespace = common
        .namespace
        .iter()
        .map(|name| option("--namespace", name));
    set.chain(namespace).collect()
}

fn option(name: &str, value: &str) -> String {
    format!(" {name}={}", shell_word(value))
}

/// Returns the options that pass arguments to kustomize, each behind a blank.
pub fn kustomize_options(arguments: impl IntoIterator<Item: AsRef<str>>) -> String {
    arguments
        .into_iter()
        .map(|argument| format!(" --kustomize-args={}", shell_argument(argument.as_ref())))
        .collect()
}

/// Returns the command that prints the permissions for the same input.
pub fn rbac_command(run: RunContext<'_>, needs_namespace: bool) -> String {
    let namespace = if needs_namespace { " -n NAMESPACE" } else { "" };
    let mut command = command(&format!("rbac{namespace}"), run.common);
    if let Some(build) = run.build {
        command += &kustomize_options(&build.kustomize_args);
        command += " -k";
    }
    if run.reads_stdin() {
        return command + " -";
    }
    with_paths(&command, run.paths)
}

/// Returns the command for what kustomize builds of a folder. Kustomize runs no function by `-k`, so the build of one that runs this program
/// is its input.
pub fn build_command(
    words: &str,
    folder: &Path,
    injector: Option<Injector>,
    arguments: &[String],
    common: &Common,
) -> String {
    let shown = |path: &Path| shell_words([relative(path, Path::new("."))]);
    let folder = shell_words([folder]);
    let (before, config) = match injector {
        None => {
            let options = kustomize_options(arguments);
            return format!("{}{options} -k{folder}", command(words, common));
        }
        Some(Injector::File(file)) => (String::new(), shown(&file)),
        Some(Injector::Folder(folder)) => {
            let file = " agent-injector-of-build.yaml";
            let before = format!("kustomize build{} >{file} && ", shown(&folder));
            (before, file.to_owned())
        }
        Some(Injector::Inline) => (String::new(), " FILE".to_owned()),
    };
    let mut options = vec![
        "--enable-alpha-plugins".to_owned(),
        "--enable-exec".to_owned(),
    ];
    for argument in arguments {
        if !options.contains(argument) {
            options.push(shell_argument(argument));
        }
    }
    let words = match words {
        "inject" | "inject --diff" => "inject --check",
        other => other,
    };
    format!(
        "{before}kustomize build {}{folder} | mackerel-agent-injector {words} --config{config}{} -",
        options.join(" "),
        settings(common)
    )
}

/// Adds the paths. A shell's `**/*.yaml` may have given hundreds, which no line shows.
pub fn with_paths(command: &str, paths: &[impl AsRef<Path>]) -> String {
    if paths.len() > MAX_PATHS {
        return format!("{command} PATH...");
    }
    command.to_owned() + &shell_words(paths)
}

/// Returns what the user does next if the run leaves something to do.
pub fn next(run: RunContext<'_>) -> Option<String> {
    let words = match run.mode {
        OutputMode::Explanation(_) if run.build.is_none() && !run.reads_stdin() => {
            command("inject --diff", run.common)
        }
        OutputMode::Diff | OutputMode::Check | OutputMode::CheckAndDiff => mend(run)?,
        _ => return None,
    };
    Some(with_paths(&words, run.paths))
}

/// Returns the command that makes the changes over files, without their paths. No command changes stdin, or what kustomize builds.
pub fn mend(run: RunContext<'_>) -> Option<String> {
    if run.reads_stdin() || run.build.is_some() {
        return None;
    }
    let mut words = match run.options.direction {
        Direction::Inject => "inject -i".to_owned(),
        Direction::Uninject => "uninject -i".to_owned(),
    };
    words += match run.options.foreign_agents {
        ForeignAgents::Respect => "",
        ForeignAgents::Adopt => " --adopt",
        ForeignAgents::AdoptLossy => " --adopt=lossy",
    };
    if run.options.hand_edits == HandEdits::Overwrite {
        words += " --force";
    }
    Some(command(&words, run.common))
}

/// Adds that command to the first change of each file that has the same reason.
pub fn add_mend(mend: &str, rows: &mut [Row<'_>]) {
    let mut known: HashSet<(String, Reason)> = HashSet::new();
    for row in rows {
        let reason = row.finding.reason;
        let is_change = reason.done().is_some() && row.finding.help.is_none();
        if is_change && known.insert((row.file.to_string(), reason)) {
            let command = with_paths(mend, &[&*row.file]);
            row.finding.to_mut().help = Some(format!("run `{command}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundreds_of_paths_are_not_named() {
        let command = |paths: &[&str]| with_paths("inject -i", paths);
        assert_eq!(command(&["a b.yaml", "-c"]), "inject -i 'a b.yaml' ./-c");
        let named = command(&["a"; MAX_PATHS]);
        assert_eq!(named.matches(" a").count(), MAX_PATHS);
        assert_eq!(command(&["a"; MAX_PATHS + 1]), "inject -i PATH...");
    }
}
