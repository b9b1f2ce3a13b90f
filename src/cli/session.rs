//! The texts of one run with their results, which the end of the run prints, writes or checks.

use crate::cli::Exit;
use crate::cli::configuration;
use crate::cli::input::{FileState, canonical};
use crate::cli::mend::{next, rbac_command};
use crate::cli::messages::{Ending, Messages, RunEnd};
use crate::cli::run::{OutputMode, RunContext};
use crate::diff::{self, ChangedLines};
use crate::patches::patches;
use crate::rbac::Grants;
use config::Origin;
use injector::{
    BUILD, Direction, InjectedComponents, Injection, Outcome, ProcessedText, Requirement, Row,
    Unmatched, Warnings, check_inputs, idle_selection, unmatched_namespaces,
};
use report::{Class, Finding, Position, Reason, Severity, visible};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use yaml_json_patch::edit::Edit;

/// A text that the end of the run writes, or whose resources it checks.
pub(super) struct ProcessedFile {
    pub(super) path: PathBuf,
    /// The path in messages.
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) text: String,
    injection: Injection,
}

/// The source of a text: stdin, unless it is a file or a build.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The state of a file when it was read.
    pub(super) state: Option<FileState>,
    /// The kustomization whose folder kustomize has built.
    pub(super) kustomization: Option<String>,
}

/// A function that prints the changes of a text; a diff counts its lines.
pub(super) type Printer = fn(&ProcessedFile, &mut ChangedLines) -> serde_json::Result<String>;

impl ProcessedFile {
    pub(super) fn edits(&self) -> &[Edit] {
        &self.injection.edits
    }

    /// Returns the findings for a review. Those about a build are at the start of its kustomization: the text is in no file.
    pub(super) fn review_rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.injection
            .rows(&self.name, &self.text)
            .map(|row| match &self.source.kustomization {
                Some(kustomization) => row.at_start_of(kustomization),
                None => row,
            })
    }

    /// Returns a line for each resource that changes:
    /// `web.yaml:3:1: apps/v1/Deployment/prod/web: the agent would be added`.
    pub(super) fn list(&self, _: &mut ChangedLines) -> serde_json::Result<String> {
        let mut lines = Vec::new();
        for row in self
            .injection
            .rows(&self.name, &self.text)
            .filter(Row::is_change)
        {
            if let (Some(resource), Some(at)) = (row.subject.resource(), row.review_place()) {
                let Position { line, column, .. } = at;
                let name = resource.identity.full_name();
                let (file, change) = (&row.file, &row.finding.message);
                lines.push(format!("{file}:{line}:{column}: {name}: {change}"));
            }
        }
        let mut list = String::new();
        // Several pod templates of one resource have the same line.
        for alike in lines.chunk_by(|one, next| one == next) {
            let Some(line) = alike.first() else { continue };
            list.push_str(&visible(line));
            if alike.len() > 1 {
                list += &format!(" in {} pod templates", alike.len());
            }
            list.push('\n');
        }
        Ok(list)
    }

    /// Returns the diff, with a head if it is no patch for a file.
    pub(super) fn diff(&self, lines: &mut ChangedLines) -> serde_json::Result<String> {
        let diff = diff::unified(&self.path, &self.text, self.edits(), lines);
        if self.source.kustomization.is_none() || diff.is_empty() {
            return Ok(diff);
        }
        let name = visible(&self.name);
        Ok(format!("{name}, no patch for files:\n{diff}"))
    }

    /// Returns the JSON Patches.
    pub(super) fn patches(&self, _: &mut ChangedLines) -> serde_json::Result<String> {
        patches(&self.injection)
    }

    pub(super) fn processed_text(&self) -> ProcessedText<'_> {
        ProcessedText {
            name: &self.name,
            text: &self.text,
            injection: &self.injection,
        }
    }
}

