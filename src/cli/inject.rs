//! `inject` and `uninject`: over files, folders or stdin; to stdout, in place, or as a diff, a list, patches.

use crate::agent::prerequisites::Requirement;
use crate::checks::{self, Checked, ProcessedText};
use crate::cli::args::{ExplainFormat, InjectArgs, Output};
use crate::cli::discover::{self, FoundBy, InputFile, plain};
use crate::cli::explain::{self, ExplainRequest};
use crate::cli::findings::{self, MessageWriter, NamedText};
use crate::cli::input::{FileState, FileText, STDIN, Unreadable, read_file, shows_manifest};
use crate::cli::kustomizations::Kustomizations;
use crate::cli::messages::{Messages, RunOutcome, Verbosity};
use crate::cli::{Exit, concatenate, diff, in_place, stdout};
use crate::config::{Config, InjectionMode, Rbac};
use crate::diagnostic::{LineCounter, visible};
use crate::engine::inject_part;
use crate::inject::outcome::{Outcome, Remark};
use crate::inject::severity::SeverityPolicy;
use crate::inject::unknown_kind::GroupKind;
use crate::inject::{CORRECT_IT, Injection, asks_for_nothing};
use crate::manifest::identity::Identity;
use crate::options::{Direction, Options, Permissions, Tense};
use crate::rbac::{self, Grants, RbacCoverage};
use crate::report::{Class, Finding, Reason, SeenMessages};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use yaml_json_patch::ErrorKind;
use yaml_json_patch::edit::{self, Edit, pieces};

/// Entry point of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// No command: a post-renderer, unless a ResourceList comes.
    Helm,
    /// `inject -` or `uninject -`.
    Command,
    /// kustomize's legacy exec plugin: documents, never a ResourceList.
    LegacyPlugin,
}

/// Output of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum OutputMode<'a> {
    /// The manifests, on stdout.
    #[default]
    Manifests,
    /// The files, changed.
    InPlace,
    /// A diff of the changes.
    Diff,
    /// A list of the changes, and the exit code.
    Check,
    /// Both.
    CheckAndDiff,
    /// The changes and the findings for tools of code review, and the exit code.
    CheckReport(ExplainFormat),
    /// RFC 6902 patches.
    Patches,
    /// Decisions with their causes.
    Explanation(ExplainRequest<'a>),
    /// RBAC manifests.
    Permissions,
}

impl OutputMode<'_> {
    /// The command `rbac` prints all permissions, whatever the configuration says about writing them.
    pub(crate) fn configured(self, mut config: Config) -> Config {
        if matches!(self, OutputMode::Permissions) {
            config.spec.rbac = Rbac {
                generate: true,
                allow_nodes_proxy: true,
            };
        }
        config
    }
}

impl From<&InjectArgs> for OutputMode<'_> {
    fn from(over: &InjectArgs) -> Self {
        match (over.in_place, over.check, over.diff, over.output) {
            (true, ..) => OutputMode::InPlace,
            (_, true, _, Some(Output::Github)) => OutputMode::CheckReport(ExplainFormat::Github),
            (_, true, _, Some(Output::Sarif)) => OutputMode::CheckReport(ExplainFormat::Sarif),
            (_, true, true, _) => OutputMode::CheckAndDiff,
            (_, true, false, _) => OutputMode::Check,
            (_, false, true, _) => OutputMode::Diff,
            (.., Some(Output::Patch)) => OutputMode::Patches,
            _ => OutputMode::Manifests,
        }
    }
}

/// A text that is still needed: it is written, or the checks read its other resources.
struct ProcessedFile {
    path: PathBuf,
    /// The path as messages show it.
    name: String,
    state: Option<FileState>,
    text: String,
    injection: Injection,
}

impl ProcessedFile {
    fn edits(&self) -> &[Edit] {
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

/// Arguments of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunRequest<'a> {
    pub(crate) mode: OutputMode<'a>,
    pub(crate) options: Options,
}

/// Arguments and configuration of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContext<'c> {
    pub(crate) mode: OutputMode<'c>,
    pub(crate) options: Options,
    pub(crate) config: &'c Config,
}

impl RunRequest<'_> {
    /// True where the output is manifests in any form, which `rbac.generate` would have to change.
    pub(crate) fn writes_manifests(self) -> bool {
        self.options.direction == Direction::Inject
            && !matches!(
                self.mode,
                OutputMode::Permissions | OutputMode::Explanation(_)
            )
    }
}

