//! The texts of one run with their results, which the end of the run prints, writes or checks.

use crate::agent::prerequisites::Requirement;
use crate::checks::{self, Checked, ProcessedText};
use crate::cli::configuration;
use crate::cli::diff;
use crate::cli::findings::{self, MessageWriter, NamedText};
use crate::cli::input::{FileState, canonical};
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::run::{OutputMode, RunContext};
use crate::config::Origin;
use crate::diagnostic::{LineCounter, visible, visible_json};
use crate::inject::Injection;
use crate::inject::outcome::{InjectedComponents, Outcome, Remark};
use crate::manifest::identity::Identity;
use crate::manifest::related::RelatedKind;
use crate::options::{Direction, Tense};
use crate::rbac::Grants;
use crate::report::{Class, Finding, Reason, SeenMessages};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use yaml_json_patch::edit::Edit;

/// A text that the end of the run writes, or whose resources it checks.
pub(super) struct ProcessedFile {
    pub(super) path: PathBuf,
    /// The path in messages.
    pub(super) name: String,
    /// State of the file when it was read; none for stdin.
    pub(super) state: Option<FileState>,
    pub(super) text: String,
    injection: Injection,
}

impl ProcessedFile {
    pub(super) fn edits(&self) -> &[Edit] {
        &self.injection.edits
    }

    fn processed_text(&self) -> ProcessedText<'_> {
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
    /// The diff, the list of changes or the patches.
    pub(super) printed: String,
    /// True if `--check` exits with 1.
    pub(super) check_fails: bool,
    /// Permissions for the command `rbac`.
    pub(super) grants: Grants,
    /// Warnings that were reported and are reported once per run.
    seen: SeenMessages,
}

/// A remark about a resource of a file.
pub(super) struct FileRemark {
    /// Index of the file in the session.
    file: usize,
    remark: Remark,
}

impl<'r> Session<'r> {
    pub(super) fn new(run: RunContext<'r>, messages: &'r mut Messages) -> Self {
        Self {
            run,
            messages,
            files: Vec::new(),
            requirements: Vec::new(),
            printed: String::new(),
            check_fails: false,
            grants: Grants::default(),
            seen: SeenMessages::new(),
        }
    }

    /// Adds a warning about an input as a whole.
    pub(super) fn warn(
        &mut self,
        path: &Path,
        reason: Reason,
        message: impl Into<String>,
    ) -> io::Result<()> {
        let finding = Finding::about_input(reason, message);
        let policy = self.run.severity_policy();
        findings::add_about_input(self.messages, &path.to_string_lossy(), &finding, policy)
    }

