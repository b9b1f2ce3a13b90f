//! Patches of the kustomizations of the input and of its parent folders: files that are patches, and fields that they change.

use crate::cli::discover::{InputFile, identity};
use crate::cli::input::read_file;
use crate::cli::message_list::plural;
use crate::diagnostic::{LineCounter, LiteralLines};
use crate::inject::Outcome;
use crate::inject::patch_conflict::{ChangedBy, PlacedEffect, patch_conflicts};
use crate::krm_fn::configures_injector;
use crate::mackerel::annotations::Annotation;
use crate::manifest::kustomization::{
    self, Kustomization, NAMES, NamedPatch, PatchEntry, PatchSource,
};
use crate::manifest::kustomization_graph::{GraphNode, KustomizationGraph, NamesByWay};
use crate::manifest::patch_effect::{common_annotations, effects};
use std::cell::{LazyCell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};
use std::path::{Component, Path, PathBuf};

/// Parent folders in which a kustomization is looked for.
const MAX_PARENTS: usize = 8;

/// The files that are named as patches, by which kustomization, and the fields that patches change.
#[derive(Debug, Default)]
pub(crate) struct KustomizePatches {
    files: HashMap<PathBuf, NamedPatch>,
    layers: Vec<Layer>,
    /// Read for the first pod template.
    graph: OnceCell<KustomizationGraph>,
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
    /// Read for the first template that it may change.
    effects: OnceCell<Vec<PlacedEffect>>,
    /// Read for the first file that changes.
    runs_injector: OnceCell<bool>,
}

impl KustomizePatches {
    /// Reads the kustomizations. One that cannot be read names nothing; its error is reported where it is an input itself.
    pub(crate) fn of(kustomizations: &[PathBuf], files: &[InputFile]) -> Self {
        let mut patches = Self::default();
        for path in kustomizations
            .iter()
            .cloned()
            .chain(of_parents(kustomizations, files))
        {
            let Ok(file) = read_file(&path) else { continue };
            let layer = Layer::new(path, file.text);
            let mut lines = LineCounter::new(layer.text.as_bytes());
            for named in &layer.content.patches {
                let place = place(&layer.path, &mut lines, named.offset);
                let patch = NamedPatch {
                    place,
                    pointer: named.pointer.clone(),
                };
                patches
                    .files
                    .entry(identity(&layer.folder().join(&named.path)))
                    .or_insert(patch);
            }
            patches.layers.push(layer);
        }
        if !patches.files.is_empty() {
            // A file that is also a resource gets its agent as one.
            let resources: HashSet<PathBuf> = patches
                .layers
                .iter()
                .flat_map(|layer| layer.paths(&layer.content.resources))
                .collect();
            patches.files.retain(|file, _| !resources.contains(file));
        }
        patches
    }

    /// Returns the entry that names the file as a patch.
    pub(crate) fn get(&self, file: &Path) -> Option<&NamedPatch> {
        if self.files.is_empty() {
            None
        } else {
            self.files.get(&identity(file))
        }
    }

    /// Adds a warning to each pod template of a file for each patch that does not fit with its agent or decision.
    pub(crate) fn add_conflicts(&self, file: &Path, outcomes: &mut [Outcome]) {
        let reached = LazyCell::new(|| self.reached(file));
        let effects = || {
            reached.iter().flat_map(|(layer, names)| {
                layer
                    .effects()
                    .iter()
                    .map(move |effect| (effect, names.as_slice()))
            })
        };
        for outcome in outcomes {
            outcome
                .warnings
                .extend(patch_conflicts(effects(), file, outcome));
        }
    }

    /// Notes that a kustomization injects the file by a transformer: then `kustomize build` shows if an agent is missing.
    pub(crate) fn note_transformer(&self, file: &Path, note: &mut Option<TransformerNote>) {
        let reached = self.reached(file);
        let layers = || reached.iter().map(|(layer, _)| *layer);
        let Some(layer) = layers().find(|layer| layer.runs_injector()) else {
            return;
        };
        if let Some(note) = note {
            note.other_files += usize::from(note.kustomization == layer.path);
            return;
        }
        // A component builds nothing by itself; kustomize rejects a cycle.
        let user = |built: &&Layer| {
            layers().find(|user| user.paths(&user.content.components).contains(&built.id()))
        };
        let built = std::iter::successors(Some(layer), user)
            .take(reached.len())
            .last()
            .unwrap_or(layer);
        let built = Some(built.folder())
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let (kustomization, built, file) = (layer.path.clone(), built.to_owned(), file.to_owned());
        *note = Some(TransformerNote {
            kustomization,
            built,
            file,
            other_files: 0,
        });
    }