impl<'c> RunContext<'c> {
    pub(crate) fn new(asked: RunRequest<'c>, config: &'c Config) -> Self {
        let tense = match asked.mode {
            OutputMode::Manifests | OutputMode::InPlace => Tense::Past,
            _ => Tense::Conditional,
        };
        Self {
            mode: asked.mode,
            options: Options {
                tense,
                ..asked.options
            },
            config,
        }
    }

    /// Sets the place for permissions, unless only permissions are printed.
    pub(crate) fn with(self, permissions: Permissions) -> Self {
        let permissions = if matches!(self.mode, OutputMode::Permissions) {
            Permissions::Leave
        } else {
            permissions
        };
        Self {
            options: Options {
                permissions,
                ..self.options
            },
            ..self
        }
    }

    pub(crate) fn severity_policy(self) -> SeverityPolicy {
        SeverityPolicy::of(self.config, self.options)
    }
}

/// The results of all texts.
struct Session<'c> {
    run: RunContext<'c>,
    texts: Vec<ProcessedFile>,
    requirements: Vec<Requirement>,
    printed: String,
    check_fails: bool,
    /// True if a file has a resource; `values.yaml` and `Chart.yaml` have none.
    has_resources: bool,
    grants: Grants,
    rbac: RbacCoverage,
    /// The notes `unknown-template` of all files, each with the index of its text.
    notes: BTreeMap<GroupKind, (usize, Remark)>,
    /// Messages of earlier texts that are the same for all.
    said: SeenMessages,
}

/// Gives what became of one text that came on stdin.
pub(crate) fn text(
    text: String,
    entry_point: EntryPoint,
    injection: Injection,
    run: RunContext<'_>,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let mut gathered = Session::new(run);
    if entry_point == EntryPoint::Command && holds_nothing(&injection) {
        gathered.warn_empty(messages, STDIN, NOTHING)?;
    }
    if !matches!(run.mode, OutputMode::Permissions) {
        gathered.requirements.clone_from(&injection.requirements);
    }
    gathered.take(Path::new(STDIN), None, text, injection, messages)?;
    gathered.report_remarks(Vec::new(), messages)?;
    gathered.finish(messages)
}

const NOTHING: &str = "the input has no resources";

/// Empty, or comments only, or text that is no mapping.
fn holds_nothing(injection: &Injection) -> bool {
    let Injection {
        outcomes,
        findings,
        without_template,
        ..
    } = injection;
    outcomes.is_empty() && findings.is_empty() && *without_template == 0
}

/// Works over files and folders.
pub(crate) fn files(
    paths: &[PathBuf],
    run: RunContext<'_>,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let found = discover::files(paths);
    for error in &found.errors {
        messages.error(error)?;
    }
    for folder in &found.chart_templates {
        let reason = Reason::HelmTemplate;
        let help = "to inject it, render the chart first, for example with `helm template`";
        let finding = Finding::about_input(reason, reason.sentence()).with_help(help);
        findings::add_about_input(
            messages,
            &folder.display().to_string(),
            &finding,
            run.severity_policy(),
        )?;
    }
    let mut kustomizations = Kustomizations::read(&found.kustomizations, &found.files);
    let mut gathered = Session::new(run);
    for file in &found.files {
        gathered.file(file, &mut kustomizations, messages)?;
    }
    if let Some(note) = kustomizations.into_transformer_note() {
        messages.note_line(note.to_string())?;
    }
    for folder in paths.iter().filter(|path| path.is_dir()) {
        let is_empty = found.empty.contains(folder);
        if !is_empty && (gathered.has_resources || messages.has_errors()) {
            continue;
        }
        let is_within =
            |templates: &PathBuf| folder.as_os_str() == "." || templates.starts_with(folder);
        let why = match found.chart_templates.iter().any(is_within) {
            true => "the directory has no manifests, only templates of a Helm chart",
            false if is_empty => {
                "the directory has no *.yaml, *.yml or *.json files, except hidden or ignored ones"
            }
            false => "the *.yaml, *.yml and *.json files of the directory have no resources",
        };
        gathered.warn_empty(messages, &folder.display().to_string(), why)?;
    }
    let remarks = gathered.check_related();
    gathered.report_remarks(remarks, messages)?;
    gathered.finish(messages)
}

impl<'c> Session<'c> {
    fn new(run: RunContext<'c>) -> Self {
        Self {
            run,
            texts: Vec::new(),
            requirements: Vec::new(),
            printed: String::new(),
            check_fails: false,
            has_resources: false,
            grants: Grants::default(),
            rbac: RbacCoverage::default(),
            notes: BTreeMap::new(),
            said: SeenMessages::new(),
        }
    }