    /// Reports a configuration among the manifests of a text. Where the user has chosen another one, or the defaults, this is information.
    pub(super) fn report_configuration(&mut self, path: &Path, text: &str) -> io::Result<()> {
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
            return Ok(());
        }
        let mut settings = config.explicit();
        let is_chosen = common.no_config
            || named.is_some()
            || settings.any(|(_, origin)| matches!(origin, Origin::Configuration { .. }));
        let message = "a configuration was found, but is not used";
        let finding = Finding::about_input(Reason::ConfigurationUnused, message);
        let finding = finding.with_help(
            "to use it, add `--config FILE`; if another run does, annotate it with `config.kubernetes.io/local-config: \"true\"`",
        );
        let policy = self.run.severity_policy();
        let name = path.to_string_lossy();
        findings::add_about_input(self.messages, &name, &finding.note_if(is_chosen), policy)
    }

    /// Adds a text with its result: reports its findings, and keeps it if the end of the run needs it.
    pub(super) fn add(
        &mut self,
        path: &Path,
        state: Option<FileState>,
        text: String,
        mut injection: Injection,
    ) -> anyhow::Result<()> {
        if matches!(self.run.mode, OutputMode::Permissions) {
            self.keep_permissions(&mut injection);
        }
        let name = path.to_string_lossy().into_owned();
        let input = NamedText {
            name: &name,
            text: &text,
        };
        if matches!(self.run.mode, OutputMode::Explanation(_)) {
            let kinds = &injection.kinds_without_template;
            self.messages.count_without_template(kinds);
        } else {
            let writer = MessageWriter::source_lines(input, self.messages.colour());
            findings::report(self.messages, writer, &injection, self.run.options)?;
        }
        let is_changed = !injection.edits.is_empty();
        self.check_fails |= injection.fails_check();
        self.print(path, input, &injection)?;
        let is_written = match self.run.mode {
            OutputMode::Manifests | OutputMode::Explanation(_) | OutputMode::CheckReport(_) => true,
            OutputMode::InPlace => is_changed,
            _ => false,
        };
        let mut outcomes = injection.outcomes.iter();
        let has_agent = outcomes.any(|outcome| outcome.agent().is_some());
        let mut related = injection.related.iter();
        let is_checked =
            has_agent || related.any(|location| location.kind != RelatedKind::Permission);
        if is_written || is_checked {
            self.files.push(ProcessedFile {
                path: path.to_owned(),
                name,
                state,
                text,
                injection,
            });
        }
        Ok(())
    }

    /// Adds the diff, the list of changes or the patches of a text to the output.
    fn print(
        &mut self,
        path: &Path,
        input: NamedText<'_>,
        injection: &Injection,
    ) -> serde_json::Result<()> {
        if matches!(self.run.mode, OutputMode::Check | OutputMode::CheckAndDiff)
            && self.messages.verbosity() != Verbosity::Errors
        {
            list_changes(&mut self.printed, input, injection);
        }
        match self.run.mode {
            OutputMode::Diff | OutputMode::CheckAndDiff => {
                self.printed += &diff::unified(path, input.text, &injection.edits);
            }
            OutputMode::Patches => list_patches(&mut self.printed, &injection.outcomes)?,
            _ => {}
        }
        Ok(())
    }

    /// Collects the permissions for the command `rbac`. Drops the findings about pods, which are for `inject` to report.
    fn keep_permissions(&mut self, injection: &mut Injection) {
        self.grants.take(&mut injection.outcomes, self.run.config);
        for outcome in &mut injection.outcomes {
            outcome.components = InjectedComponents::default();
            outcome.warnings.retain(|warning| match warning.reason {
                Reason::NodesProxy => warning.first_time(&mut self.seen),
                reason => reason.class() == Class::Refused,
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

    /// Returns the texts with their results.
    pub(super) fn texts(&self) -> Vec<ProcessedText<'_>> {
        let files = self.files.iter();
        files.map(ProcessedFile::processed_text).collect()
    }

    /// Checks the resources of all files together, since a Secret may be in another file than its pods.
    pub(super) fn check_related(&mut self) -> Vec<FileRemark> {
        if self.run.options.direction == Direction::Uninject {
            return Vec::new();
        }
        let Checked {
            requirements,
            remarks,
            scalings,
        } = checks::check_inputs(&self.texts(), self.run.config);
        self.requirements = requirements;
        for (file, scaling) in scalings {
            if let Some(file) = self.files.get_mut(file) {
                file.injection.scalings.push(scaling);
            }
        }
        let remarks = remarks.into_iter();
        remarks
            .map(|(file, remark)| FileRemark { file, remark })
            .collect()
    }

    /// Reports the remarks about related resources.
    pub(super) fn report_remarks(&mut self, remarks: Vec<FileRemark>) -> io::Result<()> {
        if !matches!(self.run.mode, OutputMode::Explanation(_)) {
            for remarks in remarks.chunk_by(|one, next| one.file == next.file) {
                self.report_remarks_of_one_file(remarks)?;
            }
        }
        for FileRemark { file, remark } in remarks {
            if let Some(file) = self.files.get_mut(file) {
                file.injection.remarks.push(remark);
            }
        }
        Ok(())
    }

    fn report_remarks_of_one_file(&mut self, remarks: &[FileRemark]) -> io::Result<()> {
        let first = remarks.first();
        let Some(file) = first.and_then(|first| self.files.get(first.file)) else {
            return Ok(());
        };
        let input = NamedText {
            name: &file.name,
            text: &file.text,
        };
        let mut writer = MessageWriter::source_lines(input, self.messages.colour());
        for FileRemark { remark, .. } in remarks {
            let reported = file.injection.about_resource(remark);
            let direction = self.run.options.direction;
            findings::add(self.messages, &mut writer, &reported, direction)?;
        }
        Ok(())
    }
}

/// The warning about an input without resources: a check of such an input would always pass.
pub(super) const NO_RESOURCES: &str = "the input has no resources";

/// Returns true for an input that is empty, or has only comments or values that are no mapping.
pub(super) fn has_no_resources(injection: &Injection) -> bool {
    injection.outcomes.is_empty()
        && injection.findings.is_empty()
        && injection.without_template() == 0
}

/// Adds a line for each resource that changes:
/// `web.yaml:3:1: apps/v1/Deployment/prod/web: the agent would be added`.
fn list_changes(list: &mut String, input: NamedText<'_>, injection: &Injection) {
    let mut counter = LineCounter::new(input.text.as_bytes());
    let mut lines = Vec::new();
    for outcome in &injection.outcomes {
        let (Some(about), Some(done)) = (outcome.about, outcome.decision.reason.done()) else {
            continue;
        };
        let change = match outcome.decision.reason {
            // The message names the settings that differ.
            Reason::Updated => outcome.decision.message.clone(),
            _ => about.passive(Tense::Conditional, done),
        };
        let position = counter.position(outcome.offset);
        let resource = outcome.identity.full_name();
        lines.push(format!(
            "{}:{}:{}: {resource}: {change}",
            input.name, position.line, position.column
        ));
    }
    // Several pod templates of one resource have the same line.
    for alike in lines.chunk_by(|one, next| one == next) {
        let Some(line) = alike.first() else { continue };
        list.push_str(&visible(line));
        if alike.len() > 1 {
            *list += &format!(" in {} pod templates", alike.len());
        }
        list.push('\n');
    }
}

/// One line of `--output patch`.
#[derive(Serialize)]
struct ResourcePatch<'o> {
    #[serde(flatten)]
    identity: &'o Identity,
    patch: Vec<&'o json_patch::PatchOperation>,
}

/// Adds a line of JSON for each resource that changes. A resource may have several pod templates.
fn list_patches(lines: &mut String, outcomes: &[Outcome]) -> serde_json::Result<()> {
    for resource in outcomes.chunk_by(|one, next| one.offset == next.offset) {
        let patch: Vec<_> = resource
            .iter()
            .flat_map(|outcome| outcome.patch.iter())
            .collect();
        if let (Some(Outcome { identity, .. }), false) = (resource.first(), patch.is_empty()) {
            let line = serde_json::to_string(&ResourcePatch { identity, patch })?;
            lines.push_str(&visible_json(&line));
            lines.push('\n');
        }
    }
    Ok(())
}
