//! The texts of one run: the messages about each, and what is still needed of it at the end.

use crate::agent::prerequisites::Requirement;
use crate::checks::{self, Checked, ProcessedText};
use crate::cli::diff;
use crate::cli::findings::{self, MessageWriter, NamedText};
use crate::cli::input::FileState;
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::run::{OutputMode, RunContext};
use crate::diagnostic::{LineCounter, visible};
use crate::inject::Injection;
use crate::inject::outcome::{InjectedComponents, Outcome, Remark};
use crate::inject::unknown_kind::GroupKind;
use crate::manifest::identity::Identity;
use crate::options::{Direction, Tense};
use crate::rbac::{Grants, RbacCoverage};
use crate::report::{Class, Finding, Reason, SeenMessages};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use yaml_json_patch::edit::Edit;

/// A text that is still needed: it is written, or the checks read its other resources.
pub(super) struct ProcessedFile {
    pub(super) path: PathBuf,
    /// The path as messages show it.
    pub(super) name: String,
    /// None for stdin.
    pub(super) state: Option<FileState>,
    pub(super) text: String,
    injection: Injection,
}

impl ProcessedFile {
    pub(super) fn edits(&self) -> &[Edit] {
        &self.injection.edits
    }

    fn part(&self) -> ProcessedText<'_> {
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
    /// The texts that are still needed.
    pub(super) files: Vec<ProcessedFile>,
    pub(super) requirements: Vec<Requirement>,
    /// The diff, list or patches.
    pub(super) printed: String,
    pub(super) check_fails: bool,
    pub(super) grants: Grants,
    pub(super) rbac: RbacCoverage,
    /// The notes `unknown-template` of all files, each with the index of its text.
    notes: BTreeMap<GroupKind, (usize, Remark)>,
    /// Messages of earlier texts that are the same for all.
    seen: SeenMessages,
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
            rbac: RbacCoverage::default(),
            notes: BTreeMap::new(),
            seen: SeenMessages::new(),
        }
    }

    /// Adds a warning about an input as a whole.
    pub(super) fn warn(&mut self, name: &str, reason: Reason, message: String) -> io::Result<()> {
        let finding = Finding::about_input(reason, message);
        let policy = self.run.severity_policy();
        findings::add_about_input(self.messages, name, &finding, policy)
    }

    /// Reports the messages about a text and keeps what is needed of it.
    pub(super) fn take(
        &mut self,
        path: &Path,
        state: Option<FileState>,
        text: String,
        mut injection: Injection,
    ) -> anyhow::Result<()> {
        if self.run.options.direction == Direction::Inject {
            self.rbac.require(injection.outcomes.iter());
            self.rbac.read(&text, &injection, self.run.config);
        }
        if matches!(self.run.mode, OutputMode::Permissions) {
            self.take_permissions(&mut injection);
        }
        let has_first_note = self.take_notes(&mut injection);
        let name = path.display().to_string();
        let input = NamedText {
            name: &name,
            text: &text,
        };
        if !matches!(self.run.mode, OutputMode::Explanation(_)) {
            let writer = MessageWriter::source_lines(input, self.messages.colour());
            findings::report(self.messages, writer, &injection, self.run.options)?;
        }
        let is_changed = !injection.edits.is_empty();
        self.check_fails |= is_changed
            || injection
                .diagnostics()
                .any(|reported| reported.fails_check());
        self.print(path, input, &injection)?;
        let is_written = match self.run.mode {
            OutputMode::Manifests | OutputMode::Explanation(_) | OutputMode::CheckReport(_) => true,
            OutputMode::InPlace => is_changed,
            _ => false,
        };
        let has_agent = injection.outcomes.iter().any(|o| o.agent().is_some());
        let is_checked = !injection.related.is_empty() || has_agent;
        if is_written || is_checked || has_first_note {
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

    /// Adds the changes of a text to what is printed.
    fn print(
        &mut self,
        path: &Path,
        input: NamedText<'_>,
        injection: &Injection,
    ) -> serde_json::Result<()> {
        if matches!(self.run.mode, OutputMode::Check | OutputMode::CheckAndDiff)
            && self.messages.verbosity() != Verbosity::Errors
        {
            list(&mut self.printed, input, injection);
        }
        match self.run.mode {
            OutputMode::Diff | OutputMode::CheckAndDiff => {
                self.printed += &diff::unified(path, input.text, &injection.edits);
            }
            OutputMode::Patches => patches(&mut self.printed, &injection.outcomes)?,
            _ => {}
        }
        Ok(())
    }

    /// Drops the messages about pods, which `inject` reports.
    fn take_permissions(&mut self, injection: &mut Injection) {
        self.grants.take(&injection.outcomes);
        for outcome in &mut injection.outcomes {
            outcome.components = InjectedComponents::default();
            outcome.warnings.retain(|warning| match warning.reason {
                Reason::NodesProxy => warning.first_time(&mut self.seen),
                reason => reason.class() == Class::Refused,
            });
        }
        injection.related.clear();
        let is_of_a_kind = |reason| matches!(reason, Reason::UnknownKind | Reason::UnknownTemplate);
        injection
            .remarks
            .retain(|remark| is_of_a_kind(remark.finding.reason));
    }

    /// Adds the notes about unknown kinds to those of earlier texts. Returns true if one is the first about its kind.
    fn take_notes(&mut self, injection: &mut Injection) -> bool {
        let before = self.notes.len();
        for note in injection
            .remarks
            .extract_if(.., |remark| remark.unknown.is_some())
        {
            let Some(unknown) = note.unknown.clone() else {
                continue;
            };
            match self.notes.entry(unknown.kind.clone()) {
                Entry::Occupied(mut first) => first.get_mut().1.absorb(unknown),
                Entry::Vacant(vacant) => _ = vacant.insert((self.files.len(), note)),
            }
        }
        self.notes.len() > before
    }

    /// Returns the texts with their results.
    pub(super) fn texts(&self) -> Vec<ProcessedText<'_>> {
        self.files.iter().map(ProcessedFile::part).collect()
    }

    /// Checks the other resources of all files: a Secret may be in another file than its pods.
    pub(super) fn check_related(&mut self) -> Vec<(usize, Remark)> {
        if self.run.options.direction == Direction::Uninject {
            return Vec::new();
        }
        let Checked {
            requirements,
            remarks,
        } = checks::check_inputs(&self.texts(), self.run.config);
        self.requirements = requirements;
        remarks
    }

    /// Reports remarks, each with the index of its text, and the notes about unknown kinds.
    pub(super) fn report_remarks(&mut self, mut remarks: Vec<(usize, Remark)>) -> io::Result<()> {
        remarks.extend(std::mem::take(&mut self.notes).into_values());
        remarks.sort_by_key(|(text, remark)| (*text, remark.finding.offset));
        if !matches!(self.run.mode, OutputMode::Explanation(_)) {
            for of_one_text in remarks.chunk_by(|(text, _), (next, _)| text == next) {
                let first = of_one_text.first();
                let Some(file) = first.and_then(|(index, _)| self.files.get(*index)) else {
                    continue;
                };
                let input = NamedText {
                    name: &file.name,
                    text: &file.text,
                };
                let mut writer = MessageWriter::source_lines(input, self.messages.colour());
                for (_, remark) in of_one_text {
                    let reported = file.injection.about_resource(remark);
                    let direction = self.run.options.direction;
                    findings::add(self.messages, &mut writer, &reported, direction)?;
                }
            }
        }
        for (index, remark) in remarks {
            if let Some(file) = self.files.get_mut(index) {
                file.injection.remarks.push(remark);
            }
        }
        Ok(())
    }
}

