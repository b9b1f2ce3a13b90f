//! The kustomizations, and the files and folders that they name.

use crate::cli::discover::{DiscoveredFiles, FoundBy, InputFile};
use crate::cli::find_config::{parent, read_found, relative, root};
use crate::cli::input::canonical;
use crate::cli::kustomizations::entry_path::{Links, entry_path};
use crate::diagnostic::LineCounter;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch, is_remote};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The kustomizations of a run, and those that they use. All paths are canonical.
#[derive(Debug, Default)]
pub struct Kustomizations {
    /// The folders of the input and those above them, each with the folder that has all files which are read for it.
    roots: BTreeMap<PathBuf, PathBuf>,
    /// The folders that the run walks.
    pub(super) walked: HashSet<PathBuf>,
    /// By folder.
    pub(super) files: BTreeMap<PathBuf, KustomizationFile>,
    /// The files below a kustomization that names them as patches.
    patches: HashMap<PathBuf, NamedPatch>,
    current: PathBuf,
}

/// The file of a kustomization. What it names are canonical paths of files and folders that are there.
#[derive(Debug)]
pub(super) struct KustomizationFile {
    /// The path in messages.
    pub(super) path: PathBuf,
    /// The folder with all files that are read for it.
    root: PathBuf,
    pub(super) text: String,
    pub(super) content: Kustomization,
    pub(super) resources: Vec<PathBuf>,
    pub(super) transformers: Vec<PathBuf>,
    pub(super) patches: Vec<PathBuf>,
    /// True if a resource is a URL.
    pub(super) takes_remote: bool,
    /// A resource that does not exist.
    pub(super) missing: Option<String>,
}

impl Kustomizations {
    /// Reads the kustomizations of the input. One that cannot be read is left out; if it is an input, the run reports its error.
    pub fn of_input(discovered: &DiscoveredFiles) -> Self {
        let mut found = Self::empty();
        for file in &discovered.files {
            if file.found_by == FoundBy::Name {
                found.add_with_those_above(parent(&file.canonical));
            }
        }
        for folder in &discovered.folders {
            found.add_with_those_above(folder);
            found.walked.insert(folder.clone());
        }
        found.read();
        found
    }

    /// Reads the kustomizations of canonical folders.
    pub fn of_folders<'p>(folders: impl Iterator<Item = &'p Path>) -> Self {
        let mut found = Self::empty();
        for folder in folders {
            let root = root(folder, &found.current).to_owned();
            found.roots.insert(folder.to_owned(), root);
        }
        found.read();
        found
    }

    fn empty() -> Self {
        Self {
            current: canonical(Path::new(".")),
            ..Self::default()
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

    /// Reads the kustomizations of the folders, and those that they use.
    fn read(&mut self) {
        let mut links = Links::new();
        let mut open: Vec<_> = self.roots.clone().into_iter().collect();
        while let Some((folder, root)) = open.pop() {
            if self.files.contains_key(&folder) {
                continue;
            }
            let Some(mut file) = KustomizationFile::read(&folder, &root, &self.current) else {
                continue;
            };
            let mut find = |entry: &str| entry_path(&folder, entry, &mut links);
            for entry in &file.content.resources {
                match find(entry) {
                    Some(path) => file.resources.push(path),
                    None if is_remote(entry) => file.takes_remote = true,
                    None => _ = file.missing.get_or_insert_with(|| entry.clone()),
                }
            }
            let transformers = file.content.transformers.iter();
            file.transformers = transformers.flat_map(|entry| find(entry)).collect();
            let folders = file.resources.iter().chain(&file.transformers);
            let folders = folders.filter(|path| path.is_dir());
            open.extend(folders.map(|path| (path.clone(), root.clone())));
            let mut lines = LineCounter::new(file.text.as_bytes());
            let mut named = HashMap::new();
            for entry in &file.content.patch_files {
                let Some(path) = find(&entry.path) else {
                    continue;
                };
                if path.starts_with(&folder) {
                    let at = lines.position(entry.offset);
                    named.entry(path.clone()).or_insert_with(|| NamedPatch {
                        place: format!("{}:{}:{}", file.path.display(), at.line, at.column),
                        pointer: entry.pointer.clone(),
                    });
                }
                file.patches.push(path);
            }
            self.patches.extend(named);
            self.files.insert(folder, file);
        }
    }

    /// Returns true for a folder of the input, or above it.
    pub(super) fn has_folder(&self, folder: &Path) -> bool {
        self.roots.contains_key(folder)
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

    /// Returns the path of a file in messages.
    pub(super) fn shown(&self, file: &Path) -> PathBuf {
        relative(file, &self.current)
    }

    /// Returns the entry that names the file as a patch.
    pub fn patch_entry(&self, file: &InputFile) -> Option<&NamedPatch> {
        self.patches.get(&file.canonical)
    }

    /// Returns paths with all that kustomizations among them use, and so on.
    pub(super) fn with_used<'k>(
        &'k self,
        paths: impl IntoIterator<Item = &'k Path>,
    ) -> HashSet<&'k Path> {
        transitive(paths, |path| {
            let file = self.files.get(path);
            file.map_or(&[][..], |file| &file.resources)
                .iter()
                .map(PathBuf::as_path)
        })
    }

    /// Returns paths with all kustomizations that use them, and so on.
    pub(super) fn with_users<'k>(
        &'k self,
        paths: impl IntoIterator<Item = &'k Path>,
    ) -> HashSet<&'k Path> {
        let users = self.users();
        transitive(paths, |path| users.get(path).into_iter().flatten().copied())
    }

    /// Returns the folders of the kustomizations that use each path.
    pub(super) fn users(&self) -> HashMap<&Path, Vec<&Path>> {
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
    paths: impl IntoIterator<Item = &'k Path>,
    next: impl Fn(&'k Path) -> N,
) -> HashSet<&'k Path> {
    let (mut found, mut open) = (HashSet::new(), Vec::from_iter(paths));
    while let Some(path) = open.pop() {
        if found.insert(path) {
            open.extend(next(path));
        }
    }
    found
}

impl KustomizationFile {
    /// Reads the kustomization of a folder, without what it names.
    fn read(folder: &Path, root: &Path, current: &Path) -> Option<Self> {
        let (path, text) = NAMES.iter().find_map(|name| {
            let path = folder.join(name);
            let text = read_found(&path, root).ok()?.text;
            Some((path, text))
        })?;
        Some(Self {
            path: relative(&path, current),
            root: root.to_owned(),
            content: kustomization::read(&text),
            text,
            resources: Vec::new(),
            transformers: Vec::new(),
            patches: Vec::new(),
            takes_remote: false,
            missing: None,
        })
    }

    /// Reads a file that it names.
    pub(super) fn text_of(&self, named: &Path) -> Option<String> {
        Some(read_found(named, &self.root).ok()?.text)
    }
}
