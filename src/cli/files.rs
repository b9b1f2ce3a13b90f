//! A run over files and folders.
//!
//! A folder often has other files than manifests, such as `values.yaml` or templates of a chart. A file that the run found in
//! a folder is therefore skipped with a warning where one that the user named is an error.

use crate::cli::Exit;
use crate::cli::discover::{self, DiscoveredFiles, FoundBy, InputFile, has_name_of_kustomization};
use crate::cli::find_config::parent;
use crate::cli::input::{FileText, Unreadable, canonical, looks_like_manifest, read_file};
use crate::cli::kustomizations::{Build, Kustomizations, set_annotations};
use crate::cli::mend::build_command;
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::progress::Progress;
use crate::cli::run::{OutputMode, RunContext};
use crate::cli::session::{NO_RESOURCES, Session, Source, has_no_resources};
use config::{InjectionMode, KIND, OnError};
use injector::{Direction, Input, Row, SharedWork, asks_for_nothing, inject_templates};
use report::{Finding, Reason, enumeration};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Reads the files and folders, and ends the run.
pub fn run(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    run: RunContext<'_>,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    discovered.report(messages);
    let mut reader = FileReader {
        kustomizations: Kustomizations::of_input(discovered),
        session: Session::new(run, messages),
        shared: SharedWork::default(),
        has_resources: false,
        with_templates: BTreeSet::new(),
    };
    for folder in &discovered.chart_templates {
        let reason = Reason::HelmTemplate;
        let help = "to inject it, render the chart first, for example with `helm template`";
        let message = format!("skipped: {}", reason.sentence());
        let finding = Finding::about_input(reason, message).with_help(help);
        reader.session.add_about(&folder.to_string_lossy(), finding);
    }
    let mut progress = Progress::new(reader.session.messages.verbosity() == Verbosity::Errors);
    for (read, file) in discovered.files.iter().enumerate() {
        progress.update(read, discovered.files.len());
        reader.read(file);
    }
    drop(progress);
    let FileReader {
        kustomizations,
        mut session,
        has_resources,
        with_templates,
        ..
    } = reader;
    if run.options.direction == Direction::Inject {
        report_annotations(&kustomizations, &mut session);
        report_builds(&kustomizations, &with_templates, &mut session);
    }
    for folder in paths.iter().filter(|path| path.is_dir()) {
        // An error explains why the run has no resources.
        let is_unexplained = !has_resources && !session.has_errors();
        if is_unexplained || discovered.empty.contains(folder) {
            let message = without_resources(folder, discovered);
            let finding = Finding::about_input(Reason::NoResources, message).with_help(
                "name the directory of the manifests; a chart is injected as it is rendered: `helm template DIR | mackerel-agent-injector inject -`",
            );
            session.add_about(&folder.to_string_lossy(), finding);
        }
    }
    session.check_related();
    session.finish()
}

/// Reports annotations of this program that kustomize sets after the injection, such as `inject: "false"`.
fn report_annotations(kustomizations: &Kustomizations, session: &mut Session<'_>) {
    let message = "kustomize sets this annotation after injection, so it has no effect";
    let finding = Finding::about_input(Reason::KustomizeAnnotation, message)
        .with_help("inject the output of `kustomize build` instead");
    let message = "kustomize sets this label, which has no effect";
    let label = Finding::about_input(Reason::MisplacedAnnotation, message)
        .with_help("set it as an annotation of the pod template");
    let policy = session.run.severity_policy();
    for at in set_annotations(kustomizations) {
        let finding = if at.is_label { &label } else { &finding };
        session.messages.add(Row {
            place: Some(at.place),
            ..policy.row(at.file, Cow::Owned(finding.clone()))
        });
    }
}

/// Returns true if the run depends on the names of namespaces and ServiceAccounts, which kustomize may change.
fn names_count(run: RunContext<'_>) -> bool {
    let select = &run.config.spec.select;
    matches!(run.mode, OutputMode::Permissions)
        || !select.namespaces.is_empty()
        || !select.exclude_namespaces.is_empty()
}

