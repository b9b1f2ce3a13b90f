//! Commands that messages name, with the options of the run, for a shell: the one that makes the changes which `--check` reports, and
//! the one that prints the permissions.

use crate::cli::args::Common;
use crate::cli::configuration;
use crate::cli::find_config::relative;
use crate::cli::kustomizations::Injector;
use crate::cli::run::{OutputMode, RunContext};
use crate::diagnostic::{shell_argument, shell_word};
use crate::inject::Row;
use crate::options::{Direction, ForeignAgents, HandEdits};
use crate::report::Reason;
use std::collections::HashSet;
use std::path::Path;

/// Paths that a command names.
const MAX_PATHS: usize = 20;

/// Returns the options of a run that give its configuration, each behind a blank, for another command that is to say the same.
pub fn configuration_options(common: &Common) -> String {
    let file = configuration::file(common).map(|file| option("--config", &file.to_string_lossy()));
    let none = if common.no_config { " --no-config" } else { "" };
    file.unwrap_or_default() + &settings(common) + none
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
pub fn kustomize_options(arguments: &[String]) -> String {
    let option = |argument: &String| format!(" --kustomize-args={}", shell_argument(argument));
    arguments.iter().map(option).collect()
}

/// Returns the command that prints the permissions for the same input.
pub fn rbac_command(run: RunContext<'_>, needs_namespace: bool) -> String {
    let mut command = "mackerel-agent-injector rbac".to_owned();
    if needs_namespace {
        command += " -n NAMESPACE";
    }
    command += &configuration_options(run.common);
    if let Some(build) = run.build {
        command += &kustomize_options(&build.kustomize_args);
        command += " -k";
    }
    let paths = run.paths.iter().filter(|path| path.as_os_str() != "-");
    let paths: Vec<_> = paths.map(|path| path.to_string_lossy()).collect();
    if paths.is_empty() {
        return command + " -";
    }
    with_paths(&command, paths.iter().map(|path| &**path))
}

/// Returns the command for what kustomize builds of a folder. Kustomize runs no function by `-k`, so the build of one that runs this program
/// is its input.
pub fn build_command(
    command: &str,
    folder: &Path,
    injector: Option<Injector>,
    arguments: &[String],
    common: &Common,
) -> String {
    let folder = folder.to_string_lossy();
    let folder = shell_word(&folder);
    let Some(injector) = injector else {
        let options = configuration_options(common) + &kustomize_options(arguments);
        return format!("mackerel-agent-injector {command}{options} -k {folder}");
    };
    let shown = |path: &Path| {
        let path = relative(path, Path::new("."));
        shell_word(&path.to_string_lossy()).into_owned()
    };
    let (before, config) = match injector {
        Injector::File(file) => (String::new(), shown(&file)),
        Injector::Folder(folder) => {
            let file = "agent-injector-of-build.yaml";
            let before = format!("kustomize build {} > {file} && ", shown(&folder));
            (before, file.to_owned())
        }
        Injector::Inline => (String::new(), "FILE".to_owned()),
    };
    let mut words = vec![
        "--enable-alpha-plugins".to_owned(),
        "--enable-exec".to_owned(),
    ];
    for argument in arguments {
        if !words.contains(argument) {
            words.push(shell_argument(argument));
        }
    }
    let command = match command {
        "inject" | "inject --diff" => "inject --check",
        other => other,
    };
    format!(
        "{before}kustomize build {} {folder} | mackerel-agent-injector {command} --config {config}{} -",
        words.join(" "),
        settings(common)
    )
}

/// Adds the paths. A shell's `**/*.yaml` may have given hundreds, which no line shows.
pub fn with_paths<'p>(command: &str, paths: impl IntoIterator<Item = &'p str>) -> String {
    let paths: Vec<&str> = paths.into_iter().collect();
    if paths.len() > MAX_PATHS {
        return format!("{command} PATH...");
    }
    let mut command = command.to_owned();
    for path in paths {
        command.push(' ');
        command += &shell_word(path);
    }
    command
}

/// Returns the command that makes the changes of a check over files, without their paths. No command changes stdin, or what kustomize builds.
pub fn mend(run: RunContext<'_>) -> Option<String> {
    let is_check = matches!(
        run.mode,
        OutputMode::Check | OutputMode::CheckAndDiff | OutputMode::CheckReport(_)
    );
    let reads_stdin = run.paths.iter().all(|path| path.as_os_str() == "-");
    if !is_check || reads_stdin || run.build.is_some() {
        return None;
    }
    let command = match run.options.direction {
        Direction::Inject => "inject",
        Direction::Uninject => "uninject",
    };
    let adopt = match run.options.foreign_agents {
        ForeignAgents::Respect => "",
        ForeignAgents::Adopt => " --adopt",
        ForeignAgents::AdoptLossy => " --adopt=lossy",
    };
    let overwrites = run.options.hand_edits == HandEdits::Overwrite;
    let force = if overwrites { " --force" } else { "" };
    let options = configuration_options(run.common);
    Some(format!(
        "mackerel-agent-injector {command} -i{adopt}{force}{options}"
    ))
}

/// Adds that command to the first change of each file that has the same reason.
pub fn add_mend(mend: &str, rows: &mut [Row<'_>]) {
    let mut known: HashSet<(String, Reason)> = HashSet::new();
    for row in rows {
        let reason = row.finding.reason;
        let is_change = reason.done().is_some() && row.finding.help.is_none();
        if is_change && known.insert((row.file.to_string(), reason)) {
            let command = with_paths(mend, [&*row.file]);
            row.finding.to_mut().help = Some(format!("run `{command}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundreds_of_paths_are_not_named() {
        let command = |paths: &[&str]| with_paths("inject -i", paths.iter().copied());
        assert_eq!(command(&["a b.yaml", "-c"]), "inject -i 'a b.yaml' ./-c");
        let named = command(&["a"; MAX_PATHS]);
        assert_eq!(named.matches(" a").count(), MAX_PATHS);
        assert_eq!(command(&["a"; MAX_PATHS + 1]), "inject -i PATH...");
    }
}
