//! `inject` and `uninject`, and the commands that read as they do: over files, folders or stdin.

use crate::cli::Exit;
use crate::cli::discover::{self, DiscoveredFiles, FoundBy, InputFile};
use crate::cli::findings;
use crate::cli::input::{FileText, STDIN, Unreadable, read_file, shows_manifest};
use crate::cli::kustomizations::Kustomizations;
use crate::cli::messages::Messages;
use crate::cli::run::{EntryPoint, OutputMode, RunContext};
use crate::cli::session::Session;
use crate::config::InjectionMode;
use crate::engine::inject_part;
use crate::inject::{Injection, asks_for_nothing};
use crate::options::Direction;
use crate::report::{Finding, Reason};
use std::io;
use std::path::{Path, PathBuf};

/// Reports and writes the result of one text that came on stdin.
pub(crate) fn text(
    text: String,
    entry_point: EntryPoint,
    injection: Injection,
    run: RunContext<'_>,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let mut session = Session::new(run, messages);
    if entry_point == EntryPoint::Command && holds_nothing(&injection) {
        session.warn(STDIN, Reason::NoResources, NOTHING.to_owned())?;
    }
    if !matches!(run.mode, OutputMode::Permissions) {
        session.requirements.clone_from(&injection.requirements);
    }
    session.take(Path::new(STDIN), None, text, injection)?;
    session.report_remarks(Vec::new())?;
    session.finish()
}

/// The warning about an input without manifests: a check that reads nothing would always pass.
const NOTHING: &str = "the input has no resources";

/// Empty, or comments only, or text that is no mapping.
fn holds_nothing(injection: &Injection) -> bool {
    injection.outcomes.is_empty()
        && injection.findings.is_empty()
        && injection.without_template() == 0
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
        let name = folder.display().to_string();
        findings::add_about_input(messages, &name, &finding, run.severity_policy())?;
    }
    let mut reader = FileReader {
        kustomizations: Kustomizations::read(&found.kustomizations, &found.files),
        session: Session::new(run, messages),
        has_resources: false,
    };
    for file in &found.files {
        reader.file(file)?;
    }
    let FileReader {
        kustomizations,
        mut session,
        has_resources,
    } = reader;
    if let Some(note) = kustomizations.into_transformer_note() {
        session.messages.note_line(note.to_string())?;
    }
    for folder in paths.iter().filter(|path| path.is_dir()) {
        let is_empty = found.empty.contains(folder);
        if is_empty || !has_resources && !session.messages.has_errors() {
            let name = folder.display().to_string();
            let message = without_resources(folder, &found).to_owned();
            session.warn(&name, Reason::NoResources, message)?;
        }
    }
    let remarks = session.check_related();
    session.report_remarks(remarks)?;
    session.finish()
}

/// Returns the warning about a folder without resources.
fn without_resources(folder: &PathBuf, found: &DiscoveredFiles) -> &'static str {
    let is_chart = found
        .chart_templates
        .iter()
        .any(|templates| folder.as_os_str() == "." || templates.starts_with(folder));
    if is_chart {
        "the directory has no manifests, only templates of a Helm chart"
    } else if found.empty.contains(folder) {
        "the directory has no *.yaml, *.yml or *.json files, except hidden or ignored ones"
    } else {
        "the *.yaml, *.yml and *.json files of the directory have no resources"
    }
}

/// Reads files into a session.
struct FileReader<'r> {
    kustomizations: Kustomizations,
    session: Session<'r>,
    /// True if a file has a resource; `values.yaml` and `Chart.yaml` have none.
    has_resources: bool,
}

impl FileReader<'_> {
    fn file(&mut self, file: &InputFile) -> anyhow::Result<()> {
        match read_file(&file.path) {
            Ok(read) => self.text(file, read)?,
            Err(Unreadable::NotText(not)) if may_be_other(file, not.ascii().as_bytes()) => {
                self.skip(&file.path, &not.message)?;
            }
            Err(Unreadable::NotText(not)) if self.may_leave_out(&not.ascii()) => {
                let name = file.path.display().to_string();
                let message = format!(
                    "skipped a file that is not text and does not request injection: {}",
                    not.message
                );
                self.session.warn(&name, Reason::UnreadableFile, message)?;
            }
            Err(error) => {
                let name = file.path.display().to_string();
                self.session.messages.unreadable(&name, &error)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, file: &InputFile, read: FileText) -> anyhow::Result<()> {
        let FileText { text, state } = read;
        let run = self.session.run;
        let patch = self.kustomizations.naming(&file.path);
        let mut injection = inject_part(&text, patch, run.config, run.options);
        if run.options.direction == Direction::Inject {
            self.kustomizations
                .add_findings(&file.path, &mut injection.outcomes);
            let prints_permissions = matches!(run.mode, OutputMode::Permissions);
            if !prints_permissions && !injection.edits.is_empty() {
                self.kustomizations.note_transformer(&file.path);
            }
        }
        let has_named = injection.kinds_without_template.has_named();
        self.has_resources |= !injection.outcomes.is_empty() || has_named;
        if file.found_by == FoundBy::Name && holds_nothing(&injection) {
            let name = file.path.display().to_string();
            self.session
                .warn(&name, Reason::NoResources, NOTHING.to_owned())?;
        }
        for finding in &mut injection.findings {
            if let Some(help) = other_than_manifest(&file.path, &text, finding) {
                finding.help = Some(help.to_owned());
            }
        }
        let mut findings = injection.findings.iter();
        let broken = findings.find(|finding| finding.reason == Reason::Uneditable);
        if let Some(broken) = broken
            && may_be_other(file, text.as_bytes())
        {
            self.skip(&file.path, &broken.message)?;
            return Ok(());
        }
        self.session.take(&file.path, Some(state), text, injection)
    }

    /// Skips, with a warning, an unreadable file that does not look like a manifest.
    fn skip(&mut self, path: &Path, why: &str) -> io::Result<()> {
        let message = format!("skipped a file that does not look like a manifest: {why}");
        let name = path.display().to_string();
        self.session.warn(&name, Reason::UnreadableFile, message)
    }

    /// Returns true for a file that asks for nothing, unless stdout would then lack it.
    fn may_leave_out(&self, text: &str) -> bool {
        let run = &self.session.run;
        run.config.spec.injection == InjectionMode::Annotated
            && run.options.direction == Direction::Inject
            && !matches!(run.mode, OutputMode::Manifests)
            && asks_for_nothing(text, run.config)
    }
}

/// Returns true for a file of a folder that may be no manifest at all.
fn may_be_other(file: &InputFile, bytes: &[u8]) -> bool {
    file.found_by == FoundBy::Walk && !shows_manifest(bytes)
}

/// Help for a file that cannot be read and probably is no manifest.
fn other_than_manifest(path: &Path, text: &str, finding: &Finding) -> Option<&'static str> {
    if discover::is_chart_template(path) {
        return Some(
            "the file is a template of a Helm chart; render it first, for example with `helm template`",
        );
    }
    let may_be_manifest = discover::is_manifest(path) && shows_manifest(text.as_bytes());
    if may_be_manifest || !finding.has_general_help {
        return None;
    }
    Some("if the file is a manifest, correct it")
}
