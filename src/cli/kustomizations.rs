//! The kustomizations of the input and of its parent folders: which files they use as patches, and which of them change a file
//! after it is injected.

use crate::cli::discover::{DiscoveredFiles, FoundBy, InputFile};
use crate::cli::find_config::{parent, read_found, root};
use crate::cli::input::canonical;
use crate::cli::messages::plural;
use crate::config::API_VERSION;
use crate::diagnostic::{LineCounter, shell_word};
use crate::inject::Outcome;
use crate::krm_fn::configures_injector;
use crate::mackerel::annotations::PREFIX;
use crate::manifest::kustomization::{
    self, GraphNode, Kustomization, KustomizationGraph, NAMES, NamedPatch,
};
use crate::report::{Finding, Reason};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use yaml_json_patch::pointer::escape;

/// Parent folders in which a kustomization is looked for.
const MAX_PARENTS: usize = 8;

/// The kustomizations of a run.
#[derive(Debug, Default)]
pub(crate) struct Kustomizations {
    layers: Vec<Layer>,
    /// The references between them.
    graph: KustomizationGraph,
    /// The files that a kustomization names as patches, by canonical path.
    patches: HashMap<OsString, NamedPatch>,
    transformer_note: Option<TransformerNote>,
}

/// A kustomization that injects files by a transformer.
#[derive(Debug)]
struct TransformerNote {
    kustomization: PathBuf,
    /// The argument of `kustomize build`.
    build_folder: PathBuf,
    /// The first of the files; none if the input has no workload.
    first_file: Option<PathBuf>,
    other_files: usize,
}

impl TransformerNote {
    /// Returns the note for the user.
    fn line(&self, command: BuildCommand) -> String {
        let kustomization = self.kustomization.display();
        let folder = self.build_folder.to_string_lossy();
        let folder = shell_word(&folder);
        let files = match (&self.first_file, self.other_files) {
            (None, _) => "workloads that are not in the input".to_owned(),
            (Some(file), 0) => file.display().to_string(),
            (Some(file), others) => {
                format!("{} and {}", file.display(), plural(others, "other file"))
            }
        };
        let (purpose, command) = match command {
            BuildCommand::Check => ("to check the result", "inject --check"),
            BuildCommand::Rbac => ("to print the permissions of the agents", "rbac"),
        };
        format!(
            "info: {kustomization} runs this program as a transformer, so `kustomize build` adds the agent to {files}; \
             {purpose}, run `kustomize build --enable-alpha-plugins --enable-exec {folder} | \
             mackerel-agent-injector {command} --config FILE -` with the configuration of the transformer as FILE"
        )
    }
}

/// The command that the note recommends for the output of `kustomize build`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BuildCommand {
    Check,
    Rbac,
}

/// A kustomization. Files that it names are read only when they are needed.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    /// The folder with all files that it may name.
    root: PathBuf,
    text: String,
    content: Kustomization,
    /// True if a finding names it.
    is_reported: bool,
    /// The place of an annotation of this program that the kustomization or one of its patches sets.
    annotation: OnceCell<Option<String>>,
    /// True if this program is one of its transformers.
    runs_injector: OnceCell<bool>,
}

impl Kustomizations {
    /// Reads the kustomizations. One that cannot be read is left out; if it is an input, the run reports its error.
    pub(crate) fn read(discovered: &DiscoveredFiles) -> Self {
        let parents = in_parent_folders(discovered);
        let mut layers = Vec::new();
        for path in discovered.kustomizations.iter().chain(&parents) {
            layers.extend(Layer::read(path));
        }
        let graph = KustomizationGraph::of(layers.iter().map(Layer::node).collect());
        let mut patches = HashMap::new();
        for layer in &layers {
            let mut lines = LineCounter::new(layer.text.as_bytes());
            for file in &layer.content.patch_files {
                let path = canonical(&layer.folder().join(&file.path));
                // A file that is also a resource is injected as one.
                if !graph.is_resource(&path) {
                    patches.entry(path.into()).or_insert_with(|| NamedPatch {
                        place: place(&layer.path, &mut lines, file.offset),
                        pointer: file.pointer.clone(),
                    });
                }
            }
        }
        Self {
            layers,
            graph,
            patches,
            transformer_note: None,
        }
    }

    /// Returns the entry that names the file as a patch.
    pub(crate) fn naming(&self, file: &InputFile) -> Option<&NamedPatch> {
        self.patches.get(file.canonical.as_os_str())
    }

    /// Returns the note about the files that a transformer injects, if there are any.
    pub(crate) fn transformer_note(&self, command: BuildCommand) -> Option<String> {
        let note = self.transformer_note.as_ref()?;
        Some(note.line(command))
    }

