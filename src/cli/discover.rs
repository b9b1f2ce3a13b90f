//! Finds the files of the arguments. In a folder, hidden and ignored files and symbolic links are left out.

use crate::cli::find_config::{is_configuration, relative};
use crate::cli::ignore_files::IgnoreFiles;
use crate::cli::input::{canonical, failed};
use crate::cli::messages::Messages;
use ignore::{Match, WalkBuilder};
use injector::plural;
use manifest::kustomization::NAMES;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Folders below each other in a folder that the user named.
const MAX_DEPTH: usize = 100;

/// The way a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The user named it; it is an error if it cannot be read.
    Name,
    /// It is in a folder that the user named, and may be no manifest.
    Walk,
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The path as messages show it.
    pub path: PathBuf,
    /// The path that tells files apart.
    pub canonical: PathBuf,
    pub found_by: FoundBy,
}

/// The files of a run, each once: in the order of the arguments, and in a folder by name.
#[derive(Default)]
pub struct DiscoveredFiles {
    pub files: Vec<InputFile>,
    /// Configurations of this program, which are no manifests: `agent-injector.yaml`.
    pub configurations: Vec<PathBuf>,
    /// Folders with the templates of Helm charts, which are no manifests.
    pub chart_templates: Vec<PathBuf>,
    /// Canonical paths of the folders that were walked.
    pub folders: Vec<PathBuf>,
    /// Folders that the user named and that have no file with the extension of a manifest.
    pub empty: Vec<PathBuf>,
    /// Errors of the file system, or beyond a bound.
    pub errors: Vec<String>,
    /// The numbers of manifests that an `.ignore` leaves out, by its canonical folder.
    left_out: BTreeMap<PathBuf, usize>,
    ignore_files: IgnoreFiles,
    /// Canonical paths of files and folders: `deploy deploy/web.yaml`, or a link and its target, name one file twice. As strings they are
    /// hashed in a fraction of the time.
    seen: HashSet<OsString>,
    /// True if the folder that the user named has a file with the extension of a manifest, or was read before.
    has_files: bool,
}

impl DiscoveredFiles {
    /// Reports errors, ignore files that were not read, and the number of files that others leave out.
    pub fn report(&self, messages: &mut Messages) {
        let shown = |path: &Path| relative(path, Path::new(".")).display().to_string();
        for error in &self.errors {
            messages.error(error);
        }
        for link in &self.ignore_files.links {
            let link = shown(link);
            messages.note_line(&format!(
                "info: {link}: skipped, since it is a symbolic link, which Git does not follow either"
            ));
        }
        for (folder, count) in self.left_out.iter().filter(|(_, count)| **count > 0) {
            let (count, file) = (plural(*count, "file"), shown(&folder.join(".ignore")));
            messages.add_left_out(&format!("{count} left out by {file}"));
        }
    }

    /// Adds a file that was not seen.
    fn add(&mut self, path: PathBuf, canonical: PathBuf, found_by: FoundBy) {
        if !self.seen.insert(canonical.clone().into()) {
            return;
        }
        if is_configuration(&path) {
            self.configurations.push(path);
        } else {
            self.files.push(InputFile {
                path,
                canonical,
                found_by,
            });
        }
    }

    /// Adds the files of a folder that the user named.
    fn add_named(&mut self, folder: &Path) {
        let root = canonical(folder);
        let earlier_errors = self.errors.len();
        self.has_files = false;
        // Below a folder, they are left out.
        if is_chart_template(&root) {
            self.chart_templates.push(folder.to_owned());
            self.folders.push(root);
        } else {
            // `.` gives `web.yaml`, not `./web.yaml`.
            let shown = folder.strip_prefix(".").unwrap_or(folder);
            self.walk(shown, &root, 0)
                .unwrap_or_else(|error| self.errors.push(error));
        }
        // An error may be the cause.
        if !self.has_files && self.errors.len() == earlier_errors {
            self.empty.push(folder.to_owned());
        }
    }

    /// Adds the files of a canonical folder. An error, such as one beyond a bound, ends the walk.
    fn walk(&mut self, shown: &Path, folder: &Path, depth: usize) -> Result<(), String> {
        if !self.seen.insert(folder.into()) {
            self.has_files = true;
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(format!(
                "{}: more than {MAX_DEPTH} directories deep; name a directory nearer to the manifests",
                shown.display()
            ));
        }
        self.folders.push(folder.to_owned());
        self.ignore_files.enter(folder)?;
        let mut entries = fs::read_dir(folder)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .unwrap_or_else(|error| {
                self.errors.push(failed(shown, &error));
                Vec::new()
            });
        entries.sort_by_cached_key(DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let shown = shown.join(&name);
            // A link is neither a folder nor a file.
            let is_read = |kind: &FileType| kind.is_dir() || kind.is_file() && is_manifest(&path);
            let Some(kind) = entry.file_type().ok().filter(is_read) else {
                continue;
            };
            let is_folder = kind.is_dir();
            match self.ignore_files.matched(&path, is_folder) {
                Match::Ignore(Some(folder)) => {
                    let left_out = self.left_out.entry(folder.to_owned());
                    *left_out.or_default() += count_manifests(&path);
                }
                Match::Ignore(None) => {}
                Match::None if name.as_encoded_bytes().starts_with(b".") => {}
                _ if !is_folder => {
                    self.has_files = true;
                    self.add(shown, path, FoundBy::Walk);
                }
                _ if is_templates_of_chart(&path) => self.chart_templates.push(shown),
                _ => {
                    self.walk(&shown, &path, depth + 1)?;
                    self.ignore_files.enter(folder)?;
                }
            }
        }
        Ok(())
    }
}

