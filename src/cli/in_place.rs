//! `-i`: changes all files or none.
//!
//! Each new text is first written to a temporary file in the folder of its target. Only when all of them are complete, and no
//! target has changed meanwhile, are they renamed, so that a run that is killed leaves each file either old or new.

use crate::cli::input::{FileState, failed, io_message};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A complete temporary file, and the file that it will replace.
#[derive(Debug)]
pub struct Replacement {
    /// The path that the user gave.
    path: PathBuf,
    /// The canonical path of the file, without symbolic links.
    target: PathBuf,
    /// State of the target when it was read.
    state: FileState,
    /// Removed when it is dropped.
    temporary: TempPath,
}

const CHANGED: &str = "another program changed the file at the same time; run the command again";

/// Writes the new text of a file to a temporary file with the same mode, owner and attributes.
///
/// # Errors
/// - the file is not a regular one, or is not writable
/// - no file can be created in its folder, or the disk is full
/// - the file has another owner, and the user may not change the owner of a file
/// - the file has an ACL or attributes of users that cannot be copied
pub fn prepare<'t>(
    path: &Path,
    mut state: FileState,
    pieces: impl Iterator<Item = &'t str>,
) -> io::Result<Replacement> {
    let target = path.canonicalize()?;
    let before = target.metadata()?;
    if !before.is_file() {
        return Err(io::Error::other(
            "not a regular file; only regular files can be changed in place",
        ));
    }
    // A rename would replace a read-only file too.
    let old = OpenOptions::new().write(true).open(&target)?;
    let metadata = old.metadata()?;
    // In a container, this copies a file of the image, which counts as a change of its inode.
    let is_same_text = before.modified().ok() == metadata.modified().ok();
    if FileState::of(&before) == state && before.len() == metadata.len() && is_same_text {
        state = FileState::of(&metadata);
    }
    refuse_hard_links(&metadata)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    // Only its owner can read it, until it has the mode of its target: a manifest may have secrets.
    let (file, temporary) = tempfile::Builder::new()
        .prefix(".mackerel-agent-injector-")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(|error| {
            let error = io_message(&error);
            io::Error::other(format!("cannot create a file in its directory: {error}"))
        })?
        .into_parts();
    let mut writer = BufWriter::new(&file);
    for piece in pieces {
        writer.write_all(piece.as_bytes())?;
    }
    writer.flush()?;
    drop(writer);
    keep_metadata(&file, &old, &metadata)?;
    file.sync_all()?;
    Ok(Replacement {
        path: path.to_owned(),
        target,
        state,
        temporary,
    })
}

impl Replacement {
    /// Returns an error that names the file if another program has written or replaced it since it was read.
    pub fn refuse_change(&self) -> Result<(), String> {
        let cause = match self.target.metadata() {
            Ok(metadata) if FileState::of(&metadata) == self.state => return Ok(()),
            Ok(_) => CHANGED.to_owned(),
            Err(error) => io_message(&error),
        };
        Err(format!("{}: {cause}", self.path.display()))
    }

    /// Renames the temporary file, if the target has not changed.
    fn rename(self) -> Result<(), String> {
        self.refuse_change()?;
        self.temporary
            .persist(&self.target)
            .map_err(|error| failed(&self.path, &error.error))
    }
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

#[cfg(unix)]
fn keep_metadata(new: &File, old: &File, metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let created = new.metadata()?;
    let (user, group) = (metadata.uid(), metadata.gid());
    if (created.uid(), created.gid()) != (user, group) {
        fchown(new, Some(user), Some(group)).map_err(|error| {
            io::Error::other(format!(
                "cannot keep the owner of the file ({user}:{group}): {}; run the command as its owner",
                io_message(&error)
            ))
        })?;
    }
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    keep_attributes(new, old)?;
    // The mode follows the owner, since a change of the owner clears the setuid bits, and the ACL, whose mask it sets.
    new.set_permissions(metadata.permissions())
}

#[cfg(not(unix))]
fn keep_metadata(new: &File, _old: &File, metadata: &Metadata) -> io::Result<()> {
    new.set_permissions(metadata.permissions())
}

/// Copies the extended attributes. ACL and attributes of users have to stay; the system may refuse others.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn keep_attributes(new: &File, old: &File) -> io::Result<()> {
    use rustix::buffer::spare_capacity;
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    /// Maximum size of the list of names, and of a value.
    const MAX_SIZE: usize = 64 << 10;
    const ACL: &str = "system.posix_acl_access";
    // The folder may have given the new file an ACL of its own.
    let _ = fremovexattr(new, ACL);
    let mut names = Vec::with_capacity(MAX_SIZE);
    match flistxattr(old, spare_capacity(&mut names)) {
        Err(rustix::io::Errno::NOTSUP) => return Ok(()),
        listed => listed?,
    };
    for name in names.split(|byte| *byte == 0) {
        let mut value = Vec::with_capacity(MAX_SIZE);
        let copied = fgetxattr(old, name, spare_capacity(&mut value))
            .and_then(|_| fsetxattr(new, name, &value, XattrFlags::empty()));
        if let Err(error) = copied
            && (name == ACL.as_bytes() || name.starts_with(b"user."))
        {
            let (name, error) = (String::from_utf8_lossy(name), io_message(&error.into()));
            return Err(io::Error::other(format!(
                "cannot keep the attribute {name} of the file: {error}"
            )));
        }
    }
    Ok(())
}