    fn file(
        &mut self,
        file: &InputFile,
        kustomizations: &mut Kustomizations,
        messages: &mut Messages,
    ) -> anyhow::Result<()> {
        let name = file.path.display();
        let may_be_other = |bytes: &[u8]| file.found_by == FoundBy::Walk && !shows_manifest(bytes);
        match read_file(&file.path) {
            Err(Unreadable::NotText(not)) if may_be_other(not.ascii().as_bytes()) => {
                self.skip_file(messages, &file.path, &not.message)?
            }
            Err(Unreadable::NotText(not)) if self.may_leave_out(&not.ascii()) => {
                let message = format!(
                    "skipped a file that is not text and does not request injection: {}",
                    not.message
                );
                self.warn(messages, &name.to_string(), Reason::UnreadableFile, message)?;
            }
            Err(error) => messages.unreadable(&name.to_string(), &error)?,
            Ok(FileText { text, state }) => {
                let patch = kustomizations.naming(&file.path);
                let mut injection = inject_part(&text, patch, self.run.config, self.run.options);
                if self.run.options.direction == Direction::Inject {
                    kustomizations.add_findings(&file.path, &mut injection.outcomes);
                    let prints_permissions = matches!(self.run.mode, OutputMode::Permissions);
                    if !prints_permissions && !injection.edits.is_empty() {
                        kustomizations.note_transformer(&file.path);
                    }
                }
                let Injection {
                    outcomes,
                    kinds_without_template,
                    ..
                } = &injection;
                self.has_resources |= !outcomes.is_empty() || kinds_without_template.has_named();
                if file.found_by == FoundBy::Name && holds_nothing(&injection) {
                    self.warn_empty(messages, &name.to_string(), NOTHING)?;
                }
                for finding in &mut injection.findings {
                    if let Some(help) = other_than_manifest(&file.path, &text, finding) {
                        finding.help = Some(help.to_owned());
                    }
                }
                match injection
                    .findings
                    .iter()
                    .find(|finding| finding.reason == Reason::Uneditable)
                {
                    Some(broken) if may_be_other(text.as_bytes()) => {
                        self.skip_file(messages, &file.path, &broken.message)?
                    }
                    _ => self.take(&file.path, Some(state), text, injection, messages)?,
                }
            }
        }
        Ok(())
    }

    /// A folder holds other files than manifests: one that cannot be read and does not look like one is no reason to stop.
    fn skip_file(&self, messages: &mut Messages, path: &Path, why: &str) -> io::Result<()> {
        let message = format!("skipped a file that does not look like a manifest: {why}");
        self.warn(
            messages,
            &path.display().to_string(),
            Reason::UnreadableFile,
            message,
        )
    }

    /// Returns true for a file that asks for nothing, unless stdout would then lack it.
    fn may_leave_out(&self, text: &str) -> bool {
        let Self {
            run:
                RunContext {
                    mode,
                    options,
                    config,
                },
            ..
        } = self;
        let is_annotated = config.spec.injection == InjectionMode::Annotated;
        let is_looked_for =
            options.direction == Direction::Inject && !matches!(mode, OutputMode::Manifests);
        is_annotated && is_looked_for && asks_for_nothing(text, config)
    }

    /// Warns of an input without manifests: a check that reads nothing would always pass.
    fn warn_empty(&self, messages: &mut Messages, name: &str, why: &str) -> io::Result<()> {
        self.warn(messages, name, Reason::NoResources, why.to_owned())
    }

    /// A warning about an input as a whole.
    fn warn(
        &self,
        messages: &mut Messages,
        name: &str,
        reason: Reason,
        message: String,
    ) -> io::Result<()> {
        let finding = Finding::about_input(reason, message);
        findings::add_about_input(messages, name, &finding, self.run.severity_policy())
    }