/// Finds the files of the arguments.
pub fn files(paths: &[PathBuf]) -> DiscoveredFiles {
    let mut discovered = DiscoveredFiles::default();
    for path in paths {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => discovered.add_named(path),
            Ok(_) => discovered.add(path.clone(), canonical(path), FoundBy::Name),
            Err(error) => discovered.errors.push(failed(path, &error)),
        }
    }
    discovered
}

/// Returns the number of manifests of a file or folder.
fn count_manifests(path: &Path) -> usize {
    WalkBuilder::new(path)
        .standard_filters(false)
        .build()
        .flatten()
        .filter(|entry| is_manifest(entry.path()))
        .count()
}

/// Returns true for the folder `templates` beside a `Chart.yaml`. Without a chart, such a folder may have manifests.
fn is_templates_of_chart(templates: &Path) -> bool {
    let chart = templates.parent();
    templates.file_name() == Some(OsStr::new("templates"))
        && chart.is_some_and(|chart| chart.join("Chart.yaml").is_file())
}

/// Returns true for the canonical path of such a folder, and of files and folders in it.
pub fn is_chart_template(path: &Path) -> bool {
    path.ancestors().any(is_templates_of_chart)
}

/// Returns true for a file with the extension of a manifest.
pub fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["yaml", "yml", "json"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

pub fn has_name_of_kustomization(path: &Path) -> bool {
    NAMES.iter().any(|name| path.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn names(root: &Path, found: &DiscoveredFiles) -> Vec<String> {
        let relative = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        found
            .files
            .iter()
            .map(|file| relative(&file.path))
            .collect()
    }

    #[test]
    fn a_folder_gives_its_manifests_by_name_and_nothing_hidden_or_ignored() {
        let root = tree(&[
            "b.yml",
            "a/z.yaml",
            "a/.hidden.yaml",
            "c.json",
            "d.YAML",
            "d.txt",
            "out/gen.yaml",
            ".git/HEAD",
        ]);
        std::fs::write(root.path().join(".gitignore"), "out/\n").unwrap();
        let found = files(&[root.path().to_owned()]);
        assert_eq!(
            names(root.path(), &found),
            ["a/z.yaml", "b.yml", "c.json", "d.YAML"]
        );
        assert!(
            found
                .files
                .iter()
                .all(|file| file.found_by == FoundBy::Walk)
        );
    }

    #[test]
    fn a_file_that_was_named_needs_no_extension_and_comes_once() {
        let root = tree(&["deploy", "out/gen.yaml"]);
        let named = root.path().join("deploy");
        let found = files(&[named.clone(), named]);
        assert_eq!(names(root.path(), &found), ["deploy"]);
        assert_eq!(found.files[0].found_by, FoundBy::Name);
    }

    #[test]
    fn a_folder_without_manifests_is_listed_as_empty() {
        let root = tree(&["out/gen.yaml", "notes.txt", "a/web.yaml"]);
        std::fs::write(root.path().join(".ignore"), "out/\n").unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::create_dir(path("b")).unwrap();
        assert_eq!(files(&[path("b")]).empty, [path("b")]);
        assert!(
            files(&[root.path().to_owned(), path("a")]).empty.is_empty(),
            "its files were found before"
        );
    }

    #[test]
    fn a_charts_templates_are_passed_by_and_the_rest_of_it_is_not() {
        let root = tree(&[
            "web/Chart.yaml",
            "web/templates/d.yaml",
            "web/crds/c.yaml",
            "plain/templates/d.yaml",
        ]);
        let found = files(&[root.path().to_owned()]);
        assert_eq!(
            names(root.path(), &found),
            [
                "plain/templates/d.yaml",
                "web/Chart.yaml",
                "web/crds/c.yaml"
            ]
        );
        assert_eq!(found.chart_templates, [root.path().join("web/templates")]);
        let named = files(&[root.path().join("web/templates")]);
        assert_eq!((named.files.len(), named.chart_templates.len()), (0, 1));
    }

    #[test]
    fn each_folder_that_is_walked_is_listed() {
        let root = tree(&["a/b/web.yaml", "out/web.yaml"]);
        std::fs::write(root.path().join(".ignore"), "out/\n").unwrap();
        let path = canonical(root.path());
        let found = files(&[root.path().to_owned()]);
        assert_eq!(
            found.folders,
            [path.clone(), path.join("a"), path.join("a/b")]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_inside_a_folder_are_passed_by_and_named_ones_are_followed() {
        let root = tree(&["real.yaml"]);
        let link = root.path().join("link.yaml");
        std::os::unix::fs::symlink("real.yaml", &link).unwrap();
        assert_eq!(
            names(root.path(), &files(&[root.path().to_owned()])),
            ["real.yaml"]
        );
        assert_eq!(
            names(root.path(), &files(std::slice::from_ref(&link))),
            ["link.yaml"]
        );
        assert_eq!(
            files(&[link, root.path().to_owned()]).files.len(),
            1,
            "one file, two names"
        );
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let found = files(&[PathBuf::from("no/such.yaml")]);
        assert_eq!(found.errors, ["no/such.yaml: no such file or directory"]);
    }
}
