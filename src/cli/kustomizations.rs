//! The kustomizations of the input and of its parent folders: files that are patches, and what applies to an injected file.

use crate::cli::discover::{InputFile, identity};
use crate::cli::input::read_file;
use crate::cli::messages::plural;
use crate::config::API_VERSION;
use crate::diagnostic::LineCounter;
use crate::inject::Outcome;
use crate::krm_fn::configures_injector;
use crate::mackerel::annotations::PREFIX;
use crate::manifest::kustomization::{
    self, GraphNode, Kustomization, KustomizationGraph, NAMES, NamedPatch,
};
use crate::report::{Finding, Reason};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use yaml_json_patch::pointer::escape;

/// Parent folders in which a kustomization is looked for.
const MAX_PARENTS: usize = 8;

/// The kustomizations of a run.
#[derive(Debug, Default)]
pub(crate) struct Kustomizations {
    layers: Vec<Layer>,
    graph: KustomizationGraph,
    /// The files that are named as patches.
    patches: HashMap<PathBuf, NamedPatch>,
    transformer_note: Option<TransformerNote>,
}

/// A note about files that a transformer of a kustomization injects.
#[derive(Debug)]
pub(crate) struct TransformerNote {
    kustomization: PathBuf,
    /// The folder that `kustomize build` takes.
    built: PathBuf,
    file: PathBuf,
    other_files: usize,
}

impl Display for TransformerNote {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            kustomization,
            built,
            file,
            other_files,
        } = self;
        let (kustomization, built, file) =
            (kustomization.display(), built.display(), file.display());
        let others = match other_files {
            0 => String::new(),
            others => format!(" and {}", plural(*others, "other file")),
        };
        write!(
            formatter,
            "info: {kustomization} runs this program as a transformer, so `kustomize build` adds the agent to {file}{others}; \
             to check the result, run `kustomize build --enable-alpha-plugins --enable-exec {built} | \
             mackerel-agent-injector inject --check --config FILE -` with the configuration of the transformer as FILE"
        )
    }
}

/// A kustomization.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    text: String,
    content: Kustomization,
    /// True if a finding names it.
    is_reported: bool,
    /// The place of an annotation of this program that it sets. Read for the first pod template.
    annotation: OnceCell<Option<String>>,
    /// Read for the first file that changes.
    runs_injector: OnceCell<bool>,
}

