//! `-i`: all files or none, and a kill at any moment leaves each file either old or new.
//!
//! Everything that can fail happens while the new texts lie beside their files; then come nothing but renames.

use crate::cli::input::FileState;
use crate::cli::input::io_message;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A new text, complete on disk beside the file that it will replace.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// As the user named it.
    shown: PathBuf,
    /// The file itself, behind any links.
    target: PathBuf,
    /// Removed when dropped, unless it became the target.
    beside: Beside,
}

#[derive(Debug)]
struct Beside(Option<PathBuf>);

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes the new text beside `path`, with its mode and owner.
///
/// # Errors
/// - the file is not a regular one, may not be written to, or was written to since `read` was taken
/// - nothing can be created in its folder, or the disk is full
/// - it has another owner, and only root may give files away
pub(crate) fn prepare<'t>(
    path: &Path,
    read: FileState,
    new: impl Iterator<Item = &'t str>,
    number: usize,
) -> io::Result<Prepared> {
    let target = path.canonicalize()?;
    let old = target.metadata()?;
    if !old.is_file() {
        return Err(io::Error::other(
            "not a regular file; only regular files can be changed in place",
        ));
    }
    // A rename replaces read-only files too, against the intent of their owner.
    OpenOptions::new().write(true).open(&target)?;
    if FileState::of(&old) != read {
        return Err(io::Error::other(
            "another program changed the file at the same time; run the command again",
        ));
    }
    let folder = target.parent().unwrap_or(Path::new("."));
    refuse_hard_links(&old)?;
    let (path_beside, file) = create_beside(folder, number)?;
    let beside = Beside(Some(path_beside));
    let mut writer = BufWriter::new(file);
    for piece in new {
        writer.write_all(piece.as_bytes())?;
    }
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    keep_owner_and_mode(&file, &old)?;
    file.sync_all()?;
    Ok(Prepared {
        shown: path.to_owned(),
        target,
        beside,
    })
}

/// Names that are tried. A run that was killed leaves its file behind, and in a container every run has the same
/// process id.
const NAMES: usize = 1000;

fn create_beside(folder: &Path, number: usize) -> io::Result<(PathBuf, File)> {
    for again in 0..NAMES {
        let name = format!(
            ".mackerel-agent-injector-{}-{number}-{again}.tmp",
            std::process::id()
        );
        let path = folder.join(name);
        match create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(io::Error::other(format!(
                    "cannot create {}: {}",
                    path.display(),
                    io_message(&error)
                )));
            }
        }
    }
    let place = folder.display();
    Err(io::Error::other(format!(
        "too many files named .mackerel-agent-injector-*.tmp in {place}; remove them"
    )))
}

/// A rename would part the file's names: the others would keep the old text.
#[cfg(unix)]
fn refuse_hard_links(old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    match old.nlink() {
        0 | 1 => Ok(()),
        names => Err(io::Error::other(format!(
            "the file has {names} hard links, which a replacement would separate"
        ))),
    }
}

#[cfg(not(unix))]
fn refuse_hard_links(_old: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn create_new(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Private until it has its file's mode: a manifest may hold secrets.
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid())).map_err(|error| {
            io::Error::other(format!(
                "cannot keep the owner of the file ({}:{}): {}; run the command as its owner",
                old.uid(),
                old.gid(),
                io_message(&error)
            ))
        })?;
    }
    // After the owner: changing that clears the setuid bits.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// A rename failed after others had gone through.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}\nnew: {}\nold: {}", .failed.display(), list(.new), list(.old))]
pub(crate) struct PartlyReplaced {
    /// The file whose rename failed.
    failed: PathBuf,
    cause: String,
    /// Files that hold their new text.
    new: Vec<PathBuf>,
    /// Files that still hold their old text, `failed` among them.
    old: Vec<PathBuf>,
}

fn list(paths: &[PathBuf]) -> String {
    match paths {
        [] => "none".to_owned(),
        paths => paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Puts every new text in its file's place.
///
/// # Errors
/// When a rename fails, which only a change from outside between [`prepare`] and here can bring about.
pub(crate) fn commit(prepared: Vec<Prepared>) -> Result<(), PartlyReplaced> {
    let mut new = Vec::new();
    let mut rest = prepared.into_iter();
    while let Some(mut next) = rest.next() {
        let Some(beside) = next.beside.0.take() else {
            continue;
        };
        if let Err(error) = std::fs::rename(&beside, &next.target) {
            next.beside.0 = Some(beside);
            let failed = next.shown.clone();
            let old = std::iter::once(next)
                .chain(rest)
                .map(|file| file.shown.clone())
                .collect();
            return Err(PartlyReplaced {
                failed,
                cause: io_message(&error),
                new,
                old,
            });
        }
        new.push(next.shown);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::input::read_file;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn prepared(path: &Path, text: &'static str, number: usize) -> io::Result<Prepared> {
        prepare(
            path,
            read_file(path).unwrap().state,
            [text].into_iter(),
            number,
        )
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_new_before_the_renames_and_nothing_is_left_over() {
        let root = folder(&[("a.yaml", "old"), ("b.yaml", "old")]);
        let (a, b) = (root.path().join("a.yaml"), root.path().join("b.yaml"));
        let both = vec![
            prepared(&a, "new a", 0).unwrap(),
            prepared(&b, "new b", 1).unwrap(),
        ];
        assert_eq!(std::fs::read_to_string(&a).unwrap(), "old");
        commit(both).unwrap();
        assert_eq!(
            std::fs::read_to_string(&a).unwrap() + &std::fs::read_to_string(&b).unwrap(),
            "new anew b"
        );
        assert_eq!(names(root.path()), ["a.yaml", "b.yaml"]);
    }

    #[test]
    fn given_up_before_the_renames_nothing_is_left_over() {
        let root = folder(&[("a.yaml", "old")]);
        drop(prepared(&root.path().join("a.yaml"), "new", 0).unwrap());
        assert_eq!(names(root.path()), ["a.yaml"]);
    }

    #[test]
    fn a_failing_rename_lists_what_is_new_and_what_is_old() {
        let root = folder(&[("a.yaml", "old"), ("b.yaml", "old"), ("c.yaml", "old")]);
        let path = |name: &str| root.path().join(name);
        let all = ["a.yaml", "b.yaml", "c.yaml"]
            .into_iter()
            .enumerate()
            .map(|(number, name)| prepared(&path(name), "new", number).unwrap())
            .collect();
        std::fs::remove_file(path("b.yaml")).unwrap();
        std::fs::create_dir(path("b.yaml")).unwrap();
        let error = commit(all).unwrap_err();
        assert_eq!(error.new, [path("a.yaml")]);
        assert_eq!(error.old, [path("b.yaml"), path("c.yaml")]);
        assert_eq!(names(root.path()), ["a.yaml", "b.yaml", "c.yaml"]);
        assert_eq!(std::fs::read_to_string(path("c.yaml")).unwrap(), "old");
    }

    #[test]
    fn a_file_that_another_program_changed_is_left_alone() {
        let root = folder(&[("a.yaml", "old")]);
        let path = root.path().join("a.yaml");
        let read = read_file(&path).unwrap().state;
        std::fs::write(&path, "newer than old").unwrap();
        let error = prepare(&path, read, ["x"].into_iter(), 0).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("another program changed the file")
        );
    }
}