/// `web.yaml:3:1: apps/v1/Deployment/prod/web: the agent would be added`
fn list(list: &mut String, input: NamedText<'_>, injection: &Injection) {
    let mut counter = LineCounter::new(input.text.as_bytes());
    let mut lines = Vec::new();
    for outcome in &injection.outcomes {
        let (Some(about), Some(done)) = (outcome.about, outcome.decision.reason.done()) else {
            continue;
        };
        let would = about.passive(Tense::Conditional, done);
        let at = counter.position(outcome.offset);
        let resource = outcome.identity.full_name();
        lines.push(format!(
            "{}:{}:{}: {resource}: {would}",
            input.name, at.line, at.column
        ));
    }
    for (change, identity) in &injection.permissions {
        lines.push(format!(
            "{}: {} would be {}",
            input.name,
            identity.full_name(),
            change.word()
        ));
    }
    // A resource may have several templates.
    for alike in lines.chunk_by(|one, next| one == next) {
        let count = if alike.len() > 1 {
            format!(" in {} pod templates", alike.len())
        } else {
            String::new()
        };
        list.extend(
            alike
                .first()
                .map(|line| format!("{}{count}\n", visible(line))),
        );
    }
}

/// One line of `--output patch`.
#[derive(Serialize)]
struct ResourcePatch<'o> {
    #[serde(flatten)]
    identity: &'o Identity,
    patch: Vec<&'o json_patch::PatchOperation>,
}

/// Writes one object per resource and line; a resource may hold several pod templates.
fn patches(lines: &mut String, outcomes: &[Outcome]) -> serde_json::Result<()> {
    for resource in outcomes.chunk_by(|one, next| one.offset == next.offset) {
        let patch: Vec<_> = resource
            .iter()
            .flat_map(|outcome| outcome.patch.iter())
            .collect();
        if let (Some(Outcome { identity, .. }), false) = (resource.first(), patch.is_empty()) {
            lines.push_str(&serde_json::to_string(&ResourcePatch { identity, patch })?);
            lines.push('\n');
        }
    }
    Ok(())
}
