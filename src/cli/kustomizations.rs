//! The kustomizations of the input and of its parent folders: the files that they use as patches, the annotations that they set, the
//! names that their builds give, and the configurations of functions.

use crate::cli::discover::{DiscoveredFiles, FoundBy, InputFile};
use crate::cli::entry_path::{Links, entry_path};
use crate::cli::find_config::{parent, read_found, relative, root};
use crate::cli::input::canonical;
use crate::config::API_VERSION;
use crate::diagnostic::{LineCounter, Position};
use crate::mackerel::annotations::PREFIX;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use yaml_json_patch::pointer::escape;

/// The kustomizations of a run.
#[derive(Debug, Default)]
pub struct Kustomizations {
    /// The canonical folders of the input, and those above them.
    folders: BTreeMap<PathBuf, Folder>,
    /// Those in `folders`, then others that they use.
    layers: Vec<Layer>,
    /// The files and folders that they name, and their own folders.
    named: Vec<Named>,
    /// The indices of `named`, by canonical path.
    by_path: HashMap<OsString, usize>,
    links: Links,
}

#[derive(Debug)]
struct Folder {
    /// The folder with all files that its kustomization may name.
    root: PathBuf,
    /// True if it is in a folder that the user named.
    is_walked: bool,
    /// The words of its Kptfile.
    kptfile: OnceCell<Option<HashSet<String>>>,
}

/// An annotation of this program that a kustomization sets.
#[derive(Debug, Clone)]
pub struct SetAnnotation {
    /// The canonical folder of the kustomization.
    pub folder: PathBuf,
    /// The file with the annotation: the kustomization, or a patch.
    pub file: String,
    pub place: Position,
}

/// A kustomization.
#[derive(Debug, Default)]
struct Layer {
    /// The path in messages.
    path: PathBuf,
    /// The canonical folder.
    folder: PathBuf,
    root: PathBuf,
    text: String,
    content: Kustomization,
    /// Indices of `named`.
    resources: Vec<usize>,
    transformers: Vec<usize>,
    patches: Vec<usize>,
    /// The index of the kustomization that sets its namespace: itself or one of its Components.
    namespace: Option<usize>,
    /// True if it, or one that it uses, has charts.
    needs_helm: bool,
    /// True if it takes resources that may have pod templates from outside of the input.
    takes_others: bool,
}

/// A file or folder that a kustomization names.
#[derive(Debug)]
struct Named {
    /// The canonical path.
    path: PathBuf,
    is_outside: bool,
    /// The index of the kustomization in the folder.
    layer: Option<usize>,
    names: Option<BuiltNames>,
    /// The entry that names it as a patch.
    patch: Option<NamedPatch>,
    is_transformer: bool,
}

/// The names that builds give in a file or folder.
#[derive(Debug, Clone, Copy)]
struct BuiltNames {
    /// The index of the kustomization that is built: the first which changes names, of those that no other one uses.
    top: usize,
    /// The index of the kustomization whose namespace the build gives. The outermost one counts.
    namespace: Option<usize>,
    /// True if the build gives a prefix or suffix.
    renames: bool,
    /// The index of one that is built and gives other names.
    other: Option<usize>,
    /// The index of one that is built and keeps the names. The file may have those that others give.
    keeping: Option<usize>,
}

impl BuiltNames {
    fn new(top: usize) -> Self {
        Self {
            top,
            namespace: None,
            renames: false,
            other: None,
            keeping: None,
        }
    }

    fn changes(&self) -> bool {
        self.namespace.is_some() || self.renames
    }
}

/// A kustomization to build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    /// The folder in messages.
    pub folder: PathBuf,
    pub needs_helm: bool,
}

/// The names that builds give the resources of a file, if they change them.
#[derive(Debug)]
pub struct GivenNames<'k> {
    /// The namespace; none if there are several, or other names change.
    pub namespace: Option<&'k str>,
    /// The namespace that the first build gives.
    pub first_namespace: Option<&'k str>,
    pub first: Build,
    /// A build that gives other names.
    pub other: Option<Build>,
}