impl Kustomizations {
    /// Reads the kustomizations. One that cannot be read names nothing; its error is reported where it is an input itself.
    pub(crate) fn read(kustomizations: &[PathBuf], files: &[InputFile]) -> Self {
        let parents = of_parents(kustomizations, files);
        let layers: Vec<Layer> = kustomizations
            .iter()
            .chain(&parents)
            .filter_map(|path| Layer::read(path))
            .collect();
        let graph = KustomizationGraph::of(layers.iter().map(Layer::node).collect());
        let mut patches = HashMap::new();
        for layer in &layers {
            let mut lines = LineCounter::new(layer.text.as_bytes());
            for file in &layer.content.patch_files {
                let path = identity(&layer.folder().join(&file.path));
                // A file that is also a resource gets its agent as one.
                if !graph.is_resource(&path) {
                    patches.entry(path).or_insert_with(|| NamedPatch {
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
    pub(crate) fn naming(&self, file: &Path) -> Option<&NamedPatch> {
        if self.patches.is_empty() {
            None
        } else {
            self.patches.get(&identity(file))
        }
    }

    /// Returns the note about the files that a transformer injects, if there are any.
    pub(crate) fn into_transformer_note(self) -> Option<TransformerNote> {
        self.transformer_note
    }

    /// Adds a finding about each kustomization that changes a file after it was injected. A kustomization is reported once, by
    /// the first pod template of the run that it concerns.
    pub(crate) fn add_findings(&mut self, file: &Path, outcomes: &mut [Outcome]) {
        if self.layers.is_empty() || outcomes.is_empty() {
            return;
        }
        let reached = self.graph.reached(&identity(file));
        for index in &reached {
            let built = self.layers[self.graph.built(&reached, *index)].build_folder();
            let layer = &mut self.layers[*index];
            if layer.is_reported {
                continue;
            }
            let Some(finding) = layer.finding(&built) else {
                continue;
            };
            if let Some(outcome) = outcomes
                .iter_mut()
                .find(|outcome| concerns(finding.reason, outcome))
            {
                layer.is_reported = true;
                outcome.warnings.push(Finding {
                    offset: Some(outcome.offset),
                    ..finding
                });
            }
        }
    }

    /// Notes that a kustomization injects the file by a transformer: then `kustomize build` shows if an agent is missing.
    pub(crate) fn note_transformer(&mut self, file: &Path) {
        if self.layers.is_empty() {
            return;
        }
        let reached = self.graph.reached(&identity(file));
        let runs_injector = |index: &&usize| self.layers[**index].runs_injector();
        let Some(index) = reached.iter().find(runs_injector) else {
            return;
        };
        let kustomization = self.layers[*index].path.clone();
        let built = self.layers[self.graph.built(&reached, *index)].build_folder();
        if let Some(note) = &mut self.transformer_note {
            note.other_files += usize::from(note.kustomization == kustomization);
            return;
        }
        self.transformer_note = Some(TransformerNote {
            kustomization,
            built,
            file: file.to_owned(),
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
        // An overlay may opt out of what is injected here, or request what is not.
        _ => {
            let may_change_decision = outcome.agent().is_some()
                || matches!(decision, Reason::NotRequested | Reason::OptedOut);
            may_change_decision && !outcome.acknowledged.contains(reason)
        }
    }
}

impl Layer {
    fn read(path: &Path) -> Option<Self> {
        let text = read_file(path).ok()?.text;
        Some(Self {
            content: kustomization::read(&text),
            path: path.to_owned(),
            text,
            is_reported: false,
            annotation: OnceCell::new(),
            runs_injector: OnceCell::new(),
        })
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the folder as an argument of `kustomize build`.
    fn build_folder(&self) -> PathBuf {
        let folder = self.folder();
        if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder.to_owned()
        }
    }

    fn node(&self) -> GraphNode {
        let canonical = |names: &[String]| {
            names
                .iter()
                .map(|name| identity(&self.folder().join(name)))
                .collect()
        };
        GraphNode {
            folder: identity(&self.build_folder()),
            resources: canonical(&self.content.resources),
            components: canonical(&self.content.components),
        }
    }

    /// Returns true if a transformer is this program.
    fn runs_injector(&self) -> bool {
        *self.runs_injector.get_or_init(|| {
            let mut seen = HashSet::new();
            self.content
                .transformers
                .iter()
                .any(|entry| names_injector(self.folder(), entry, &mut seen))
        })
    }

    /// Returns the finding about what it changes in an injected file; none if it changes nothing.
    fn finding(&self, built: &Path) -> Option<Finding> {
        let built = built.display();
        if let Some(place) = self.annotation.get_or_init(|| self.find_annotation()) {
            let message = format!(
                "{place}: kustomize sets this annotation after injection, so it has no effect"
            );
            let help = format!("inject the output of `kustomize build {built}` instead");
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
        let help = format!("check the output of `kustomize build {built}`");
        Some(Finding::about_input(Reason::KustomizeCheck, message).with_help(help))
    }

    /// Returns the place of the first annotation of this program in the kustomization, or in a file that it names as a patch.
    fn find_annotation(&self) -> Option<String> {
        let place_in = |path: &Path, text: &str| {
            let offset = annotation_offset(text)?;
            Some(place(path, &mut LineCounter::new(text.as_bytes()), offset))
        };
        let in_files = || {
            self.content.patch_files.iter().find_map(|file| {
                let path = self.folder().join(&file.path);
                let text = read_file(&path).ok()?.text;
                place_in(&shown(identity(&path)), &text)
            })
        };
        place_in(&self.path, &self.text).or_else(in_files)
    }
}

/// Returns true if an entry of `transformers`, or one of the resources of its folder, configures this program.
fn names_injector(folder: &Path, entry: &str, seen: &mut HashSet<PathBuf>) -> bool {
    if entry.contains('\n') {
        return configures_injector(entry);
    }
    let path = folder.join(entry);
    if !seen.insert(identity(&path)) {
        return false;
    }
    if !path.is_dir() {
        return read_file(&path).is_ok_and(|file| configures_injector(&file.text));
    }
    let files = NAMES
        .iter()
        .filter_map(|name| read_file(&path.join(name)).ok());
    let mut resources = files.flat_map(|file| kustomization::read(&file.text).resources);
    resources.any(|entry| names_injector(&path, &entry, seen))
}

/// Returns the offset of the first annotation of this program in a patch of either form. `apiVersion` has the same prefix.
fn annotation_offset(text: &str) -> Option<usize> {
    let domain = PREFIX.trim_end_matches('/');
    let mut offsets = text.match_indices(domain).map(|(offset, _)| offset);
    offsets.find(|offset| {
        let name = &text[offset + domain.len()..];
        let is_key = name.starts_with('/') || name.starts_with(escape("/").as_ref());
        is_key && !text[*offset..].starts_with(API_VERSION)
    })
}

/// Returns the path of messages for a canonical path: relative to the current folder, if it is below.
fn shown(path: PathBuf) -> PathBuf {
    path.strip_prefix(identity(Path::new(".")))
        .map_or(path.clone(), Path::to_owned)
}

/// `kustomization.yaml:3:11`
fn place(path: &Path, lines: &mut LineCounter<'_>, offset: usize) -> String {
    let at = lines.position(offset);
    format!("{}:{}:{}", path.display(), at.line, at.column)
}

/// Returns the kustomizations in the folders of the files and above them, up to the root of a Git repository.
fn of_parents(known: &[PathBuf], files: &[InputFile]) -> Vec<PathBuf> {
    let mut seen: HashSet<PathBuf> = known.iter().map(|path| identity(path)).collect();
    let mut folders = HashSet::new();
    let mut found = Vec::new();
    for file in files {
        let path = identity(&file.path);
        for folder in path.ancestors().skip(1).take(MAX_PARENTS) {
            if !folders.insert(folder.to_owned()) {
                break;
            }
            let candidates = NAMES.iter().map(|name| folder.join(name));
            for kustomization in candidates.filter(|path| path.is_file()) {
                if seen.insert(kustomization.clone()) {
                    found.push(shown(kustomization));
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
    }
    found
}