    /// Returns true if a kustomization, or a Kptfile above it, names a file as the configuration of a function.
    pub(crate) fn configures_function(&self, file: &Path) -> bool {
        let layers = self.layers.iter();
        let mut entries =
            layers.flat_map(|layer| layer.canonical_paths(&layer.content.transformers));
        let mut folders = file.ancestors().skip(1).take(MAX_PARENTS);
        // An entry may be the directory of a kustomization.
        entries.any(|entry| file.starts_with(entry))
            || folders.any(|folder| {
                let (kptfile, path) = (folder.join("Kptfile"), file.strip_prefix(folder));
                let path = path.unwrap_or(file).to_string_lossy();
                let ends = |c: char| c.is_whitespace() || "\"',}".contains(c);
                read_found(&kptfile, folder).is_ok_and(|kptfile| {
                    let mut words = kptfile.text.split(ends);
                    words.any(|word| word.trim_start_matches("./") == path)
                })
            })
    }

    /// Adds a finding about each kustomization that changes a file after it was injected. A kustomization is reported once, at
    /// the first pod template that it concerns.
    pub(crate) fn add_findings(&mut self, file: &InputFile, outcomes: &mut [Outcome]) {
        if self.layers.is_empty() || outcomes.is_empty() {
            return;
        }
        let reached = self.graph.reached(&file.canonical);
        for index in &reached {
            let build_folder = self.layers[self.graph.built(&reached, *index)]
                .folder()
                .to_owned();
            let layer = &mut self.layers[*index];
            // Its transformer runs after its patches.
            if layer.is_reported || layer.runs_injector() {
                continue;
            }
            let Some(finding) = layer.finding(&build_folder) else {
                continue;
            };
            let mut outcomes = outcomes.iter_mut();
            if let Some(outcome) = outcomes.find(|outcome| concerns(finding.reason, outcome)) {
                layer.is_reported = true;
                outcome.warnings.push(Finding {
                    offset: Some(outcome.offset),
                    ..finding
                });
            }
        }
    }

    /// Notes a file that a kustomization injects by a transformer. An agent that is missing in such a file is no mistake.
    pub(crate) fn note_transformer(&mut self, file: &InputFile) {
        if self.layers.is_empty() {
            return;
        }
        let reached = self.graph.reached(&file.canonical);
        let runs_injector = |index: &&usize| self.layers[**index].runs_injector();
        let Some(index) = reached.iter().find(runs_injector) else {
            return;
        };
        let kustomization = self.layers[*index].path.clone();
        let build_folder = self.layers[self.graph.built(&reached, *index)]
            .folder()
            .to_owned();
        if let Some(note) = &mut self.transformer_note {
            note.other_files += usize::from(note.kustomization == kustomization);
            return;
        }
        self.transformer_note = Some(TransformerNote {
            kustomization,
            build_folder,
            first_file: Some(file.path.clone()),
            other_files: 0,
        });
    }

    /// Notes a kustomization with a transformer in an input without workloads. A check of such an input says nothing about the
    /// workloads that the kustomization builds.
    pub(crate) fn note_transformer_alone(&mut self) {
        let layer = self.layers.iter().find(|layer| layer.runs_injector());
        self.transformer_note = layer.map(|layer| TransformerNote {
            kustomization: layer.path.clone(),
            build_folder: layer.folder().to_owned(),
            first_file: None,
            other_files: 0,
        });
    }
}

/// Returns true for a pod template that the finding about a kustomization concerns.
fn concerns(reason: Reason, outcome: &Outcome) -> bool {
    let decision = outcome.decision.reason;
    match reason {
        Reason::KustomizeCheck => {
            matches!(
                decision,
                Reason::Injected | Reason::Updated | Reason::Adopted
            )
        }
        // The annotation of an overlay may be meant to prevent this injection, or to request one.
        _ => {
            let may_change_decision = outcome.agent().is_some()
                || matches!(decision, Reason::NotRequested | Reason::OptedOut);
            may_change_decision && !outcome.acknowledged.contains(reason)
        }
    }
}

impl Layer {
    fn read(path: &Path) -> Option<Self> {
        let (folder, current) = (canonical(parent(path)), canonical(Path::new(".")));
        let root = root(&folder, &current).to_owned();
        let text = read_found(path, &root).ok()?.text;
        Some(Self {
            content: kustomization::read(&text),
            path: path.to_owned(),
            root,
            text,
            is_reported: false,
            annotation: OnceCell::new(),
            runs_injector: OnceCell::new(),
        })
    }

    /// Returns the folder, which is an argument of `kustomize build`.
    fn folder(&self) -> &Path {
        parent(&self.path)
    }

    /// Returns the references of the kustomization as canonical paths.
    fn node(&self) -> GraphNode {
        GraphNode {
            folder: canonical(self.folder()),
            resources: self.canonical_paths(&self.content.resources),
            components: self.canonical_paths(&self.content.components),
        }
    }

    fn canonical_paths(&self, names: &[String]) -> Vec<PathBuf> {
        let names = names.iter();
        names
            .map(|name| canonical(&self.folder().join(name)))
            .collect()
    }

    /// Returns true if this program is one of its transformers.
    fn runs_injector(&self) -> bool {
        *self.runs_injector.get_or_init(|| {
            let mut seen = HashSet::new();
            self.content
                .transformers
                .iter()
                .any(|entry| self.names_injector(self.folder(), entry, &mut seen))
        })
    }