/// The texts of a run and their messages.
pub(super) struct Session<'r> {
    pub(super) run: RunContext<'r>,
    pub(super) messages: &'r mut Messages,
    pub(super) files: Vec<ProcessedFile>,
    /// Objects that must exist for the injected pods.
    pub(super) requirements: Vec<Requirement>,
    /// Permissions for the command `rbac`.
    pub(super) grants: Grants,
}

impl<'r> Session<'r> {
    pub(super) fn new(run: RunContext<'r>, messages: &'r mut Messages) -> Self {
        Self {
            run,
            messages,
            files: Vec::new(),
            requirements: Vec::new(),
            grants: Grants::default(),
        }
    }

    /// Adds a finding about an input or a setting as a whole.
    pub(super) fn add_about(&mut self, name: &str, finding: Finding) {
        let policy = self.run.severity_policy();
        self.messages.add_about(name, finding, policy);
    }

    /// Adds a warning about an input as a whole.
    pub(super) fn warn(&mut self, path: &Path, reason: Reason, message: impl Into<String>) {
        let finding = Finding::about_input(reason, message);
        self.add_about(&path.to_string_lossy(), finding);
    }

    /// Reports a configuration among the manifests of a text. Where the user has chosen another one, or the defaults, this is information.
    pub(super) fn report_configuration(&mut self, path: &Path, text: &str) {
        let RunContext {
            config,
            options,
            common,
            ..
        } = self.run;
        // kustomize or kpt gives it to a function.
        let mut for_tools = ["io/function", "io/local-config"].iter();
        let named = configuration::file(common);
        if options.direction == Direction::Uninject
            || for_tools.any(|annotation| text.contains(annotation))
            || named
                .as_deref()
                .is_some_and(|file| canonical(file) == canonical(path))
        {
            return;
        }
        let mut settings = config.explicit();
        let is_chosen = common.no_config
            || named.is_some()
            || settings.any(|(_, origin)| matches!(origin, Origin::Configuration { .. }));
        let message = "a configuration was found, but is not used";
        let help = "to use it, add `--config FILE`; if another run does, annotate it with `config.kubernetes.io/local-config: \"true\"`";
        let finding = Finding::about_input(Reason::ConfigurationUnused, message)
            .with_help(help)
            .note_if(is_chosen);
        self.add_about(&path.to_string_lossy(), finding);
    }

    /// Adds a text with its result.
    pub(super) fn add(
        &mut self,
        path: &Path,
        source: Source,
        mut text: String,
        mut injection: Injection,
    ) {
        if matches!(self.run.mode, OutputMode::Permissions) {
            self.keep_permissions(&mut injection);
        }
        // The end of the run reads a text for its findings alone, and most files of a repository have none.
        if !matches!(self.run.mode, OutputMode::Manifests) && !injection.needs_text() {
            text = String::new();
        }
        let name = match source.kustomization {
            Some(_) => build_name(path),
            None => path.to_string_lossy().into_owned(),
        };
        self.files.push(ProcessedFile {
            path: path.to_owned(),
            name,
            source,
            text,
            injection,
        });
    }

    /// Collects the permissions for the command `rbac`. Drops the findings about pods, which are for `inject` to report.
    fn keep_permissions(&mut self, injection: &mut Injection) {
        self.grants.take(&mut injection.outcomes, self.run.config);
        for outcome in &mut injection.outcomes {
            outcome.components = InjectedComponents::default();
            outcome.warnings.retain(|warning| {
                let reason = warning.reason;
                matches!(reason, Reason::NodesProxy | Reason::InvalidName)
                    || reason.class() == Class::Refused
            });
        }
        injection.related.clear();
        injection.remarks.retain(|remark| {
            matches!(
                remark.finding.reason,
                Reason::UnknownKind | Reason::UnknownTemplate
            )
        });
    }

