//! Patches of the kustomizations of the input and of its parent folders: files that are patches, and fields that they change.

use crate::cli::discover::{InputFile, identity};
use crate::cli::input::read_file;
use crate::diagnostic::{LineCounter, LiteralLines};
use crate::inject::Outcome;
use crate::krm_fn::configures_injector;
use crate::mackerel::annotations::Annotation;
use crate::manifest::field_path::field_path;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch, PatchEntry, PatchSource};
use crate::manifest::patch_effect::{FieldChange, PatchEffect, effects};
use crate::report::{Finding, Reason};
use std::cell::{LazyCell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use yaml_json_patch::pointer::escape;

/// Parent folders in which a kustomization is looked for.
const MAX_PARENTS: usize = 8;

/// The files that are named as patches, by which kustomization, and the fields that patches change.
#[derive(Debug, Default)]
pub(crate) struct KustomizePatches {
    files: HashMap<PathBuf, NamedPatch>,
    layers: Vec<Layer>,
    /// Read for the first pod template.
    graph: OnceCell<Graph>,
}

/// A kustomization.
#[derive(Debug)]
struct Layer {
    path: PathBuf,
    text: String,
    content: Kustomization,
    /// Read for the first template that its patches may change.
    effects: OnceCell<Vec<LayerEffect>>,
    /// Read for the first file that changes.
    runs_injector: OnceCell<bool>,
}

/// The references between kustomizations, by canonical paths: with it, no file is compared with all of them.
#[derive(Debug, Default)]
struct Graph {
    /// The folders of the kustomizations that have a resource or component.
    users: HashMap<PathBuf, Vec<PathBuf>>,
    /// The components of the kustomizations of a folder.
    components: HashMap<PathBuf, Vec<PathBuf>>,
    /// The indexes of the kustomizations of a folder.
    layers: HashMap<PathBuf, Vec<usize>>,
}

/// A field that a patch of a kustomization changes.
#[derive(Debug)]
struct LayerEffect {
    effect: PatchEffect,
    /// `patch.yaml:3:11`
    place: String,
}

impl KustomizePatches {
    /// Reads the kustomizations. One that cannot be read names nothing; its error is reported where it is an input itself.
    pub(crate) fn of(kustomizations: &[PathBuf], files: &[InputFile]) -> Self {
        let mut patches = Self::default();
        for path in kustomizations.iter().cloned().chain(of_parents(kustomizations, files)) {
            let Ok(file) = read_file(&path) else { continue };
            let layer = Layer::new(path, file.text);
            for named in &layer.content.patches {
                let place = place(&layer.path, &layer.text, named.offset);
                let patch = NamedPatch { place, pointer: named.pointer.clone() };
                patches.files.entry(identity(&layer.folder().join(&named.path))).or_insert(patch);
            }
            patches.layers.push(layer);
        }
        if !patches.files.is_empty() {
            // A file that is also a resource gets its agent as one.
            let resources: HashSet<PathBuf> =
                patches.layers.iter().flat_map(|layer| layer.paths(&layer.content.resources)).collect();
            patches.files.retain(|file, _| !resources.contains(file));
        }
        patches
    }

    /// Returns the entry that names the file as a patch.
    pub(crate) fn get(&self, file: &Path) -> Option<&NamedPatch> {
        if self.files.is_empty() { None } else { self.files.get(&identity(file)) }
    }

    /// Adds a warning to each pod template of a file whose agent, or decision, does not fit with a patch.
    pub(crate) fn add_conflicts(&self, file: &Path, outcomes: &mut [Outcome]) {
        let effects: LazyCell<Vec<&LayerEffect>, _> =
            LazyCell::new(|| self.layers_that_patch(file).into_iter().flat_map(Layer::effects).collect());
        for outcome in outcomes {
            let finding = match (outcome.agent_list, outcome.decision.reason) {
                (Some(agent_list), _) => request_conflict(&effects, "false", file, outcome)
                    .or_else(|| agent_conflict(&effects, agent_list, outcome)),
                (None, Reason::NotRequested | Reason::OptedOut) => request_conflict(&effects, "true", file, outcome),
                (None, _) => None,
            };
            outcome.warnings.extend(finding);
        }
    }

    /// Returns a note if a kustomization injects the file as a transformer: then `kustomize build` shows if an agent is missing.
    pub(crate) fn transformer_note(&self, file: &Path) -> Option<String> {
        let layer = self.layers_that_patch(file).into_iter().find(|layer| layer.runs_injector())?;
        let folder = Some(layer.folder()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(format!(
            "info: {} injects {} as a transformer; to check the result, run `kustomize build --enable-alpha-plugins \
             --enable-exec {} | mackerel-agent-injector inject --check --config FILE -` with its configuration as FILE",
            layer.path.display(),
            file.display(),
            folder.display()
        ))
    }

    /// Returns the kustomizations whose patches and transformers apply to a file: those that have it as a resource, directly or through others,
    /// and their components.
    fn layers_that_patch(&self, file: &Path) -> Vec<&Layer> {
        if self.layers.is_empty() {
            return Vec::new();
        }
        let graph = self.graph.get_or_init(|| Graph::of(&self.layers));
        let file = identity(file);
        let mut found = HashSet::from([file.as_path()]);
        for edges in [&graph.users, &graph.components] {
            let mut open: Vec<&Path> = found.iter().copied().collect();
            while let Some(path) = open.pop() {
                let next = edges.get(path).into_iter().flatten().map(PathBuf::as_path);
                open.extend(next.filter(|next| found.insert(next)));
            }
        }
        let mut indexes: Vec<usize> =
            found.iter().filter_map(|path| graph.layers.get(*path)).flatten().copied().collect();
        indexes.sort_unstable();
        indexes.into_iter().map(|index| &self.layers[index]).collect()
    }
}

/// Returns a warning if a patch sets the template's annotation `inject` to this value, which the decision has not seen.
fn request_conflict(effects: &[&LayerEffect], wanted: &str, file: &Path, outcome: &Outcome) -> Option<Finding> {
    let pointer = format!("{}/metadata/annotations/{}", outcome.template, escape(Annotation::Inject.key()));
    let place = effects.iter().find_map(|LayerEffect { effect, place }| match &effect.change {
        FieldChange::Set(value) if effect.pointer == pointer && value.eq_ignore_ascii_case(wanted) => {
            effect.target.matches(&outcome.identity).then_some(place)
        }
        _ => None,
    })?;
    let file = file.display();
    let message = match outcome.agent_list {
        Some(_) => format!("{place}: this patch opts out of injection, but {file} gets the agent"),
        None => format!("{place}: this patch requests injection, but {file} gets no agent"),
    };
    let finding = Finding::new(Reason::PatchConflict, message, outcome.offset, &pointer);
    Some(finding.with_help("inject the output of `kustomize build` instead"))
}

/// Returns a warning if a patch replaces or removes a field that holds a part of the template's agent.
fn agent_conflict(effects: &[&LayerEffect], agent_list: &str, outcome: &Outcome) -> Option<Finding> {
    let template = &outcome.template;
    let holders = [
        format!("{template}/spec/{agent_list}"),
        format!("{template}/spec/volumes"),
        format!("{template}/metadata/annotations"),
    ];
    let is_above = |pointer: &str, holder: &String| {
        holder.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let LayerEffect { effect, place } = effects.iter().find(|LayerEffect { effect, .. }| {
        effect.change == FieldChange::Replaced
            && holders.iter().any(|holder| is_above(&effect.pointer, holder))
            && effect.target.matches(&outcome.identity)
    })?;
    let field = field_path(&effect.pointer);
    let message = format!("{place}: this patch replaces or removes {field}, and with it a part of the agent");
    let finding = Finding::new(Reason::PatchConflict, message, outcome.offset, &effect.pointer);
    Some(finding.with_help("have the patch change single items, or inject the output of `kustomize build`"))
}

impl Graph {
    fn of(layers: &[Layer]) -> Self {
        let mut graph = Self::default();
        for (index, layer) in layers.iter().enumerate() {
            let folder = layer.id();
            let components = layer.paths(&layer.content.components);
            for entry in layer.paths(&layer.content.resources).iter().chain(&components) {
                graph.users.entry(entry.clone()).or_default().push(folder.clone());
            }
            graph.components.entry(folder.clone()).or_default().extend(components);
            graph.layers.entry(folder).or_default().push(index);
        }
        graph
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
        identity(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    }

    /// The canonical paths of resources or components.
    fn paths(&self, names: &[String]) -> Vec<PathBuf> {
        names.iter().map(|name| identity(&self.folder().join(name))).collect()
    }

    /// Returns true if a transformer is this program.
    fn runs_injector(&self) -> bool {
        *self.runs_injector.get_or_init(|| {
            let mut seen = HashSet::new();
            self.content.transformers.iter().any(|entry| names_injector(self.folder(), entry, &mut seen))
        })
    }

    /// Returns the fields that its patches change.
    fn effects(&self) -> &[LayerEffect] {
        self.effects.get_or_init(|| self.read_effects())
    }

    fn read_effects(&self) -> Vec<LayerEffect> {
        let mut found = Vec::new();
        for entry in &self.content.entries {
            let (file, text) = match &entry.source {
                PatchSource::Inline(text) => (None, text.clone()),
                PatchSource::File(name) => {
                    let path = self.folder().join(name);
                    let Ok(file) = read_file(&path) else { continue };
                    (Some(path), file.text)
                }
            };
            let place = |offset| match &file {
                Some(path) => place(path, &text, offset),
                None => place(&self.path, &self.text, self.inline_offset(entry, &text, offset)),
            };
            found.extend(
                effects(&text, entry.target.as_ref(), Annotation::Inject.key())
                    .into_iter()
                    .map(|effect| LayerEffect { place: place(effect.offset), effect }),
            );
        }
        found
    }

    /// Returns the offset in the kustomization of a line of a patch in its text; of the whole patch if it is no literal block.
    fn inline_offset(&self, entry: &PatchEntry, patch: &str, offset: usize) -> usize {
        match self.text.get(entry.offset..) {
            Some(scalar) if scalar.starts_with('|') => {
                let line = LineCounter::new(patch.as_bytes()).position(offset).line;
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
    let files = NAMES.iter().filter_map(|name| read_file(&path.join(name)).ok());
    let mut resources = files.flat_map(|file| kustomization::read(&file.text).resources);
    resources.any(|entry| names_injector(&path, &entry, seen))
}

/// `kustomization.yaml:3:11`
fn place(path: &Path, text: &str, offset: usize) -> String {
    let at = LineCounter::new(text.as_bytes()).position(offset);
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
            for kustomization in NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
                if seen.insert(kustomization.clone()) {
                    found.push(kustomization.strip_prefix(&here).map_or(kustomization.clone(), Path::to_owned));
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
    }
    found
}