/// Replaces every file by its new text, but for those that another program has changed since.
///
/// # Errors
/// When a file changed after [`prepare`], or its rename fails. The error lists the other files, which are new.
pub fn commit(replacements: Vec<Replacement>) -> anyhow::Result<()> {
    let (mut new, mut causes) = (Vec::new(), Vec::new());
    for replacement in replacements {
        let name = replacement.path.display().to_string();
        match replacement.rename() {
            Ok(()) => new.push(name),
            Err(cause) => causes.push(cause),
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{}; new: {}", causes.join("; "), new.join(", "))
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

    fn prepared(path: &Path, text: &'static str) -> io::Result<Replacement> {
        prepare(path, read_file(path).unwrap().state, [text].into_iter())
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
            prepared(&a, "new a").unwrap(),
            prepared(&b, "new b").unwrap(),
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
        drop(prepared(&root.path().join("a.yaml"), "new").unwrap());
        assert_eq!(names(root.path()), ["a.yaml"]);
    }

    #[test]
    fn a_failing_rename_lists_what_is_new_and_what_is_old() {
        let root = folder(&[("a.yaml", "old"), ("b.yaml", "old"), ("c.yaml", "old")]);
        let path = |name: &str| root.path().join(name);
        let all = ["a.yaml", "b.yaml", "c.yaml"]
            .map(|name| prepared(&path(name), "new").unwrap())
            .into();
        std::fs::remove_file(path("b.yaml")).unwrap();
        std::fs::create_dir(path("b.yaml")).unwrap();
        let error = commit(all).unwrap_err();
        let [a, b, c] = ["a.yaml", "b.yaml", "c.yaml"].map(|name| path(name).display().to_string());
        let error = error.to_string();
        assert!(error.starts_with(&format!("{b}: ")), "{error}");
        assert!(error.ends_with(&format!("; new: {a}, {c}")), "{error}");
        assert_eq!(names(root.path()), ["a.yaml", "b.yaml", "c.yaml"]);
    }

    /// The first rename changes the file of the second.
    #[test]
    fn a_file_that_changes_between_the_renames_is_left() {
        let root = folder(&[("a.yaml", "old"), ("b.yaml", "old")]);
        let (a, b) = (root.path().join("a.yaml"), root.path().join("b.yaml"));
        let all = vec![
            prepared(&a, "saved").unwrap(),
            prepared(&a, "lost").unwrap(),
            prepared(&b, "new b").unwrap(),
        ];
        assert!(all.iter().all(|one| one.refuse_change().is_ok()));
        let error = commit(all).unwrap_err();
        let expected = format!("{0}: {CHANGED}; new: {0}, {1}", a.display(), b.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(
            [a, b].map(|path| std::fs::read_to_string(path).unwrap()),
            ["saved", "new b"]
        );
        assert_eq!(names(root.path()), ["a.yaml", "b.yaml"]);
    }

    /// Same text, length and time: only the inode tells.
    #[cfg(unix)]
    #[test]
    fn a_file_that_another_program_replaced_alike_has_changed() {
        let root = folder(&[("a.yaml", "old"), ("other", "old")]);
        let path = root.path().join("a.yaml");
        let replacement = prepared(&path, "new").unwrap();
        let modified = path.metadata().unwrap().modified().unwrap();
        let other = root.path().join("other");
        let file = OpenOptions::new().write(true).open(&other).unwrap();
        file.set_modified(modified).unwrap();
        std::fs::rename(other, &path).unwrap();
        assert!(replacement.refuse_change().is_err());
    }

    #[test]
    fn a_file_that_another_program_changed_is_left_alone() {
        let root = folder(&[("a.yaml", "old")]);
        let path = root.path().join("a.yaml");
        let read = read_file(&path).unwrap().state;
        std::fs::write(&path, "newer than old").unwrap();
        let replacement = prepare(&path, read, ["x"].into_iter()).unwrap();
        let error = replacement.refuse_change().unwrap_err();
        assert_eq!(error, format!("{}: {CHANGED}", path.display()));
        assert!(commit(vec![replacement]).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "newer than old");
    }
}
