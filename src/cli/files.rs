//! A run over files and folders.
//!
//! A folder often has other files than manifests, such as `values.yaml` or templates of a chart. A file that the run found in
//! a folder is therefore skipped with a warning where one that the user named is an error.

use crate::cli::Exit;
use crate::cli::discover::{self, DiscoveredFiles, FoundBy, InputFile, has_name_of_kustomization};
use crate::cli::find_config::parent;
use crate::cli::input::{FileText, Unreadable, canonical, looks_like_manifest, read_file};
use crate::cli::kustomizations::{
    Build, Builds, Functions, Graph, Injectors, RenderedElsewhere, rendered_elsewhere,
    set_annotations,
};
use crate::cli::mend::build_command;
use crate::cli::messages::Messages;
use crate::cli::run::{OutputMode, RunContext};
use crate::cli::session::{NO_RESOURCES, Session, Source, has_no_resources};
use crate::config::{InjectionMode, KIND, OnError};
use crate::inject::totals::plural;
use crate::inject::{Input, Outcome, Row, SharedWork, asks_for_nothing, inject_templates};
use crate::options::Direction;
use crate::report::{Finding, Reason};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Reads the files and folders, and ends the run.
pub fn run(
    paths: &[PathBuf],
    discovered: &DiscoveredFiles,
    run: RunContext<'_>,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    discovered.report(messages)?;
    let graph = Graph::of_input(discovered);
    let builds = Builds::of(&graph);
    let injectors = Injectors::of(&graph);
    let mut reader = FileReader {
        graph: &graph,
        builds: &builds,
        functions: Functions::of(&graph),
        session: Session::new(run, messages),
        shared: SharedWork::default(),
        has_resources: false,
        with_templates: BTreeSet::new(),
        renaming: Renaming::default(),
        moving: BTreeSet::new(),
    };
    for folder in &discovered.chart_templates {
        let reason = Reason::HelmTemplate;
        let help = "to inject it, render the chart first, for example with `helm template`";
        let message = format!("skipped: {}", reason.sentence());
        let finding = Finding::about_input(reason, message).with_help(help);
        reader
            .session
            .add_about(&folder.to_string_lossy(), finding)?;
    }
    for file in &discovered.files {
        reader.read(file)?;
    }
    let FileReader {
        mut session,
        has_resources,
        with_templates,
        renaming,
        moving,
        ..
    } = reader;
    report_annotations(&graph, &mut session)?;
    report_other_names(renaming, &injectors, &mut session)?;
    let named: HashSet<PathBuf> = paths.iter().map(|path| canonical(path)).collect();
    let mut elsewhere = match run.options.direction {
        Direction::Inject => rendered_elsewhere(&graph, &builds, &named),
        Direction::Uninject => Vec::new(),
    };
    // A folder stands right before what is below it.
    let has_template = |folder: &Path| {
        let mut from_folder = with_templates.range(folder.to_owned()..);
        from_folder
            .next()
            .is_some_and(|one| one.starts_with(folder))
    };
    let is_silent = |one: &RenderedElsewhere<'_>| {
        let folder = one.build.folder;
        named.contains(folder) && !has_template(folder)
    };
    let silent = elsewhere.extract_if(.., |one| is_silent(one)).collect();
    report_rendered_elsewhere(silent, &injectors, &mut session)?;
    note_rendered_elsewhere(&elsewhere, &moving, &injectors, &mut session)?;
    for folder in paths.iter().filter(|path| path.is_dir()) {
        // An error explains why the run has no resources.
        let is_unexplained = !has_resources && !session.has_errors();
        if is_unexplained || discovered.empty.contains(folder) {
            let message = without_resources(folder, discovered);
            session.warn(folder, Reason::NoResources, message)?;
        }
    }
    session.check_related();
    session.finish()
}

/// Reports annotations of this program that kustomize sets after the injection, such as `inject: "false"`.
fn report_annotations(graph: &Graph, session: &mut Session<'_>) -> io::Result<()> {
    if session.run.options.direction == Direction::Uninject {
        return Ok(());
    }
    let message = "kustomize sets this annotation after injection, so it has no effect";
    let finding = Finding::about_input(Reason::KustomizeAnnotation, message)
        .with_help("inject the output of `kustomize build` instead");
    let message = "kustomize sets this label, which has no effect";
    let label = Finding::about_input(Reason::MisplacedAnnotation, message)
        .with_help("set it as an annotation of the pod template");
    let policy = session.run.severity_policy();
    for at in set_annotations(graph) {
        let finding = if at.is_label { &label } else { &finding };
        session.messages.add(Row {
            place: Some(at.place),
            ..policy.row(at.file, Cow::Owned(finding.clone()))
        })?;
    }
    Ok(())
}

