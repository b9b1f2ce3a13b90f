//! The kustomizations, and the files and folders that they name, as a graph.

use crate::cli::discover::{DiscoveredFiles, FoundBy, InputFile};
use crate::cli::find_config::{parent, read_found, relative, root};
use crate::cli::input::canonical;
use crate::cli::kustomizations::entry_path::{Links, entry_path};
use crate::diagnostic::LineCounter;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The kustomizations of a run. A number is the index of a node.
#[derive(Debug, Default)]
pub struct Graph {
    /// The canonical folders of the input and those above them, each with the folder that has all files which are read for it.
    roots: BTreeMap<PathBuf, PathBuf>,
    /// The canonical folders that the run walks.
    walked: HashSet<PathBuf>,
    /// The folders with a kustomization, then what kustomizations name.
    pub(super) nodes: Vec<Node>,
    by_path: HashMap<OsString, usize>,
    links: Links,
    /// The canonical current folder.
    current: PathBuf,
}

/// A file or folder.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The canonical path.
    pub(super) path: PathBuf,
    /// The folder with all files that are read for it.
    root: PathBuf,
    /// True if the run does not read it as an input.
    pub(super) is_outside: bool,
    /// The kustomization of a folder.
    pub(super) kustomization: Option<Rc<KustomizationFile>>,
    /// The resources, bases and components that the kustomization names and that are there.
    pub(super) resources: Vec<usize>,
    pub(super) transformers: Vec<usize>,
    pub(super) patches: Vec<usize>,
    /// True if the kustomization names a URL.
    pub(super) takes_missing: bool,
    /// The entry that names it as a patch.
    patch: Option<NamedPatch>,
}

/// The file of a kustomization.
#[derive(Debug)]
pub(super) struct KustomizationFile {
    /// The path in messages.
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) content: Kustomization,
}

impl Graph {
    /// Reads the kustomizations of the input. One that cannot be read is left out; if it is an input, the run reports its error.
    pub fn of_input(discovered: &DiscoveredFiles) -> Self {
        let mut graph = Self::empty();
        for file in &discovered.files {
            if file.found_by == FoundBy::Name {
                graph.add_with_those_above(parent(&file.canonical));
            }
        }
        for folder in &discovered.folders {
            graph.add_with_those_above(folder);
            graph.walked.insert(folder.clone());
        }
        graph.read();
        graph
    }