    /// Returns the finding about the change that kustomize makes to an injected file; none if it makes none.
    fn finding(&self, build_folder: &Path) -> Option<Finding> {
        let build_folder = build_folder.to_string_lossy();
        let build_folder = shell_word(&build_folder);
        if let Some(place) = self.annotation.get_or_init(|| self.find_annotation()) {
            let message = format!(
                "{place}: kustomize sets this annotation after injection, so it has no effect"
            );
            let help = format!("inject the output of `kustomize build {build_folder}` instead");
            return Some(
                Finding::about_input(Reason::KustomizeAnnotation, message).with_help(help),
            );
        }
        if !self.content.has_patches {
            return None;
        }
        let message = format!(
            "{} has patches, which kustomize applies after injection",
            self.path.display()
        );
        let help = format!("check the output of `kustomize build {build_folder}`");
        Some(Finding::about_input(Reason::KustomizeCheck, message).with_help(help))
    }

    /// Returns the place of the first annotation of this program in the kustomization, or in a file that it names as a patch.
    fn find_annotation(&self) -> Option<String> {
        if let Some(place) = annotation_place(&self.path, &self.text) {
            return Some(place);
        }
        self.content.patch_files.iter().find_map(|file| {
            let path = self.folder().join(&file.path);
            let text = read_found(&path, &self.root).ok()?.text;
            annotation_place(&relative(canonical(&path)), &text)
        })
    }

    /// Returns true if an entry of `transformers` configures this program: inline YAML, a file, or a folder with a kustomization
    /// whose resources are such entries.
    fn names_injector(&self, folder: &Path, entry: &str, seen: &mut HashSet<PathBuf>) -> bool {
        if entry.contains('\n') {
            return configures_injector(entry);
        }
        let path = folder.join(entry);
        if !seen.insert(canonical(&path)) {
            return false;
        }
        let read = |path: &Path| read_found(path, &self.root).ok();
        if !path.is_dir() {
            return read(&path).is_some_and(|file| configures_injector(&file.text));
        }
        let files = NAMES.iter().filter_map(|name| read(&path.join(name)));
        let mut resources = files.flat_map(|file| kustomization::read(&file.text).resources);
        resources.any(|entry| self.names_injector(&path, &entry, seen))
    }
}

/// Returns the place of the first annotation of this program in a file.
fn annotation_place(path: &Path, text: &str) -> Option<String> {
    let offset = annotation_offset(text)?;
    Some(place(path, &mut LineCounter::new(text.as_bytes()), offset))
}

/// Returns the offset of the first annotation of this program: in a strategic merge patch, or in the path of a JSON Patch, where
/// the slash is escaped. The `apiVersion` of a configuration has the same prefix.
fn annotation_offset(text: &str) -> Option<usize> {
    let domain = PREFIX.trim_end_matches('/');
    let mut offsets = text.match_indices(domain).map(|(offset, _)| offset);
    offsets.find(|offset| {
        let name = &text[offset + domain.len()..];
        let is_key = name.starts_with('/') || name.starts_with(escape("/").as_ref());
        is_key && !text[*offset..].starts_with(API_VERSION)
    })
}

/// Returns a canonical path for messages: relative to the current folder, if the file is in it.
fn relative(path: PathBuf) -> PathBuf {
    path.strip_prefix(canonical(Path::new(".")))
        .map_or(path.clone(), Path::to_owned)
}

/// `kustomization.yaml:3:11`
fn place(path: &Path, lines: &mut LineCounter<'_>, offset: usize) -> String {
    let position = lines.position(offset);
    format!("{}:{}:{}", path.display(), position.line, position.column)
}

/// Returns further kustomizations: in the folders of named files, and above them and the walked folders up to the root of a Git
/// repository. The walk has found those below, but for ignored ones.
fn in_parent_folders(discovered: &DiscoveredFiles) -> Vec<PathBuf> {
    // The file itself may be a link.
    let in_canonical_folder = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        canonical(parent(path)).join(name)
    };
    let known = discovered.kustomizations.iter();
    let known: HashSet<PathBuf> = known.map(in_canonical_folder).collect();
    let named = discovered.files.iter();
    let named = named.filter(|file| file.found_by == FoundBy::Name);
    let folders_of_named = named.map(|file| parent(&file.canonical));
    let mut folders = HashSet::new();
    let mut kustomizations = Vec::new();
    for start in folders_of_named.chain(discovered.folders.iter().map(PathBuf::as_path)) {
        for folder in start.ancestors().take(MAX_PARENTS) {
            if !folders.insert(folder) {
                break;
            }
            let paths = NAMES.iter().map(|name| folder.join(name));
            let found = paths.filter(|path| path.is_file() && !known.contains(path));
            kustomizations.extend(found.map(relative));
            // The loop ends at a known folder anyway.
            let is_known = |folder: &Path| folders.contains(folder);
            if folder.parent().is_some_and(is_known) || folder.join(".git").exists() {
                break;
            }
        }
    }
    kustomizations
}