    /// Drops the messages about pods, which `inject` reports.
    fn take_permissions(&mut self, injection: &mut Injection) {
        self.grants.take(&injection.outcomes);
        for outcome in &mut injection.outcomes {
            outcome.needs = None;
            outcome.warnings.retain(|warning| match warning.reason {
                Reason::NodesProxy => warning.first_time(&mut self.said),
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
                Entry::Vacant(vacant) => _ = vacant.insert((self.texts.len(), note)),
            }
        }
        self.notes.len() > before
    }

    /// Reports the messages about a text and keeps what is needed of it.
    fn take(
        &mut self,
        path: &Path,
        state: Option<FileState>,
        text: String,
        mut injection: Injection,
        messages: &mut Messages,
    ) -> anyhow::Result<()> {
        if matches!(self.run.mode, OutputMode::Permissions) {
            self.take_permissions(&mut injection);
        }
        if self.run.options.direction == Direction::Inject {
            self.rbac.require(injection.outcomes.iter());
            self.rbac.read(&text, &injection, self.run.config);
        }
        let has_first_note = self.take_notes(&mut injection);
        let name = path.display().to_string();
        let input = NamedText {
            name: &name,
            text: &text,
        };
        let writer = MessageWriter::source_lines(input, messages.colour());
        if !matches!(self.run.mode, OutputMode::Explanation(_)) {
            findings::report(messages, writer, &injection, self.run.options)?;
        }
        let changed = !injection.edits.is_empty();
        self.check_fails |= changed
            || injection
                .diagnostics()
                .any(|reported| reported.fails_check());
        if matches!(self.run.mode, OutputMode::Check | OutputMode::CheckAndDiff)
            && messages.verbosity() != Verbosity::Errors
        {
            list(&mut self.printed, input, &injection);
        }
        let is_given = match self.run.mode {
            OutputMode::Diff | OutputMode::CheckAndDiff => {
                self.printed
                    .push_str(&diff::unified(path, &text, &injection.edits));
                false
            }
            OutputMode::Patches => {
                patches(&mut self.printed, &injection.outcomes)?;
                false
            }
            OutputMode::Manifests | OutputMode::Explanation(_) | OutputMode::CheckReport(_) => true,
            OutputMode::InPlace => changed,
            OutputMode::Check | OutputMode::Permissions => false,
        };
        let says_more =
            !injection.related.is_empty() || injection.outcomes.iter().any(|o| o.needs.is_some());
        if is_given || says_more || has_first_note {
            self.texts.push(ProcessedFile {
                path: path.to_owned(),
                name,
                state,
                text,
                injection,
            });
        }
        Ok(())
    }

    /// Checks the other resources of all files: a Secret may be in another file than its pods.
    fn check_related(&mut self) -> Vec<(usize, Remark)> {
        if self.run.options.direction == Direction::Uninject {
            return Vec::new();
        }
        let parts = self.parts();
        let Checked {
            requirements,
            remarks,
        } = checks::check_inputs(&parts, self.run.config);
        self.requirements = requirements;
        remarks
    }

    /// Reports remarks, each with the index of its text, and the notes about unknown kinds.
    fn report_remarks(
        &mut self,
        mut remarks: Vec<(usize, Remark)>,
        messages: &mut Messages,
    ) -> io::Result<()> {
        remarks.extend(std::mem::take(&mut self.notes).into_values());
        remarks.sort_by_key(|(text, remark)| (*text, remark.finding.offset));
        let is_explained = matches!(self.run.mode, OutputMode::Explanation(_));
        for remarks in remarks
            .chunk_by(|(text, _), (next, _)| text == next)
            .filter(|_| !is_explained)
        {
            let Some(worked) = remarks
                .first()
                .and_then(|(number, _)| self.texts.get(*number))
            else {
                continue;
            };
            let input = NamedText {
                name: &worked.name,
                text: &worked.text,
            };
            let mut writer = MessageWriter::source_lines(input, messages.colour());
            for (_, remark) in remarks {
                let reported = worked.injection.about_resource(remark);
                findings::add(messages, &mut writer, &reported, self.run.options.direction)?;
            }
        }
        for (number, remark) in remarks {
            if let Some(worked) = self.texts.get_mut(number) {
                worked.injection.remarks.push(remark);
            }
        }
        Ok(())
    }

    /// Reports texts to which stdout cannot append another one.
    fn can_be_joined(&self, messages: &mut Messages) -> io::Result<()> {
        let Some(last) = self
            .texts
            .iter()
            .rposition(|worked| !worked.text.is_empty())
        else {
            return Ok(());
        };
        for worked in self
            .texts
            .iter()
            .take(last)
            .filter(|worked| !worked.text.ends_with('\n'))
        {
            if concatenate::must_be_last(&edit::apply(&worked.text, worked.edits())) {
                let word = ErrorKind::OpenBlockScalar.word();
                let message = format!(
                    "{word}: the file ends inside a block scalar without a line break, so the next file would change its value"
                );
                let help = "end the file with a line break, name it last, or use `-i`";
                let finding = Finding::new(Reason::Uneditable, message, worked.text.len(), "")
                    .with_help(help);
                findings::error(
                    messages,
                    NamedText {
                        name: &worked.name,
                        text: &worked.text,
                    },
                    &finding,
                )?;
            }
        }
        Ok(())
    }

    fn parts(&self) -> Vec<ProcessedText<'_>> {
        self.texts.iter().map(ProcessedFile::part).collect()
    }

