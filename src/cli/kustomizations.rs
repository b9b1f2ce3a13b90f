//! The kustomizations of the input and of its parent folders: the files that they use as patches, the annotations that they set, and
//! the configurations of functions.

use crate::cli::discover::{DiscoveredFiles, FoundBy, InputFile};
use crate::cli::find_config::{parent, read_found, relative, root};
use crate::cli::input::canonical;
use crate::cli::transformer::kustomization_in;
use crate::config::API_VERSION;
use crate::diagnostic::{LineCounter, Position};
use crate::mackerel::annotations::PREFIX;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use yaml_json_patch::pointer::escape;

/// The kustomizations of a run.
#[derive(Debug, Default)]
pub struct Kustomizations {
    /// The canonical folders of the input, and those above them.
    folders: BTreeSet<PathBuf>,
    layers: Vec<Layer>,
    /// The indices of the kustomizations, by canonical folder.
    by_folder: HashMap<PathBuf, usize>,
    /// The files that a kustomization in or above their folder names as patches, by canonical path.
    patches: HashMap<OsString, NamedPatch>,
    /// The names that builds give the files and folders that they use, by canonical path.
    built: HashMap<OsString, BuiltNames>,
}

/// The names that the builds which use a file give its resources, where they change them.
#[derive(Debug, Clone)]
struct BuiltNames {
    /// The namespace; none if there are several, or other names change.
    namespace: Option<String>,
    /// The index of the first of the kustomizations.
    layer: usize,
}

/// The values of [`BuiltNames`].
#[derive(Debug, Clone, Copy)]
pub struct Build<'k> {
    /// The namespace; none if there are several, or other names change.
    pub namespace: Option<&'k str>,
    /// The namespace that the first of the kustomizations sets.
    pub first_namespace: Option<&'k str>,
    /// The folder of the first of the kustomizations.
    pub first: &'k Path,
}

/// An annotation of this program that a kustomization sets.
#[derive(Debug)]
pub struct SetAnnotation<'k> {
    /// The canonical folder of the kustomization.
    pub folder: &'k Path,
    /// The file with the annotation: the kustomization, or a patch.
    pub file: String,
    pub place: Position,
}

/// A kustomization.
#[derive(Debug)]
struct Layer {
    /// The path in messages.
    path: PathBuf,
    /// The canonical folder.
    folder: PathBuf,
    /// The folder with all files that it may name.
    root: PathBuf,
    text: String,
    content: Kustomization,
}

impl Kustomizations {
    /// Reads the kustomizations. One that cannot be read is left out; if it is an input, the run reports its error.
    pub fn read(discovered: &DiscoveredFiles) -> Self {
        let current = canonical(Path::new("."));
        let mut kustomizations = Self {
            folders: folders(discovered, &current),
            ..Self::default()
        };
        let mut layers = Vec::new();
        for folder in &kustomizations.folders {
            let paths = NAMES.iter().map(|name| folder.join(name));
            let files = paths.filter(|path| path.is_file());
            layers.extend(files.filter_map(|path| Layer::read(&path, folder, &current)));
        }
        for layer in layers {
            kustomizations.add(layer);
        }
        let components = kustomizations.renaming_components();
        for layer in &mut kustomizations.layers {
            let uses_one = layer.used().any(|path| components.contains(&path));
            layer.content.renames |= uses_one;
        }
        for layer in 0..kustomizations.layers.len() {
            kustomizations.give_names(layer);
        }
        kustomizations
    }

    /// Returns the canonical folders of Components that give other names to the resources of their users.
    fn renaming_components(&self) -> HashSet<PathBuf> {
        let components = self.layers.iter().filter(|layer| {
            let content = &layer.content;
            content.is_component && (content.renames || content.namespace.is_some())
        });
        components.map(|layer| layer.folder.clone()).collect()
    }