/// Warns of what `rbac` prints for files to which kustomize gives other names, once. Where namespaces are missing, other messages
/// name the command for the build.
fn report_other_names(
    renaming: Renaming<'_>,
    injectors: &Injectors<'_>,
    session: &mut Session<'_>,
) -> io::Result<()> {
    let rbac = |build, session: &Session<'_>| of_build("rbac", build, injectors, session);
    session.rbac_of_build = renaming.missing.map(|build| rbac(build, session));
    let Some(build) = renaming.given else {
        return Ok(());
    };
    if !matches!(session.run.mode, OutputMode::Permissions) || session.grants.without_namespace > 0
    {
        return Ok(());
    }
    let message =
        "kustomize changes the namespaces or names, so the printed ServiceAccounts may not exist";
    let command = rbac(build, session);
    let help = format!("use `{command}`, and so for each directory that you deploy");
    let finding = Finding::about_input(Reason::KustomizeNames, message).with_help(help);
    session.add_about(&build.shown.to_string_lossy(), finding)
}

/// Warns of kustomizations whose workloads are not in the input, where the user named the folder and it has no pod template.
fn report_rendered_elsewhere(
    silent: Vec<RenderedElsewhere<'_>>,
    injectors: &Injectors<'_>,
    session: &mut Session<'_>,
) -> io::Result<()> {
    for one in silent {
        let causes = causes(std::slice::from_ref(&one), false);
        let message = format!("no pod template: the kustomization has {causes}");
        let command = of_build(session.run.mode.command(), one.build, injectors, session);
        let finding = Finding::about_input(Reason::RenderedElsewhere, message)
            .with_help(format!("use `{command}`"));
        session.add_about(&one.build.shown.to_string_lossy(), finding)?;
    }
    Ok(())
}

