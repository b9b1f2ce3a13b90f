//! Commands that messages name, with the options of the run, for a shell: the one that makes the changes which `--check` reports, and
//! the one that prints the permissions.

use crate::cli::configuration;
use crate::cli::run::{OutputMode, RunContext};
use crate::diagnostic::shell_word;
use crate::inject::Row;
use crate::options::{Direction, ForeignAgents, HandEdits};
use crate::report::Reason;
use std::collections::HashSet;

/// Paths that a command names.
const MAX_PATHS: usize = 20;

/// Returns the options of a run that give its configuration, each behind a blank, for another command that is to say the same.
pub fn configuration_options(run: RunContext<'_>) -> String {
    let common = run.common;
    let mut options = String::new();
    let mut add = |name: &str, value: &str| options += &format!(" {name}={}", shell_word(value));
    if let Some(file) = configuration::file(common) {
        add("--config", &file.to_string_lossy());
    }
    for setting in &common.set {
        add("--set", setting);
    }
    if let Some(namespace) = &common.namespace {
        add("--namespace", namespace);
    }
    if common.no_config {
        options += " --no-config";
    }
    if run.nearest.is_some() {
        options += " --nearest-config";
    }
    options
}

/// Returns the command that prints the permissions for the same input. It names its objects after one configuration.
pub fn rbac_command(run: RunContext<'_>, needs_namespace: bool) -> String {
    let mut command = "mackerel-agent-injector rbac".to_owned();
    if needs_namespace {
        command += " -n NAMESPACE";
    }
    match (run.nearest, run.build) {
        (Some(_), None) => return command + " --config FILE PATH...",
        (Some(_), Some(_)) if run.paths.len() > 1 => return command + " -k DIR",
        _ => {}
    }
    command += &configuration_options(RunContext {
        nearest: None,
        ..run
    });
    if let Some(build) = run.build {
        for argument in &build.kustomize_args {
            command += &format!(" --kustomize-args={}", shell_argument(argument));
        }
        command += " -k";
    }
    let paths = run.paths.iter().filter(|path| path.as_os_str() != "-");
    let paths: Vec<_> = paths.map(|path| path.to_string_lossy()).collect();
    if paths.is_empty() {
        return command + " -";
    }
    with_paths(command, paths.iter().map(|path| &**path))
}

/// Returns an option as a word of a shell.
pub fn shell_argument(argument: &str) -> String {
    let name = argument.trim_start_matches('-');
    let hyphens = &argument[..argument.len() - name.len()];
    format!("{hyphens}{}", shell_word(name))
}

/// Adds the paths. A shell's `**/*.yaml` may have given hundreds, which no line shows.
fn with_paths<'p>(mut command: String, paths: impl IntoIterator<Item = &'p str>) -> String {
    let paths: Vec<&str> = paths.into_iter().collect();
    if paths.len() > MAX_PATHS {
        return command + " PATH...";
    }
    for path in paths {
        command.push(' ');
        command += &shell_word(path);
    }
    command
}

/// The command without its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    command: String,
}

impl Mend {
    /// Returns the command of a check over files. No command changes stdin, or what kustomize builds.
    pub fn of(run: RunContext<'_>) -> Option<Self> {
        let is_check = matches!(
            run.mode,
            OutputMode::Check | OutputMode::CheckAndDiff | OutputMode::CheckReport(_)
        );
        let reads_stdin = run.paths.iter().all(|path| path.as_os_str() == "-");
        if !is_check || reads_stdin || run.build.is_some() {
            return None;
        }
        let mut words = vec!["mackerel-agent-injector".to_owned()];
        let command = match run.options.direction {
            Direction::Inject => "inject -i",
            Direction::Uninject => "uninject -i",
        };
        words.push(command.to_owned());
        let adopt = match run.options.foreign_agents {
            ForeignAgents::Respect => None,
            ForeignAgents::Adopt => Some("--adopt"),
            ForeignAgents::AdoptLossy => Some("--adopt=lossy"),
        };
        let force = (run.options.hand_edits == HandEdits::Overwrite).then_some("--force");
        words.extend([adopt, force].into_iter().flatten().map(str::to_owned));
        let command = words.join(" ") + &configuration_options(run);
        Some(Self { command })
    }

    /// Returns the command for these paths.
    pub fn command<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> String {
        with_paths(self.command.clone(), paths)
    }

    /// Adds the command to the first change of each file that has the same reason.
    pub fn add_to(&self, rows: &mut [Row<'_>]) {
        let mut known: HashSet<(String, Reason)> = HashSet::new();
        for row in rows {
            let reason = row.finding.reason;
            let is_change = reason.done().is_some() && row.finding.help.is_none();
            if is_change && known.insert((row.file.to_string(), reason)) {
                let command = self.command([&*row.file]);
                row.finding.to_mut().help = Some(format!("run `{command}`"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_for_kustomize_stays_an_option() {
        for (argument, expected) in [
            ("-e", "-e"),
            ("--enable-helm", "--enable-helm"),
            ("--env=a b", "--'env=a b'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(shell_argument(argument), expected);
        }
    }

    #[test]
    fn hundreds_of_paths_are_not_named() {
        let command = |paths: &[&str]| with_paths("inject -i".to_owned(), paths.iter().copied());
        assert_eq!(command(&["a b.yaml", "-c"]), "inject -i 'a b.yaml' ./-c");
        let named = command(&["a"; MAX_PATHS]);
        assert_eq!(named.matches(" a").count(), MAX_PATHS);
        assert_eq!(command(&["a"; MAX_PATHS + 1]), "inject -i PATH...");
    }
}