/// Reports kustomizations whose builds differ from the files: a warning where the user named the folder and it has no pod template, else
/// one note for all, and one for those that kustomize cannot build. `with_templates` are the canonical folders with pod templates.
fn report_builds(
    kustomizations: &Kustomizations,
    with_templates: &BTreeSet<PathBuf>,
    session: &mut Session<'_>,
) {
    let run = session.run;
    let differing = kustomizations.differing(names_count(run));
    let named: BTreeSet<_> = run.paths.iter().map(|path| canonical(path)).collect();
    let users = kustomizations.users();
    let mut roots: BTreeSet<&Path> = differing.iter().copied().collect();
    let is_walked = |folder: &Path| kustomizations.walked.contains(folder);
    roots.retain(|folder| {
        let mut users = users.get(folder).into_iter().flatten();
        is_walked(folder) && !users.any(|user| is_walked(user))
    });
    for folder in &named {
        // A folder stands right before what is below it.
        let has_template = with_templates
            .range(folder.clone()..)
            .next()
            .is_some_and(|one| one.starts_with(folder));
        if !has_template
            && differing.contains(&**folder)
            && kustomizations.may_have_templates(folder)
            && let Some(build) = kustomizations.build(folder)
        {
            roots.remove(&**folder);
            let name = build.shown.to_string_lossy();
            let (message, help) = match build.missing {
                Some(missing) => (
                    format!("no pod template: `{missing}` does not exist"),
                    "correct the path".to_owned(),
                ),
                None => (
                    "no pod template: kustomize takes the workloads from elsewhere".to_owned(),
                    format!("use `{}`", command_of(build, run)),
                ),
            };
            let finding = Finding::about_input(Reason::RenderedElsewhere, message).with_help(help);
            session.add_about(&name, finding);
        }
    }
    let broken = kustomizations.broken();
    let (broken, roots): (Vec<&Path>, Vec<&Path>) = roots
        .into_iter()
        .partition(|folder| broken.contains(folder));
    if let Some(folder) = roots.first()
        && let Some(first) = kustomizations.build(folder)
    {
        let line = format!(
            "info: what kustomize builds differs from these files: {}; use `{}`",
            shown(&roots, kustomizations),
            command_of(first, run)
        );
        session.messages.note_line(&line);
    }
    if let Some(folder) = broken.first()
        && let Some(first) = kustomizations.build(folder)
    {
        let line = format!(
            "info: kustomize cannot build {}: `{}` does not exist",
            shown(&broken, kustomizations),
            first.missing.unwrap_or_default()
        );
        session.messages.note_line(&line);
    }
}

/// `a, b, c and 2 more`
fn shown(folders: &[&Path], kustomizations: &Kustomizations) -> String {
    let mut names: Vec<_> = folders
        .iter()
        .filter_map(|folder| kustomizations.build(folder))
        .take(3)
        .map(|build| build.shown.to_string_lossy().into_owned())
        .collect();
    if folders.len() > names.len() {
        names.push(format!("{} more", folders.len() - names.len()));
    }
    enumeration(&names)
}

/// Returns the command for what kustomize builds.
fn command_of(build: Build<'_>, run: RunContext<'_>) -> String {
    let arguments = build.needs_helm.then(|| "--enable-helm".to_owned());
    build_command(
        run.mode.command(),
        build.shown,
        build.injector,
        arguments.as_slice(),
        run.common,
    )
}

/// Returns the warning about a folder without resources.
fn without_resources(folder: &PathBuf, discovered: &DiscoveredFiles) -> &'static str {
    let mut chart_templates = discovered.chart_templates.iter();
    let is_current_folder = folder.as_os_str() == ".";
    if chart_templates.any(|templates| is_current_folder || templates.starts_with(folder)) {
        "the directory has no manifests, only templates of a Helm chart"
    } else if discovered.empty.contains(folder) {
        "the directory has no *.yaml, *.yml or *.json files, except hidden or ignored ones"
    } else {
        "the *.yaml, *.yml and *.json files of the directory have no resources"
    }
}

/// Reads files into a session.
struct FileReader<'r> {
    kustomizations: Kustomizations,
    session: Session<'r>,
    shared: SharedWork,
    /// True if a file has a resource, or a document that cannot be read.
    has_resources: bool,
    /// The canonical folders of files with pod templates.
    with_templates: BTreeSet<PathBuf>,
}

