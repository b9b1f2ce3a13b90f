//! Finds the files of the arguments. In a folder, hidden and ignored files and symbolic links are left out, as by git.

use crate::cli::find_config::is_configuration;
use crate::cli::input::{canonical, io_message};
use crate::manifest::kustomization::is_kustomization;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

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
#[derive(Debug, Default, PartialEq, Eq)]
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
    /// Errors of the file system.
    pub errors: Vec<String>,
}

impl DiscoveredFiles {
    /// Adds a file that is a manifest or a configuration.
    fn add(&mut self, file: InputFile) {
        if is_configuration(&file.path) {
            self.configurations.push(file.path);
        } else {
            self.files.push(file);
        }
    }
}

/// Finds the files of the arguments.
pub fn files(paths: &[PathBuf]) -> DiscoveredFiles {
    let mut discovered = DiscoveredFiles::default();
    // Canonical paths: `deploy deploy/web.yaml`, or a link and its target, name one file twice. As strings they are hashed in a
    // fraction of the time.
    let mut seen = HashSet::new();
    for path in paths {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut seen, &mut discovered),
            Ok(_) => {
                let canonical = canonical(path);
                if seen.insert(canonical.clone().into()) {
                    discovered.add(InputFile {
                        path: path.clone(),
                        canonical,
                        found_by: FoundBy::Name,
                    });
                }
            }
            Err(error) => {
                discovered
                    .errors
                    .push(format!("{}: {}", path.display(), io_message(&error)))
            }
        }
    }
    discovered
}

/// Adds the files of a folder that are not `seen`.
fn walk(folder: &Path, seen: &mut HashSet<OsString>, discovered: &mut DiscoveredFiles) {
    let root = canonical(folder);
    // The walk shows a link as such.
    discovered.folders.push(root.clone());
    // The filter below is not applied to the folder itself.
    if is_chart_templates(&root) {
        discovered.chart_templates.push(folder.to_owned());
        discovered.empty.push(folder.to_owned());
        return;
    }
    let earlier_errors = discovered.errors.len();
    let mut is_empty = true;
    // The filter must be `'static`, so it sends the folders that it leaves out.
    let (sender, left_out_paths) = mpsc::channel();
    let above = root.ancestors().find_map(endless_ignore_file);
    let is_walked = above.is_none_or(|file| sender.send(file).is_err());
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.sort_by_file_name(OsStr::cmp)
        // The global ignore file of the user does not count, so that a command finds the same files for every user.
        .git_global(false)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let left_out = is_folder.then(|| left_out(entry.path())).flatten();
            left_out.is_none_or(|path| sender.send(path).is_err())
        });
    // `.` gives `web.yaml`, not `./web.yaml`.
    let shown = |path: &Path| path.strip_prefix("./").unwrap_or(path).to_owned();
    // An entry is not asked for, since the walk then reads the ignore files above the folder.
    for entry in is_walked.then(|| walk.build()).into_iter().flatten() {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                if !is_manifest(entry.path()) {
                    continue;
                }
                is_empty = false;
                // The walk follows no links.
                let canonical = match entry.path().strip_prefix(folder) {
                    Ok(below) => root.join(below),
                    Err(_) => canonical(entry.path()),
                };
                if seen.insert(canonical.clone().into()) {
                    discovered.add(InputFile {
                        path: shown(entry.path()),
                        canonical,
                        found_by: FoundBy::Walk,
                    });
                }
            }
            Ok(entry)
                if entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir()) =>
            {
                if let Ok(below) = entry.path().strip_prefix(folder) {
                    discovered.folders.push(root.join(below));
                }
            }
            Ok(_) => {}
            Err(error) => discovered.errors.push(walk_message(&error)),
        }
    }
    for path in left_out_paths.try_iter() {
        if path.is_dir() {
            discovered.chart_templates.push(shown(&path));
        } else {
            let message = format!("{}: not a regular file", path.display());
            discovered.errors.push(message);
        }
    }
    // An error may be the cause.
    if is_empty && discovered.errors.len() == earlier_errors {
        discovered.empty.push(folder.to_owned());
    }
}

/// Returns the cause for which the walk leaves out a folder: itself if it has the templates of a chart, or its ignore file.
fn left_out(folder: &Path) -> Option<PathBuf> {
    if is_templates_of_chart(folder) {
        return Some(folder.to_owned());
    }
    endless_ignore_file(folder)
}

/// Returns an ignore file that the walk would read without an end, such as a link to a device.
fn endless_ignore_file(folder: &Path) -> Option<PathBuf> {
    let mut files = [".gitignore", ".ignore"]
        .iter()
        .map(|name| folder.join(name));
    let is_other = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    files.find(|file| file.metadata().is_ok_and(is_other))
}

/// Returns the message about a folder that cannot be read.
fn walk_message(error: &ignore::Error) -> String {
    // The text of the error names the path a second time.
    let cause = error.io_error().map(|cause| cause.kind().into());
    match (path_of(error), cause) {
        (Some(path), Some(cause)) => format!("{}: {}", path.display(), io_message(&cause)),
        _ => error.to_string(),
    }
}

/// Returns the path that an error is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

/// Returns true for the folder `templates` beside a `Chart.yaml`, and for folders in it.
fn is_chart_templates(folder: &Path) -> bool {
    folder.ancestors().any(is_templates_of_chart)
}

/// Returns true for the folder `templates` beside a `Chart.yaml`. Without a chart, such a folder may have manifests.
fn is_templates_of_chart(templates: &Path) -> bool {
    let chart = templates.parent();
    templates.file_name() == Some(OsStr::new("templates"))
        && chart.is_some_and(|chart| chart.join("Chart.yaml").is_file())
}

/// Returns true for the canonical path of a file in such a folder.
pub fn is_chart_template(file: &Path) -> bool {
    file.parent().is_some_and(is_chart_templates)
}

/// Returns true for a file with the extension of a manifest.
pub fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["yaml", "yml", "json"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

pub fn has_name_of_kustomization(path: &Path) -> bool {
    path.file_name()
        .and_then(OsStr::to_str)
        .is_some_and(is_kustomization)
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