/// A kustomization whose build has resources that the input has not.
#[derive(Debug)]
pub struct RenderedElsewhere {
    pub build: Build,
    /// The canonical folder.
    pub folder: PathBuf,
    pub has_charts: bool,
    /// True if it takes resources from outside of the input.
    pub takes_others: bool,
}

impl Kustomizations {
    /// Reads the kustomizations. One that cannot be read is left out; if it is an input, the run reports its error.
    pub fn read(discovered: &DiscoveredFiles) -> Self {
        let current = canonical(Path::new("."));
        let mut all = Self {
            folders: folders(discovered, &current),
            ..Self::default()
        };
        let folders = all.folders.iter();
        let read = folders.filter_map(|(path, folder)| Layer::read(path, &folder.root, &current));
        for layer in read.collect::<Vec<_>>() {
            let is_outside = !all.is_walked(&layer.folder);
            all.add(layer.folder.clone(), is_outside, Some(layer));
        }
        let mut index = 0;
        while index < all.layers.len() {
            all.find_entries(index, &current);
            index += 1;
        }
        let order = all.used_before_users();
        all.look_into_used(&order);
        all.give_names(&order);
        all
    }

    fn is_walked(&self, folder: &Path) -> bool {
        self.folders
            .get(folder)
            .is_some_and(|known| known.is_walked)
    }

    /// Adds a file or folder with its kustomization.
    fn add(&mut self, path: PathBuf, is_outside: bool, layer: Option<Layer>) -> usize {
        let index = self.named.len();
        self.by_path.insert(path.clone().into(), index);
        self.named.push(Named {
            path,
            is_outside,
            layer: layer.is_some().then_some(self.layers.len()),
            names: None,
            patch: None,
            is_transformer: false,
        });
        self.layers.extend(layer);
        index
    }

    /// Returns the index of what a kustomization names, if it is there.
    fn find(&mut self, entry: &str, layer: &Layer, current: &Path) -> Option<usize> {
        let path = entry_path(&layer.folder, entry, &mut self.links)?;
        if let Some(known) = self.by_path.get(path.as_os_str()) {
            return Some(*known);
        }
        let is_folder = path.is_dir();
        let used = is_folder.then(|| Layer::read(&path, &layer.root, current));
        let folder = if is_folder { &*path } else { parent(&path) };
        let is_outside = !self.is_walked(folder);
        Some(self.add(path, is_outside, used.flatten()))
    }

    /// Finds what a kustomization names.
    fn find_entries(&mut self, index: usize, current: &Path) {
        let Some(taken) = self.layers.get_mut(index) else {
            return;
        };
        let mut layer = std::mem::take(taken);
        for entry in &layer.content.resources {
            match self.find(entry, &layer, current) {
                Some(found) => layer.resources.push(found),
                None => layer.takes_others |= !self.is_walked(parent(&layer.folder.join(entry))),
            }
        }
        for entry in &layer.content.transformers {
            let found = self.find(entry, &layer, current);
            layer.transformers.extend(found);
            if let Some(named) = found.and_then(|found| self.named.get_mut(found)) {
                named.is_transformer = true;
            }
        }
        let mut lines = LineCounter::new(layer.text.as_bytes());
        for file in &layer.content.patch_files {
            let found = self.find(&file.path, &layer, current);
            layer.patches.extend(found);
            if let Some(named) = found.and_then(|found| self.named.get_mut(found))
                && named.path.starts_with(&layer.folder)
            {
                named.patch.get_or_insert_with(|| NamedPatch {
                    place: place(&layer.path, &mut lines, file.offset),
                    pointer: file.pointer.clone(),
                });
            }
        }
        if let Some(taken) = self.layers.get_mut(index) {
            *taken = layer;
        }
    }

    /// Returns the kustomization of a named folder.
    fn layer_of(&self, named: usize) -> Option<&Layer> {
        self.layers.get(self.named.get(named)?.layer?)
    }