impl FileReader<'_> {
    /// Reads and injects a file, or reports why it cannot be read.
    fn read(&mut self, file: &InputFile) {
        match read_file(&file.path) {
            Ok(content) => self.inject(file, content),
            Err(Unreadable::IsOutput) if file.found_by == FoundBy::Walk => {
                let line = format!(
                    "info: {}: skipped, since it is the output",
                    file.path.display()
                );
                self.session.messages.note_line(&line);
            }
            Err(Unreadable::NotText(binary)) if may_be_other(file, &binary.ascii()) => {
                self.skip(&file.path, &binary.message);
            }
            Err(Unreadable::NotText(binary)) if self.may_be_skipped(&binary.ascii()) => {
                let message = format!("skipped a file that is not text: {}", binary.message);
                self.session
                    .warn(&file.path, Reason::UnreadableFile, message);
            }
            Err(error) => {
                let name = file.path.to_string_lossy();
                self.session.messages.unreadable(&name, &error);
            }
        }
    }

    /// Injects the text of a file and adds the result to the session.
    fn inject(&mut self, file: &InputFile, content: FileText) {
        let FileText { text, state } = content;
        let run = self.session.run;
        let input = Input {
            text: &text,
            patch: self.kustomizations.patches.get(&file.canonical),
            cut: None,
        };
        let options = run.options_for(&text);
        let mut injection = inject_templates(input, run.config, options, &mut self.shared);
        let has_others = injection.without_template() > 0;
        let has_templates = !injection.outcomes.is_empty();
        if has_templates {
            self.with_templates
                .insert(parent(&file.canonical).to_owned());
        }
        // A kustomization needs no kind.
        self.has_resources |= has_templates || has_others || has_name_of_kustomization(&file.path);
        if file.found_by == FoundBy::Name && has_no_resources(&injection) {
            self.session
                .warn(&file.path, Reason::NoResources, NO_RESOURCES);
        }
        if injection.kinds_without_template.has(KIND)
            && !self.kustomizations.configure_function(&file.canonical)
        {
            self.session.report_configuration(&file.path, &text);
        }
        help_with_other_file(file, &text, &mut injection.findings);
        if let Some(unreadable) = injection
            .findings
            .iter()
            .find(|finding| finding.reason == Reason::Uneditable)
            && may_be_other(file, &text)
        {
            return self.skip(&file.path, &unreadable.message);
        }
        // A document that cannot be read may be a resource, and its finding says why there is none.
        self.has_resources |= !injection.findings.is_empty();
        let source = Source {
            state: Some(state),
            kustomization: None,
        };
        self.session.add(&file.path, source, text, injection);
    }

    /// Notes an unreadable file that may be no manifest, instead of an error.
    fn skip(&mut self, path: &Path, cause: &str) {
        let message = format!("skipped a file that does not look like a manifest: {cause}");
        let finding = Finding::about_input(Reason::UnreadableFile, message).note_if(true);
        self.session.add_about(&path.to_string_lossy(), finding);
    }

    /// Returns true if the run may leave out an unreadable file: `onError` is `skip`, or no pod template of it requests injection. Among
    /// printed manifests it would be missing.
    fn may_be_skipped(&self, text: &str) -> bool {
        let (run, spec) = (&self.session.run, &self.session.run.config.spec);
        run.options.direction == Direction::Inject
            && !matches!(run.mode, OutputMode::Manifests)
            && (spec.on_error == OnError::Skip
                || spec.injection == InjectionMode::Annotated && asks_for_nothing(text, run.config))
    }
}

/// Returns true for a file of a folder that may be no manifest at all.
fn may_be_other(file: &InputFile, text: &str) -> bool {
    file.found_by == FoundBy::Walk && !looks_like_manifest(text)
}

/// Gives findings about a file that probably is no manifest, such as a template of a chart, a better help.
fn help_with_other_file(file: &InputFile, text: &str, findings: &mut [Finding]) {
    let is_template =
        file.found_by == FoundBy::Name && discover::is_chart_template(&file.canonical);
    let mut findings = findings
        .iter_mut()
        .filter(|finding| is_template || finding.has_general_help)
        .peekable();
    let help = if is_template {
        "the file is a template of a Helm chart; render it first, for example with `helm template`"
    } else {
        "if the file is a manifest, correct it"
    };
    // Whether a file looks like a manifest is asked once: it may be long, and each of its documents unreadable.
    let is_other = || !(discover::is_manifest(&file.path) && looks_like_manifest(text));
    if findings.peek().is_some() && (is_template || is_other()) {
        findings.for_each(|finding| finding.help = Some(help.to_owned()));
    }
}