    /// Gives the names that a kustomization sets to what it uses, and to what that uses. The names of a file change twice at most: they
    /// become known, then ambiguous.
    fn give_names(&mut self, layer: usize) {
        let Some(first) = self.layers.get(layer).filter(|one| one.changes_names()) else {
            return;
        };
        let Kustomization {
            namespace, renames, ..
        } = &first.content;
        let names = BuiltNames {
            namespace: namespace.clone().filter(|_| !renames),
            layer,
        };
        let mut used: Vec<_> = first.used().map(|path| (path, names.clone())).collect();
        while let Some((path, mut names)) = used.pop() {
            if let Some(known) = self.built.get(path.as_os_str()) {
                if known.namespace.is_none() || known.namespace == names.namespace {
                    continue;
                }
                names = BuiltNames {
                    namespace: None,
                    layer: known.layer,
                };
            }
            let index = self.by_folder.get(&path);
            if let Some(base) = index.and_then(|index| self.layers.get(*index)) {
                used.extend(base.used().map(|path| (path, names.clone())));
            }
            self.built.insert(path.into(), names);
        }
    }

    fn add(&mut self, layer: Layer) {
        let mut lines = LineCounter::new(layer.text.as_bytes());
        for file in &layer.content.patch_files {
            let path = canonical(&layer.folder.join(&file.path));
            if path.starts_with(&layer.folder) {
                let patch = NamedPatch {
                    place: place(&layer.path, &mut lines, file.offset),
                    pointer: file.pointer.clone(),
                };
                self.patches.entry(path.into()).or_insert(patch);
            }
        }
        let (folder, index) = (layer.folder.clone(), self.layers.len());
        self.by_folder.entry(folder).or_insert(index);
        self.layers.push(layer);
    }

    /// Returns the entry that names the file as a patch.
    pub fn naming(&self, file: &InputFile) -> Option<&NamedPatch> {
        self.patches.get(file.canonical.as_os_str())
    }

    /// Returns true if a kustomization, or a Kptfile above it, names a file as the configuration of a function.
    pub fn configures_function(&self, file: &Path) -> bool {
        let mut entries = self.layers.iter().flat_map(|layer| {
            let entries = layer.content.transformers.iter();
            entries.map(|entry| canonical(&layer.folder.join(entry)))
        });
        let mut folders = self
            .folders
            .iter()
            .filter(|folder| file.starts_with(folder));
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

    /// Returns what the builds that use a file make of its names, if they change them.
    pub fn build_of(&self, file: &InputFile) -> Option<Build<'_>> {
        let built = self.built.get(file.canonical.as_os_str())?;
        let first = self.layers.get(built.layer)?;
        Some(Build {
            namespace: built.namespace.as_deref(),
            first_namespace: first.content.namespace.as_deref(),
            first: parent(&first.path),
        })
    }

    /// Returns the folders of the input with a kustomization that has charts, or resources outside of the input.
    pub fn rendered_elsewhere(&self, discovered: &DiscoveredFiles) -> Vec<&Path> {
        let input: HashSet<&Path> = discovered.folders.iter().map(PathBuf::as_path).collect();
        // Many overlays have one base.
        let mut known: HashMap<PathBuf, bool> = HashMap::new();
        let mut is_outside = |layer: &Layer, entry: &String| {
            let path = canonical(&layer.folder.join(entry));
            let folder = if path.is_dir() { &*path } else { parent(&path) };
            let may_have_templates = || may_have_templates(&path, &layer.root);
            !input.contains(folder) && *known.entry(path.clone()).or_insert_with(may_have_templates)
        };
        let layers = self.layers.iter().filter(|layer| {
            let content = &layer.content;
            let mut entries = content.resources.iter();
            input.contains(layer.folder.as_path())
                && !content.is_component
                && (content.has_charts || entries.any(|entry| is_outside(layer, entry)))
        });
        layers.map(|layer| parent(&layer.path)).collect()
    }