    /// Returns the indices of the kustomizations, each after those that it uses. kustomize refuses a cycle; here it is cut somewhere.
    fn used_before_users(&self) -> Vec<usize> {
        enum Step {
            Enter(usize),
            Leave(usize),
        }
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let mut steps: Vec<_> = (0..self.layers.len()).rev().map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(index) if seen.insert(index) => {
                    steps.push(Step::Leave(index));
                    let used = self.layers.get(index).map(|layer| layer.resources.iter());
                    let used = used.into_iter().flatten();
                    let used = used.filter_map(|named| self.named.get(*named)?.layer);
                    steps.extend(used.map(Step::Enter));
                }
                Step::Enter(_) => {}
                Step::Leave(index) => order.push(index),
            }
        }
        order
    }

    /// Finds out what kustomizations have by others that they use.
    fn look_into_used(&mut self, order: &[usize]) {
        let mut known = HashMap::new();
        for index in order {
            let Some(layer) = self.layers.get(*index) else {
                continue;
            };
            let (mut namespace, mut renames) = (None, layer.content.renames);
            let mut needs_helm = layer.content.has_charts;
            let mut takes_others = layer.takes_others;
            for entry in &layer.resources {
                let Some(named) = self.named.get(*entry) else {
                    continue;
                };
                let used = self.layer_of(*entry);
                if let Some(used) = used {
                    needs_helm |= used.needs_helm;
                    if used.content.is_component {
                        namespace = used.namespace.or(namespace);
                        renames |= used.content.renames;
                    }
                }
                takes_others |= named.is_outside
                    && match used {
                        Some(used) => used.content.has_charts || used.takes_others,
                        None => *known
                            .entry(*entry)
                            .or_insert_with(|| may_have_templates(&named.path, &layer.root)),
                    };
            }
            if layer.content.namespace.is_some() {
                namespace = Some(*index);
            }
            if let Some(layer) = self.layers.get_mut(*index) {
                layer.content.renames = renames;
                (layer.namespace, layer.needs_helm) = (namespace, needs_helm);
                layer.takes_others = takes_others;
            }
        }
    }

    /// Gives the names of the kustomizations that no other one uses to what they use, and so on. A Component is a part of others.
    fn give_names(&mut self, order: &[usize]) {
        for index in order.iter().rev() {
            let Some(layer) = self.layers.get(*index) else {
                continue;
            };
            let own = self.by_path.get(layer.folder.as_os_str());
            let Some(own) = own.and_then(|own| self.named.get_mut(*own)) else {
                continue;
            };
            if own.names.is_none() && layer.content.is_component {
                continue;
            }
            let names = *own.names.get_or_insert(BuiltNames::new(*index));
            let inside = |names: BuiltNames| BuiltNames {
                namespace: names.namespace.or(layer.namespace),
                renames: names.renames || layer.content.renames,
                ..names
            };
            let kept = names.keeping.map(|top| inside(BuiltNames::new(top)));
            let given = BuiltNames {
                keeping: None,
                ..inside(names)
            };
            let given = kept.map_or(given, |kept| self.merged(Some(given), kept));
            for used in &layer.resources {
                let known = self.named.get(*used).and_then(|used| used.names);
                let names = self.merged(known, given);
                if let Some(used) = self.named.get_mut(*used) {
                    used.names = Some(names);
                }
            }
        }
    }

    /// Returns the names by two builds, first those that change some.
    fn merged(&self, known: Option<BuiltNames>, new: BuiltNames) -> BuiltNames {
        let Some(known) = known else {
            return new;
        };
        let (mut first, second) = match (!known.changes(), known.top) <= (!new.changes(), new.top) {
            true => (known, new),
            false => (new, known),
        };
        first.keeping = first.keeping.or(second.keeping);
        if !second.changes() {
            first.keeping = Some(second.top);
        } else if first.renames != second.renames
            || self.namespace(first.namespace) != self.namespace(second.namespace)
        {
            first.other = Some(second.top);
        } else {
            first.other = first.other.or(second.other);
        }
        first
    }

    /// Returns the namespace that a kustomization sets.
    fn namespace(&self, layer: Option<usize>) -> Option<&str> {
        self.layers.get(layer?)?.content.namespace.as_deref()
    }

    fn build(&self, layer: usize) -> Option<Build> {
        let layer = self.layers.get(layer)?;
        Some(Build {
            folder: parent(&layer.path).to_owned(),
            needs_helm: layer.needs_helm,
        })
    }

    fn named(&self, path: &Path) -> Option<&Named> {
        self.named.get(*self.by_path.get(path.as_os_str())?)
    }

    /// Returns the entry that names the file as a patch.
    pub fn naming(&self, file: &InputFile) -> Option<&NamedPatch> {
        self.named(&file.canonical)?.patch.as_ref()
    }

    /// Returns true if a kustomization, or the Kptfile of its package, names a file as the configuration of a function.
    pub fn configures_function(&self, file: &Path) -> bool {
        // An entry may be the directory of a kustomization.
        let is_transformer = |path| self.named(path).is_some_and(|named| named.is_transformer);
        let mut folders = file.ancestors().skip(1);
        file.ancestors().any(is_transformer)
            || folders.find_map(|path| {
                let folder = self.folders.get(path)?;
                let words = folder.kptfile.get_or_init(|| kptfile(path)).as_ref()?;
                let name = file.strip_prefix(path).unwrap_or(file);
                Some(words.contains(&*name.to_string_lossy()))
            }) == Some(true)
    }

    /// Returns the names that builds give the resources of a file, if they change them.
    pub fn names_of(&self, file: &InputFile) -> Option<GivenNames<'_>> {
        let names = self.named(&file.canonical)?.names;
        let names = names.filter(BuiltNames::changes)?;
        let first_namespace = self.namespace(names.namespace);
        Some(GivenNames {
            namespace: first_namespace.filter(|_| !names.renames && names.other.is_none()),
            first_namespace,
            first: self.build(names.top)?,
            other: names.other.and_then(|other| self.build(other)),
        })
    }

    /// Returns the kustomizations of the input with charts, or resources from outside of the input. Where another one of the input uses
    /// them, it is that, but for canonical folders that the user `named`.
    pub fn rendered_elsewhere(&self, named: &HashSet<PathBuf>) -> Vec<RenderedElsewhere> {
        let mut found: BTreeMap<usize, RenderedElsewhere> = BTreeMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            let (has_charts, takes_others) = (layer.content.has_charts, layer.takes_others);
            if !self.is_walked(&layer.folder) || !has_charts && !takes_others {
                continue;
            }
            let names = self.named(&layer.folder).and_then(|known| known.names);
            let top =
                names.and_then(|names| self.layers.get(names.top).map(|top| (names.top, top)));
            let is_named = named.contains(&layer.folder) && !layer.content.is_component;
            let top = top.filter(|(_, top)| !is_named && self.is_walked(&top.folder));
            let itself = (!layer.content.is_component).then_some((index, layer));
            if let Some((index, top)) = top.or(itself)
                && let Some(build) = self.build(index)
            {
                let one = found.entry(index).or_insert_with(|| RenderedElsewhere {
                    build,
                    folder: top.folder.clone(),
                    has_charts: false,
                    takes_others: false,
                });
                one.has_charts |= has_charts;
                one.takes_others |= takes_others;
            }
        }
        found.into_values().collect()
    }

    /// Returns the place of the first annotation of this program that each kustomization sets, itself or by a file that it names as a
    /// patch. One that runs this program as a transformer does so behind its patches.
    pub fn annotations(&self) -> Vec<SetAnnotation> {
        // Many kustomizations may name one file.
        let (mut ours, mut places) = (HashMap::new(), HashMap::new());
        let text = |named: usize, root: &Path| {
            let path = &self.named.get(named)?.path;
            Some((path, read_found(path, root).ok()?.text))
        };
        let mut is_ours = |named: usize, root: &Path| {
            *ours.entry(named).or_insert_with(|| {
                let file = text(named, root);
                file.is_some_and(|(_, text)| text.contains(API_VERSION))
            })
        };
        // A transformer is a file, or the folder of a kustomization that has it.
        let mut injects = |layer: &Layer| {
            layer.transformers.iter().any(|named| {
                let folder = self.layer_of(*named).into_iter();
                let mut files = folder.flat_map(|folder| &folder.resources);
                is_ours(*named, &layer.root) || files.any(|file| is_ours(*file, &layer.root))
            })
        };
        let mut of_patch = |layer: &Layer| {
            layer.patches.iter().find_map(|named| {
                let known = places.entry(*named).or_insert_with(|| {
                    let (path, text) = text(*named, &layer.root)?;
                    set_annotation(&layer.folder, &relative(path, Path::new(".")), &text)
                });
                // Another kustomization may have named it first.
                let folder = layer.folder.clone();
                known.clone().map(|known| SetAnnotation { folder, ..known })
            })
        };
        let layers = self.layers.iter();
        let layers = layers.filter(|layer| self.folders.contains_key(&layer.folder));
        let layers = layers.filter(|layer| !injects(layer));
        let places = layers.filter_map(|layer| {
            set_annotation(&layer.folder, &layer.path, &layer.text).or_else(|| of_patch(layer))
        });
        places.collect()
    }
}