    /// Reports what `select` names and the input has not: namespaces of any input; kinds and exclusions of folders and builds, since a
    /// single file may be one that a hook passes.
    pub(super) fn check_selection(&mut self) {
        if self.run.options.direction == Direction::Uninject {
            return;
        }
        let (texts, config) = (self.texts(), self.run.config);
        let mut unmatched = Vec::from_iter(unmatched_namespaces(&texts, config));
        if self.run.paths.iter().any(|path| path.is_dir()) {
            unmatched.extend(idle_selection(&texts, config));
        }
        for Unmatched { origin, finding } in unmatched {
            if finding.is_note {
                let line = format!("info: {origin}: {}", finding.message);
                self.messages.note_line(&line);
            } else {
                self.add_about(&origin, finding);
            }
        }
    }

    /// Returns the texts with their results.
    pub(super) fn texts(&self) -> Vec<ProcessedText<'_>> {
        self.files
            .iter()
            .map(ProcessedFile::processed_text)
            .collect()
    }

    pub(super) fn has_errors(&self) -> bool {
        let has_error = |file: &ProcessedFile| file.injection.errors().next().is_some();
        self.messages.has_errors() || self.files.iter().any(has_error)
    }

    /// Returns the exit code of a run that writes nothing: after an error, and with `--strict` after a warning.
    pub(super) fn held_back(&self) -> Option<Exit> {
        if self.has_errors() {
            Some(Exit::Trouble)
        } else {
            self.has_strict_warnings().then_some(Exit::Found)
        }
    }

    /// Returns true if there are warnings, and `--strict` is set.
    pub(super) fn has_strict_warnings(&self) -> bool {
        let is_warning = |row: &Row<'_>| row.severity == Severity::Warning;
        self.run.options.warnings == Warnings::Refuse
            && (self.messages.rows().iter().any(is_warning)
                || self
                    .files
                    .iter()
                    .any(|file| file.injection.held_back_by().next().is_some()))
    }

    /// Returns true if `--check` exits with 1.
    pub(super) fn check_fails(&self) -> bool {
        self.files.iter().any(|file| file.injection.fails_check())
    }

    pub(super) fn end(&self, ending: Ending) -> RunEnd<'_> {
        RunEnd {
            ending,
            texts: self.texts(),
            requirements: &self.requirements,
            options: self.run.options,
            rbac: self.rbac(),
            next: match self.run.mode {
                OutputMode::Permissions
                    if io::stdout().is_terminal()
                        && !self.run.reads_stdin()
                        && self.grants.nothing().is_none() =>
                {
                    Some(self.rbac())
                }
                _ => next(self.run),
            },
            has_folder: self.run.paths.iter().any(|path| path.is_dir()),
            configuration: configuration::file(self.run.common)
                .map(|file| file.to_string_lossy().into_owned()),
        }
    }

    /// Returns the command that applies the permissions.
    pub(super) fn rbac(&self) -> String {
        let needs_namespace = self
            .files
            .iter()
            .flat_map(|file| &file.injection.outcomes)
            .filter_map(Outcome::rbac_subject)
            .any(|subject| subject.namespace.is_none());
        rbac_command(self.run, needs_namespace) + " | kubectl apply -f -"
    }

    /// Checks the resources of all files together, since a Secret may be in another file than its pods.
    pub(super) fn check_related(&mut self) {
        if self.run.options.direction == Direction::Uninject {
            return;
        }
        let checked = check_inputs(&self.texts(), self.run.config);
        self.requirements = checked.requirements;
        for (file, remark) in checked.remarks {
            if let Some(file) = self.files.get_mut(file) {
                file.injection.remarks.push(remark);
            }
        }
    }
}

/// Returns the name of what kustomize builds.
pub(super) fn build_name(folder: &Path) -> String {
    format!("{BUILD}{}", folder.display())
}

/// The warning about an input without resources: a check of such an input would always pass.
pub(super) const NO_RESOURCES: &str = "the input has no resources";

/// Returns true for an input that is empty, or has only comments or values that are no mapping.
pub(super) fn has_no_resources(injection: &Injection) -> bool {
    injection.outcomes.is_empty()
        && injection.findings.is_empty()
        && injection.kinds_without_template.is_empty()
}
