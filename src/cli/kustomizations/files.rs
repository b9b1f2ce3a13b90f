//! The kustomizations, and the files and folders that they name.

use crate::cli::discover::{DiscoveredFiles, FoundBy};
use crate::cli::find_config::{parent, read_found, relative, root};
use crate::cli::input::canonical;
use crate::cli::kustomizations::entry_path::{Links, entry_path};
use manifest::kustomization::{self, NAMES, is_remote};
use manifest::{Kustomization, NamedPatch};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The kustomizations of a run, and those that they use. All paths are canonical.
#[derive(Debug, Default)]
pub struct Kustomizations {
    /// The folders of the input and those above them, each with the folder that has all files which are read for it.
    pub(super) roots: BTreeMap<PathBuf, PathBuf>,
    /// The folders that the run walks.
    pub walked: HashSet<PathBuf>,
    /// By folder.
    pub(super) files: BTreeMap<PathBuf, KustomizationFile>,
    /// The entries of files below a kustomization that names them as patches.
    pub patches: HashMap<PathBuf, NamedPatch>,
    /// The configurations of functions: files, and folders that build one.
    pub(super) transformers: HashSet<PathBuf>,
    /// The files with a configuration of this program, and the folders that build one.
    pub(super) configurations: HashSet<PathBuf>,
    /// The words of each Kptfile, which may be paths, by its folder.
    pub(super) kptfiles: HashMap<PathBuf, Option<HashSet<String>>>,
}

/// The file of a kustomization. What it names are canonical paths of files and folders that are there.
#[derive(Debug)]
pub struct KustomizationFile {
    /// The path in messages.
    pub path: PathBuf,
    /// The folder with all files that are read for it.
    root: PathBuf,
    pub text: String,
    pub content: Kustomization,
    pub resources: Vec<PathBuf>,
    pub transformers: Vec<PathBuf>,
    pub patches: Vec<(PathBuf, NamedPatch)>,
    /// True if its build has resources that are in no file: from a URL, of a missing path, or generated.
    pub takes_others: bool,
    /// A resource that does not exist.
    pub missing: Option<String>,
}

impl Kustomizations {
    /// Reads the kustomizations of the input, and those that they use. One that cannot be read is left out; if it is an input, the run
    /// reports its error.
    pub fn of_input(discovered: &DiscoveredFiles) -> Self {
        let mut found = Self::default();
        let current = canonical(Path::new("."));
        for file in &discovered.files {
            if file.found_by == FoundBy::Name {
                found.add_with_those_above(parent(&file.canonical), &current);
            }
        }
        for folder in &discovered.folders {
            found.add_with_those_above(folder, &current);
            found.walked.insert(folder.clone());
        }
        let mut links = Links::new();
        let mut open = Vec::from_iter(found.roots.clone());
        while let Some((folder, root)) = open.pop() {
            if found.files.contains_key(&folder) {
                continue;
            }
            let Some(file) = KustomizationFile::read(&folder, &root, &mut links) else {
                continue;
            };
            found.transformers.extend(file.transformers.iter().cloned());
            for path in file.resources.iter().chain(&file.transformers) {
                if path.is_dir() {
                    open.push((path.clone(), root.clone()));
                }
            }
            // Of several entries with one file, the first counts.
            for (path, entry) in file.patches.iter().rev() {
                if path.starts_with(&folder) {
                    let entry = NamedPatch {
                        place: format!("{}{}", file.path.display(), entry.place),
                        ..entry.clone()
                    };
                    found.patches.insert(path.clone(), entry);
                }
            }
            found.files.insert(folder, file);
        }
        found.configurations = found.read_configurations();
        found
    }

    /// Adds a folder of the input, and those above it up to the root of the repository.
    fn add_with_those_above(&mut self, folder: &Path, current: &Path) {
        if self.roots.contains_key(folder) {
            return;
        }
        let root = folder
            .parent()
            .and_then(|above| self.roots.get(above))
            .filter(|_| !folder.join(".git").exists())
            .map_or_else(|| root(folder, current), PathBuf::as_path)
            .to_owned();
        for ancestor in folder.ancestors() {
            if self.roots.contains_key(ancestor) || !ancestor.starts_with(&root) {
                break;
            }
            self.roots.insert(ancestor.to_owned(), root.clone());
        }
    }

    /// Returns true for a file or kustomization that the run does not read as an input.
    pub(super) fn is_outside(&self, named: &Path) -> bool {
        let folder = if self.files.contains_key(named) {
            named
        } else {
            parent(named)
        };
        !self.walked.contains(folder)
    }

    /// Returns paths with all that kustomizations among them use, and so on.
    pub(super) fn with_used<'k>(&'k self, paths: Vec<&'k Path>) -> HashSet<&'k Path> {
        transitive(paths, |path| {
            let file = self.files.get(path).into_iter();
            file.flat_map(|file| &file.resources).map(PathBuf::as_path)
        })
    }

    /// Returns paths with all kustomizations that use them, and so on.
    pub(super) fn with_users<'k>(&'k self, paths: Vec<&'k Path>) -> HashSet<&'k Path> {
        let users = self.users();
        transitive(paths, |path| users.get(path).into_iter().flatten().copied())
    }

    /// Returns the kustomizations of a build: its own, then all of them by folder.
    pub(super) fn of_build<'k>(
        &'k self,
        folder: &'k Path,
    ) -> impl Iterator<Item = &'k KustomizationFile> {
        std::iter::once(folder)
            .chain(BTreeSet::from_iter(self.with_used(vec![folder])))
            .filter_map(|folder| self.files.get(folder))
    }

    /// Returns the folders of the kustomizations that use each path.
    pub fn users(&self) -> HashMap<&Path, Vec<&Path>> {
        let mut users: HashMap<&Path, Vec<&Path>> = HashMap::new();
        for (folder, file) in &self.files {
            for used in &file.resources {
                users.entry(used).or_default().push(folder);
            }
        }
        users
    }
}

/// Returns paths with those that follow from them.
fn transitive<'k, N: Iterator<Item = &'k Path>>(
    mut open: Vec<&'k Path>,
    next: impl Fn(&'k Path) -> N,
) -> HashSet<&'k Path> {
    let mut found = HashSet::new();
    while let Some(path) = open.pop() {
        if found.insert(path) {
            open.extend(next(path));
        }
    }
    found
}

impl KustomizationFile {
    /// Reads the kustomization of a folder.
    fn read(folder: &Path, root: &Path, links: &mut Links) -> Option<Self> {
        let (path, text) = NAMES.iter().find_map(|name| {
            let path = folder.join(name);
            let text = read_found(&path, root).ok()?;
            Some((relative(&path, Path::new(".")), text))
        })?;
        let content = kustomization::read(&text);
        let mut find = |entry: &String| entry_path(folder, entry, links);
        let (mut resources, mut missing) = (Vec::new(), None);
        for entry in &content.resources {
            match find(entry) {
                Some(path) => resources.push(path),
                None if is_remote(entry) => {}
                None => _ = missing.get_or_insert_with(|| entry.clone()),
            }
        }
        Some(Self {
            path,
            text,
            root: root.to_owned(),
            transformers: content.transformers.iter().filter_map(&mut find).collect(),
            patches: content
                .patches
                .iter()
                .filter_map(|(path, entry)| Some((find(path)?, entry.clone())))
                .collect(),
            takes_others: resources.len() < content.resources.len()
                || content.has_charts
                || content.has_generators,
            resources,
            missing,
            content,
        })
    }

    /// Reads a file that it names.
    pub fn text_of(&self, named: &Path) -> Option<String> {
        read_found(named, &self.root).ok()
    }
}