/// Returns false for a file without containers, such as Flux's HelmRelease. What cannot be read, such as a file outside of the
/// repository, may have some.
fn may_have_templates(path: &Path, root: &Path) -> bool {
    read_found(path, root).map_or(true, |file| file.text.contains("containers"))
}

/// Returns the words of a folder's Kptfile, which may be paths.
fn kptfile(folder: &Path) -> Option<HashSet<String>> {
    let text = read_found(&folder.join("Kptfile"), folder).ok()?.text;
    let words = text.split(|c: char| c.is_whitespace() || "\"',}".contains(c));
    let words = words.map(|word| word.trim_start_matches("./").to_owned());
    Some(words.collect())
}

impl Layer {
    fn read(folder: &Path, root: &Path, current: &Path) -> Option<Self> {
        let mut paths = NAMES.iter().map(|name| folder.join(name));
        let read = |path: PathBuf| Some((read_found(&path, root).ok()?.text, path));
        let (text, path) = paths.find_map(read)?;
        Some(Self {
            path: relative(&path, current),
            folder: folder.to_owned(),
            root: root.to_owned(),
            content: kustomization::read(&text),
            text,
            ..Self::default()
        })
    }
}

/// Returns the first annotation of this program in a file.
fn set_annotation(folder: &Path, path: &Path, text: &str) -> Option<SetAnnotation> {
    let offset = annotation_offset(text)?;
    Some(SetAnnotation {
        folder: folder.to_owned(),
        file: path.to_string_lossy().into_owned(),
        place: LineCounter::new(text.as_bytes()).position(offset),
    })
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
fn folders(discovered: &DiscoveredFiles, current: &Path) -> BTreeMap<PathBuf, Folder> {
    let named = discovered.files.iter();
    let named = named.filter(|file| file.found_by == FoundBy::Name);
    let of_named = named.map(|file| (parent(&file.canonical), false));
    let walked = discovered.folders.iter().map(|folder| (&**folder, true));
    let mut folders: BTreeMap<PathBuf, Folder> = BTreeMap::new();
    for (folder, is_walked) in of_named.chain(walked) {
        if !folders.contains_key(folder) {
            let root = match folder.parent().and_then(|above| folders.get(above)) {
                Some(above) if !folder.join(".git").exists() => above.root.clone(),
                Some(_) => folder.to_owned(),
                None => root(folder, current).to_owned(),
            };
            for ancestor in folder.ancestors() {
                if folders.contains_key(ancestor) || !ancestor.starts_with(&root) {
                    break;
                }
                let folder = Folder {
                    root: root.clone(),
                    is_walked: false,
                    kptfile: OnceCell::new(),
                };
                folders.insert(ancestor.to_owned(), folder);
            }
        }
        if let Some(folder) = folders.get_mut(folder) {
            folder.is_walked |= is_walked;
        }
    }
    folders
}