    /// Returns the place of the first annotation of this program that each kustomization sets, itself or by a file that it names as a
    /// patch. One that runs this program as a transformer does so behind its patches.
    pub fn annotations(&self) -> impl Iterator<Item = SetAnnotation<'_>> {
        let layers = self.layers.iter().filter(|layer| !layer.injects());
        layers.filter_map(Layer::annotation)
    }
}

/// Returns false for a file, or the files of a kustomization, without containers, such as Flux's HelmReleases. What cannot be read, such
/// as a URL or a file outside of the repository, may have some.
fn may_have_templates(path: &Path, root: &Path) -> bool {
    let has_containers =
        |file: &Path| read_found(file, root).map_or(true, |file| file.text.contains("containers"));
    match kustomization_in(path, root) {
        Some(used) => {
            let mut files = used.resources.iter();
            used.has_charts || files.any(|entry| has_containers(&path.join(entry)))
        }
        None => has_containers(path),
    }
}

impl Layer {
    fn read(path: &Path, folder: &Path, current: &Path) -> Option<Self> {
        let root = root(folder, current);
        let text = read_found(path, root).ok()?.text;
        Some(Self {
            path: relative(path, current),
            folder: folder.to_owned(),
            root: root.to_owned(),
            content: kustomization::read(&text),
            text,
        })
    }

    /// Returns true if it gives its resources other names. A Component gives them to those of its users.
    fn changes_names(&self) -> bool {
        let content = &self.content;
        !content.is_component && (content.renames || content.namespace.is_some())
    }

    /// Returns the canonical paths of the files and folders that it uses.
    fn used(&self) -> impl Iterator<Item = PathBuf> {
        let entries = self.content.resources.iter();
        entries.map(|entry| canonical(&self.folder.join(entry)))
    }

    /// Returns true if a file of its `transformers` is a configuration of this program.
    fn injects(&self) -> bool {
        self.content.transformers.iter().any(|entry| {
            let file = read_found(&self.folder.join(entry), &self.root);
            file.is_ok_and(|file| file.text.contains(API_VERSION))
        })
    }

    fn annotation(&self) -> Option<SetAnnotation<'_>> {
        let annotation = |path: &Path, text: &str| {
            let offset = annotation_offset(text)?;
            Some(SetAnnotation {
                folder: &self.folder,
                file: path.to_string_lossy().into_owned(),
                place: LineCounter::new(text.as_bytes()).position(offset),
            })
        };
        annotation(&self.path, &self.text).or_else(|| {
            self.content.patch_files.iter().find_map(|file| {
                let path = canonical(&self.folder.join(&file.path));
                let text = read_found(&path, &self.root).ok()?.text;
                annotation(&relative(&path, Path::new(".")), &text)
            })
        })
    }
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

/// `kustomization.yaml:3:11`
fn place(path: &Path, lines: &mut LineCounter<'_>, offset: usize) -> String {
    let position = lines.position(offset);
    format!("{}:{}:{}", path.display(), position.line, position.column)
}

/// Returns the canonical folders whose kustomizations count: those of the input, and those above them up to the root of the
/// repository.
fn folders(discovered: &DiscoveredFiles, current: &Path) -> BTreeSet<PathBuf> {
    let named = discovered.files.iter();
    let named = named.filter(|file| file.found_by == FoundBy::Name);
    let of_named = named.map(|file| parent(&file.canonical));
    let mut folders = BTreeSet::new();
    for folder in of_named.chain(discovered.folders.iter().map(PathBuf::as_path)) {
        let above = folder.parent();
        if above.is_some_and(|above| folders.contains(above)) {
            folders.insert(folder.to_owned());
        } else {
            let root = root(folder, current);
            let ancestors = folder.ancestors();
            let ancestors = ancestors.take_while(|ancestor| ancestor.starts_with(root));
            folders.extend(ancestors.map(Path::to_owned));
        }
    }
    folders
}