    /// Returns the kustomizations whose patches and transformers apply to a file, each with the changes of
    /// names on the ways to it.
    fn reached(&self, file: &Path) -> Vec<(&Layer, NamesByWay)> {
        if self.layers.is_empty() {
            return Vec::new();
        }
        let graph = self
            .graph
            .get_or_init(|| KustomizationGraph::of(self.layers.iter().map(Layer::node)));
        graph
            .reached(&identity(file))
            .into_iter()
            .map(|(index, names)| (&self.layers[index], names))
            .collect()
    }
}

impl Layer {
    fn new(path: PathBuf, text: String) -> Self {
        Self {
            content: kustomization::read(&text),
            path,
            text,
            effects: OnceCell::new(),
            runs_injector: OnceCell::new(),
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The canonical path of its folder.
    fn id(&self) -> PathBuf {
        let folder = self.folder();
        identity(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        })
    }

    /// The canonical paths of resources or components.
    fn paths(&self, names: &[String]) -> Vec<PathBuf> {
        names
            .iter()
            .map(|name| identity(&self.folder().join(name)))
            .collect()
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

    fn node(&self) -> GraphNode {
        let Kustomization {
            resources,
            components,
            affixes,
            ..
        } = &self.content;
        GraphNode {
            folder: self.id(),
            resources: self.paths(resources),
            components: self.paths(components),
            affixes: affixes.clone(),
        }
    }

    /// Returns the fields that its patches and `commonAnnotations` change.
    fn effects(&self) -> &[PlacedEffect] {
        self.effects.get_or_init(|| self.read_effects())
    }

    fn read_effects(&self) -> Vec<PlacedEffect> {
        let mut found = Vec::new();
        let mut own_lines = LineCounter::new(self.text.as_bytes());
        for entry in &self.content.entries {
            let (file, text) = match &entry.source {
                PatchSource::Inline(text) => (None, text.clone()),
                PatchSource::File(name) => {
                    let Ok(file) = read_file(&self.folder().join(name)) else {
                        continue;
                    };
                    (Some(joined(self.folder(), name)), file.text)
                }
            };
            let mut lines = LineCounter::new(text.as_bytes());
            let mut place = |offset| match &file {
                Some(path) => place(path, &mut lines, offset),
                None => place(
                    &self.path,
                    &mut own_lines,
                    self.inline_offset(entry, lines.position(offset).line),
                ),
            };
            found.extend(
                effects(&text, entry.target.as_ref(), Annotation::Inject.key())
                    .into_iter()
                    .map(|effect| PlacedEffect {
                        place: place(effect.offset),
                        changed_by: ChangedBy::Patch,
                        effect,
                    }),
            );
        }
        found.extend(
            common_annotations(&self.text, Annotation::Inject.key())
                .into_iter()
                .map(|effect| {
                    let place = place(&self.path, &mut own_lines, effect.offset);
                    PlacedEffect {
                        place,
                        changed_by: ChangedBy::CommonAnnotations,
                        effect,
                    }
                }),
        );
        found
    }

    /// Returns the offset in the kustomization of a line of a patch in its text; of the whole patch if it is no literal block.
    fn inline_offset(&self, entry: &PatchEntry, line: usize) -> usize {
        match self.text.get(entry.offset..) {
            Some(scalar) if scalar.starts_with('|') => {
                LiteralLines::new(&self.text, entry.offset).start_of_line(line)
            }
            _ => entry.offset,
        }
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

/// Returns the path to a file for messages, the same from each folder: `overlay` and `../patch.yaml` give `patch.yaml`.
fn joined(folder: &Path, name: &str) -> PathBuf {
    Path::new(name)
        .components()
        .fold(folder.to_owned(), |mut path, part| {
            match part {
                Component::ParentDir
                    if matches!(path.components().next_back(), Some(Component::Normal(_))) =>
                {
                    _ = path.pop()
                }
                Component::CurDir => {}
                _ => path.push(part),
            }
            path
        })
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
    let here = identity(Path::new("."));
    for file in files {
        let path = identity(&file.path);
        for folder in path.ancestors().skip(1).take(MAX_PARENTS) {
            if !folders.insert(folder.to_owned()) {
                break;
            }
            for kustomization in NAMES
                .iter()
                .map(|name| folder.join(name))
                .filter(|path| path.is_file())
            {
                if seen.insert(kustomization.clone()) {
                    found.push(
                        kustomization
                            .strip_prefix(&here)
                            .map_or(kustomization.clone(), Path::to_owned),
                    );
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
    }
    found
}
