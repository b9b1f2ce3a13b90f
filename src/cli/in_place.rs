//! `-i`: changes all files or none.
//!
//! Each new text is first written to a temporary file in the folder of its target. Only when all of them are complete are they
//! renamed, so that a run that is killed leaves each file either old or new.

use crate::cli::input::{FileState, io_message};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A complete temporary file, and the file that it will replace.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The path that the user gave.
    path: PathBuf,
    /// The canonical path of the file, without symbolic links.
    target: PathBuf,
    temporary: TemporaryFile,
}

/// A temporary file that is removed when it is dropped; none after its rename.
#[derive(Debug)]
struct TemporaryFile(Option<PathBuf>);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes the new text of a file to a temporary file with the same mode and owner. `number` is different for each file of a run.
///
/// # Errors
/// - the file is not a regular one, is not writable, or has changed since it had the `state`
/// - no file can be created in its folder, or the disk is full
/// - the file has another owner, and the user may not change the owner of a file
pub(crate) fn prepare<'t>(
    path: &Path,
    state: FileState,
    pieces: impl Iterator<Item = &'t str>,
    number: usize,
) -> io::Result<Replacement> {
    let target = path.canonicalize()?;
    let old = target.metadata()?;
    if !old.is_file() {
        return Err(io::Error::other(
            "not a regular file; only regular files can be changed in place",
        ));
    }
    // A rename would replace a read-only file too.
    OpenOptions::new().write(true).open(&target)?;
    if FileState::of(&old) != state {
        return Err(io::Error::other(
            "another program changed the file at the same time; run the command again",
        ));
    }
    let folder = target.parent().unwrap_or(Path::new("."));
    refuse_hard_links(&old)?;
    let (temporary_path, file) = create_temporary(folder, number)?;
    let temporary = TemporaryFile(Some(temporary_path));
    let mut writer = BufWriter::new(file);
    for piece in pieces {
        writer.write_all(piece.as_bytes())?;
    }
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    keep_owner_and_mode(&file, &old)?;
    file.sync_all()?;
    Ok(Replacement {
        path: path.to_owned(),
        target,
        temporary,
    })
}

/// Maximum number of names to try. A run that was killed leaves its files, and in containers many runs have the same process
/// id.
const MAX_NAMES: usize = 1000;

/// Creates a temporary file with an unused name.
fn create_temporary(folder: &Path, number: usize) -> io::Result<(PathBuf, File)> {
    for attempt in 0..MAX_NAMES {
        let name = format!(
            ".mackerel-agent-injector-{}-{number}-{attempt}.tmp",
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
    let folder = folder.display();
    Err(io::Error::other(format!(
        "too many files named .mackerel-agent-injector-*.tmp in {folder}; remove them"
    )))
}

/// Refuses a file with several hard links: after a rename the other names would have the old text.
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

/// Creates a file that only its owner can read, until it has the mode of its target: a manifest may have secrets.
fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
    // The mode follows the owner, since a change of the owner clears the setuid bits.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// The error of a rename that failed, perhaps after others had succeeded.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}\nnew: {}\nold: {}", .failed.display(), list(.new), list(.old))]
pub(crate) struct PartlyReplaced {
    /// The file whose rename failed.
    failed: PathBuf,
    cause: String,
    /// Files with their new text.
    new: Vec<PathBuf>,
    /// Files with their old text, `failed` among them.
    old: Vec<PathBuf>,
}

/// `a.yaml, b.yaml`
fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "none".to_owned();
    }
    let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    paths.join(", ")
}

/// Replaces every file by its new text.
///
/// # Errors
/// When a rename fails, because another program changed a file or its folder after [`prepare`].
pub(crate) fn commit(replacements: Vec<Replacement>) -> Result<(), PartlyReplaced> {
    let mut new = Vec::new();
    let mut rest = replacements.into_iter();
    while let Some(mut replacement) = rest.next() {
        let Some(temporary) = replacement.temporary.0.take() else {
            continue;
        };
        if let Err(error) = std::fs::rename(&temporary, &replacement.target) {
            replacement.temporary.0 = Some(temporary);
            let failed = replacement.path.clone();
            let mut old = vec![failed.clone()];
            old.extend(rest.map(|replacement| replacement.path.clone()));
            return Err(PartlyReplaced {
                failed,
                cause: io_message(&error),
                new,
                old,
            });
        }
        new.push(replacement.path);
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

    fn prepared(path: &Path, text: &'static str, number: usize) -> io::Result<Replacement> {
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