    /// Reads the kustomizations of canonical folders.
    pub fn of_folders<'p>(folders: impl Iterator<Item = &'p Path>) -> Self {
        let mut graph = Self::empty();
        for folder in folders {
            let root = root(folder, &graph.current).to_owned();
            graph.roots.insert(folder.to_owned(), root);
        }
        graph.read();
        graph
    }

    fn empty() -> Self {
        Self {
            current: canonical(Path::new(".")),
            ..Self::default()
        }
    }

    /// Reads the kustomizations of the folders, and what they name.
    fn read(&mut self) {
        let nodes = self.roots.iter().filter_map(|(path, root)| {
            let file = KustomizationFile::read(path, root, &self.current)?;
            Some(Node {
                path: path.clone(),
                root: root.clone(),
                is_outside: !self.is_walked(path),
                kustomization: Some(Rc::new(file)),
                ..Node::default()
            })
        });
        for node in nodes.collect::<Vec<_>>() {
            self.add(node);
        }
        let mut index = 0;
        while let Some(node) = self.nodes.get(index) {
            if let Some(file) = node.kustomization.clone() {
                self.follow(index, &file);
            }
            index += 1;
        }
    }

    /// Adds a folder of the input, and those above it up to the root of the repository.
    fn add_with_those_above(&mut self, folder: &Path) {
        let roots = &mut self.roots;
        if roots.contains_key(folder) {
            return;
        }
        let root = match folder.parent().and_then(|above| roots.get(above)) {
            Some(root) if !folder.join(".git").exists() => root.clone(),
            Some(_) => folder.to_owned(),
            None => root(folder, &self.current).to_owned(),
        };
        for ancestor in folder.ancestors() {
            if roots.contains_key(ancestor) || !ancestor.starts_with(&root) {
                break;
            }
            roots.insert(ancestor.to_owned(), root.clone());
        }
    }

    fn add(&mut self, node: Node) -> usize {
        let index = self.nodes.len();
        self.by_path.insert(node.path.clone().into(), index);
        self.nodes.push(node);
        index
    }

    /// Adds what a kustomization names.
    fn follow(&mut self, index: usize, file: &KustomizationFile) {
        let folder = self.nodes[index].path.clone();
        for entry in &file.content.resources {
            match self.find(index, entry) {
                Some(found) => self.nodes[index].resources.push(found),
                None => {
                    let is_outside = !self.is_walked(parent(&folder.join(entry)));
                    self.nodes[index].takes_missing |= is_outside && !entry.starts_with('.');
                }
            }
        }
        for entry in &file.content.transformers {
            let found = self.find(index, entry);
            self.nodes[index].transformers.extend(found);
        }
        let mut lines = LineCounter::new(file.text.as_bytes());
        for entry in &file.content.patch_files {
            let Some(found) = self.find(index, &entry.path) else {
                continue;
            };
            self.nodes[index].patches.push(found);
            let named = &mut self.nodes[found];
            if named.path.starts_with(&folder) {
                named.patch.get_or_insert_with(|| {
                    let at = lines.position(entry.offset);
                    NamedPatch {
                        place: format!("{}:{}:{}", file.path.display(), at.line, at.column),
                        pointer: entry.pointer.clone(),
                    }
                });
            }
        }
    }

    /// Returns what the kustomization of a folder names, if it is there.
    fn find(&mut self, by: usize, entry: &str) -> Option<usize> {
        let Node { path, root, .. } = &self.nodes[by];
        let path = entry_path(path, entry, &mut self.links)?;
        if let Some(known) = self.by_path.get(path.as_os_str()) {
            return Some(*known);
        }
        let is_folder = path.is_dir();
        let read = || KustomizationFile::read(&path, root, &self.current);
        let file = is_folder.then(read).flatten();
        let folder = if is_folder { &path } else { parent(&path) };
        Some(self.add(Node {
            is_outside: !self.is_walked(folder),
            root: root.clone(),
            path,
            kustomization: file.map(Rc::new),
            ..Node::default()
        }))
    }

    pub(super) fn index_of(&self, path: &Path) -> Option<usize> {
        self.by_path.get(path.as_os_str()).copied()
    }

    /// Returns true for a canonical folder that the run walks.
    pub(super) fn is_walked(&self, folder: &Path) -> bool {
        self.walked.contains(folder)
    }

    /// Returns true for a canonical folder of the input, or above it.
    pub(super) fn has_folder(&self, folder: &Path) -> bool {
        self.roots.contains_key(folder)
    }

    /// Returns the path of a file in messages.
    pub(super) fn shown(&self, index: usize) -> PathBuf {
        relative(&self.nodes[index].path, &self.current)
    }

    /// Reads a file that the user may not have named.
    pub(super) fn text(&self, index: usize) -> Option<String> {
        let Node { path, root, .. } = &self.nodes[index];
        Some(read_found(path, root).ok()?.text)
    }

    /// Returns the entry that names the file as a patch.
    pub fn patch_entry(&self, file: &InputFile) -> Option<&NamedPatch> {
        self.nodes[self.index_of(&file.canonical)?].patch.as_ref()
    }

    /// Returns nodes with all resources that they use, and so on.
    pub(super) fn reachable(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), Vec::from_iter(from));
        while let Some(index) = open.pop() {
            if found.insert(index) {
                open.extend(&self.nodes[index].resources);
            }
        }
        found
    }

    /// Returns all nodes, each before its resources. kustomize refuses a cycle; here it is cut somewhere.
    pub(super) fn users_first(&self) -> Vec<usize> {
        enum Step {
            Enter(usize),
            Leave(usize),
        }
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let mut steps: Vec<_> = (0..self.nodes.len()).map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(index) if seen.insert(index) => {
                    steps.push(Step::Leave(index));
                    let used = self.nodes[index].resources.iter().copied();
                    steps.extend(used.map(Step::Enter));
                }
                Step::Enter(_) => {}
                Step::Leave(index) => order.push(index),
            }
        }
        order.reverse();
        order
    }
}

impl KustomizationFile {
    /// Reads the kustomization of a canonical folder.
    fn read(folder: &Path, root: &Path, current: &Path) -> Option<Self> {
        let mut paths = NAMES.iter().map(|name| folder.join(name));
        let read = |path: PathBuf| Some((read_found(&path, root).ok()?.text, path));
        let (text, path) = paths.find_map(read)?;
        Some(Self {
            path: relative(&path, current),
            content: kustomization::read(&text),
            text,
        })
    }
}

impl Node {
    /// Returns true for a Component, which is built as a part of others alone.
    pub(super) fn is_component(&self) -> bool {
        let file = self.kustomization.as_ref();
        file.is_some_and(|file| file.content.is_component)
    }

    pub(super) fn has_charts(&self) -> bool {
        let file = self.kustomization.as_ref();
        file.is_some_and(|file| file.content.has_charts)
    }
}