    /// Writes everything or nothing.
    fn finish(self, messages: &mut Messages) -> anyhow::Result<Exit> {
        let report = match self.run.mode {
            OutputMode::Explanation(how) => {
                return explain::print(
                    how,
                    &self.parts(),
                    &self.requirements,
                    self.run.config,
                    messages,
                );
            }
            OutputMode::CheckReport(format) => Some(explain::check_report(
                format,
                &self.parts(),
                self.run.config,
                messages,
            )?),
            _ => None,
        };
        let mut prepared = Vec::new();
        if matches!(self.run.mode, OutputMode::InPlace) && !messages.has_errors() {
            let changed = self
                .texts
                .iter()
                .filter(|worked| !worked.edits().is_empty());
            for (number, worked) in changed.enumerate() {
                let Some(state) = worked.state else { continue };
                match in_place::prepare(
                    &worked.path,
                    state,
                    pieces(&worked.text, worked.edits()),
                    number,
                ) {
                    Ok(file) => prepared.push(file),
                    Err(error) => messages.error(format!("{}: {}", worked.name, plain(&error)))?,
                }
            }
        }
        if matches!(self.run.mode, OutputMode::Manifests) {
            self.can_be_joined(messages)?;
        }
        if messages.has_errors() {
            let ending = match self.run.mode {
                OutputMode::Manifests => RunOutcome::NothingWritten,
                OutputMode::InPlace => RunOutcome::NothingChanged,
                _ => RunOutcome::NothingShown,
            };
            messages.log_summary(ending)?;
            stdout::write(report.as_deref())?;
            messages.show(Some(ending));
            return Ok(Exit::Trouble);
        }
        let ending = match self.run.mode {
            OutputMode::InPlace => RunOutcome::Changed {
                files: prepared.len(),
            },
            OutputMode::Permissions => RunOutcome::Permitted(&self.grants),
            OutputMode::Manifests if self.texts.iter().any(|worked| worked.state.is_some()) => {
                RunOutcome::Printed
            }
            OutputMode::Manifests => RunOutcome::Given,
            _ => RunOutcome::Shown,
        };
        messages.log_summary(ending)?;
        messages.needed(&self.requirements, self.rbac.is_complete(self.run.config))?;
        match self.run.mode {
            OutputMode::InPlace => in_place::commit(prepared)?,
            OutputMode::Manifests => {
                let texts: Vec<&str> = self.texts.iter().map(|worked| &*worked.text).collect();
                let separators = concatenate::separators(&texts);
                let texts = self.texts.iter().zip(&separators).enumerate();
                let pieces = texts.flat_map(|(index, (worked, separator))| {
                    let pieces = concatenate::joined(index, pieces(&worked.text, worked.edits()));
                    std::iter::once(separator.as_str()).chain(pieces)
                });
                stdout::write(pieces)?;
            }
            OutputMode::Diff | OutputMode::CheckAndDiff => stdout::write_diff(&self.printed)?,
            OutputMode::CheckReport(_) => stdout::write(report.as_deref())?,
            OutputMode::Check | OutputMode::Patches | OutputMode::Explanation(_) => {
                stdout::write([self.printed.as_str()])?
            }
            OutputMode::Permissions => {
                stdout::write([&*rbac::manifest(&self.grants, self.run.config)])?
            }
        }
        messages.show(Some(ending));
        let checked = report.is_some()
            || matches!(self.run.mode, OutputMode::Check | OutputMode::CheckAndDiff);
        Ok(if checked && self.check_fails {
            Exit::Found
        } else {
            Exit::Done
        })
    }
}

/// Help for a file that cannot be read and probably is no manifest.
fn other_than_manifest(path: &Path, text: &str, finding: &Finding) -> Option<&'static str> {
    if discover::is_chart_template(path) {
        return Some(
            "the file is a template of a Helm chart; render it first, for example with `helm template`",
        );
    }
    let may_be_manifest = discover::is_manifest(path) && shows_manifest(text.as_bytes());
    let says_more = may_be_manifest || finding.help.as_deref() != Some(CORRECT_IT);
    (!says_more).then_some("if the file is a manifest, correct it")
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