/// Notes kustomizations whose builds have more pod templates, or select others, in one line.
fn note_rendered_elsewhere(
    others: &[RenderedElsewhere<'_>],
    moving: &BTreeSet<Build<'_>>,
    injectors: &Injectors<'_>,
    session: &mut Session<'_>,
) -> io::Result<()> {
    let mut builds = moving.clone();
    builds.extend(others.iter().map(|one| one.build));
    let Some(first) = builds.first() else {
        return Ok(());
    };
    let names = builds.iter().map(|build| build.shown.to_string_lossy());
    let names: Vec<_> = names.take(3).collect();
    let more = if builds.len() > 3 { ", …" } else { "" };
    let line = format!(
        "info: rendered elsewhere: {} with {}: {}{more}; use `{}`",
        plural(builds.len(), "kustomization"),
        causes(others, !moving.is_empty()),
        names.join(", "),
        of_build(session.run.mode.command(), *first, injectors, session)
    );
    session.messages.note_line(&line)
}

/// `charts or resources from outside of the input`
fn causes(elsewhere: &[RenderedElsewhere<'_>], moves: bool) -> String {
    let has_charts = elsewhere.iter().any(|one| one.has_charts);
    let takes_others = elsewhere.iter().any(|one| one.takes_others);
    let causes = [
        (has_charts, "charts"),
        (takes_others, "resources from outside of the input"),
        (moves, "another namespace for excluded pod templates"),
    ];
    let causes = causes.iter().filter(|(is_there, _)| *is_there);
    let causes: Vec<&str> = causes.map(|(_, cause)| *cause).collect();
    causes.join(" or ")
}

/// Returns a command for what kustomize builds.
fn of_build(
    command: &str,
    build: Build<'_>,
    injectors: &Injectors<'_>,
    session: &Session<'_>,
) -> String {
    let arguments = build.needs_helm.then(|| "--enable-helm".to_owned());
    build_command(
        command,
        build.shown,
        injectors.of_build(build.folder),
        arguments.as_slice(),
        session.run.common,
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

/// The first builds that give templates other names.
#[derive(Default)]
struct Renaming<'g> {
    /// For a template with a namespace.
    given: Option<Build<'g>>,
    /// For one without.
    missing: Option<Build<'g>>,
}

/// Reads files into a session.
struct FileReader<'r> {
    graph: &'r Graph,
    builds: &'r Builds<'r>,
    functions: Functions<'r>,
    session: Session<'r>,
    shared: SharedWork,
    /// True if a file has a resource, or a document that cannot be read.
    has_resources: bool,
    /// The canonical folders of files with pod templates.
    with_templates: BTreeSet<PathBuf>,
    renaming: Renaming<'r>,
    /// The builds that move a template out of an excluded namespace.
    moving: BTreeSet<Build<'r>>,
}

impl FileReader<'_> {
    /// Reads and injects a file, or reports why it cannot be read.
    fn read(&mut self, file: &InputFile) -> anyhow::Result<()> {
        match read_file(&file.path) {
            Ok(content) => self.inject(file, content)?,
            Err(Unreadable::IsOutput) if file.found_by == FoundBy::Walk => {
                let line = format!(
                    "info: {}: skipped, since it is the output",
                    file.path.display()
                );
                self.session.messages.note_line(&line)?;
            }
            Err(Unreadable::NotText(binary)) if may_be_other(file, &binary.ascii()) => {
                self.skip(&file.path, &binary.message)?;
            }
            Err(Unreadable::NotText(binary)) if self.may_be_skipped(&binary.ascii()) => {
                let message = format!("skipped a file that is not text: {}", binary.message);
                self.session
                    .warn(&file.path, Reason::UnreadableFile, message)?;
            }
            Err(error) => {
                let name = file.path.to_string_lossy();
                self.session.messages.unreadable(&name, &error)?;
            }
        }
        Ok(())
    }

    /// Injects the text of a file and adds the result to the session.
    fn inject(&mut self, file: &InputFile, content: FileText) -> anyhow::Result<()> {
        let FileText { text, state } = content;
        let run = self.session.run;
        let input = Input {
            text: &text,
            patch: self.graph.patch_entry(file),
            cut: None,
        };
        let options = run.options_for(&text);
        let mut injection = inject_templates(input, run.config, options, &mut self.shared);
        let has_named = injection.kinds_without_template.has_named();
        let has_templates = !injection.outcomes.is_empty();
        if has_templates {
            self.with_templates
                .insert(parent(&file.canonical).to_owned());
        }
        self.note_other_names(file, &injection.outcomes);
        // A kustomization needs no kind.
        self.has_resources |= has_templates || has_named || has_name_of_kustomization(&file.path);
        if file.found_by == FoundBy::Name && has_no_resources(&injection) {
            self.session
                .warn(&file.path, Reason::NoResources, NO_RESOURCES)?;
        }
        if injection.kinds_without_template.has(KIND)
            && !self.functions.are_configured_by(&file.canonical)
        {
            self.session.report_configuration(&file.path, &text)?;
        }
        help_with_other_file(file, &text, &mut injection.findings);
        let mut findings = injection.findings.iter();
        let unreadable = findings.find(|finding| finding.reason == Reason::Uneditable);
        if let Some(unreadable) = unreadable
            && may_be_other(file, &text)
        {
            self.skip(&file.path, &unreadable.message)?;
            return Ok(());
        }
        // A document that cannot be read may be a resource, and its finding says why there is none.
        self.has_resources |= !injection.findings.is_empty();
        let source = Source {
            state: Some(state),
            built_namespace: self.builds.namespace_of(file).map(str::to_owned),
            kustomization: None,
        };
        self.session.add(&file.path, source, text, injection);
        Ok(())
    }

    /// Notes the namespaces of templates to which kustomize gives other names.
    fn note_other_names(&mut self, file: &InputFile, outcomes: &[Outcome]) {
        let builds = self.builds.names_of(file);
        for outcome in outcomes {
            let own = outcome.identity.namespace.as_deref();
            if outcome.decision.reason == Reason::NamespaceExcluded {
                let moving = builds.iter().find(|names| names.moves(own));
                self.moving.extend(moving.map(|names| names.build));
            }
        }
        for subject in outcomes.iter().filter_map(Outcome::rbac_subject) {
            let own = subject.namespace.as_deref();
            let Some(names) = builds.iter().find(|names| names.changes(own)) else {
                continue;
            };
            let known = match own {
                Some(_) => &mut self.renaming.given,
                None => &mut self.renaming.missing,
            };
            known.get_or_insert(names.build);
            let renamed = subject.namespace.clone();
            self.session.renamed_namespaces.extend(renamed);
        }
    }

    /// Notes an unreadable file that may be no manifest, instead of an error.
    fn skip(&mut self, path: &Path, cause: &str) -> io::Result<()> {
        let message = format!("skipped a file that does not look like a manifest: {cause}");
        let finding = Finding::about_input(Reason::UnreadableFile, message).note_if(true);
        self.session.add_about(&path.to_string_lossy(), finding)
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
    let help = match is_template {
        true => {
            "the file is a template of a Helm chart; render it first, for example with `helm template`"
        }
        false => "if the file is a manifest, correct it",
    };
    // Whether a file looks like a manifest is asked once: it may be long, and each of its documents unreadable.
    let is_other = || !(discover::is_manifest(&file.path) && looks_like_manifest(text));
    if findings.peek().is_some() && (is_template || is_other()) {
        findings.for_each(|finding| finding.help = Some(help.to_owned()));
    }
}
