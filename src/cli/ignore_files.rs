//! Reads the ignore files of folders, with bounds: the user has not named them, and a stranger may have written them.

use crate::cli::find_config::relative;
use crate::cli::input::failed;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of an ignore file.
const MAX_FILE: u64 = 64 << 10;
/// Bytes of the patterns of a run. Compiled, the shortest ones take 120 MB for each quarter of it.
const MAX_PATTERNS: usize = 1 << 20;

/// The patterns of a folder.
struct Patterns {
    /// The canonical folder.
    folder: PathBuf,
    ignore: Gitignore,
    git: Gitignore,
    is_repository: bool,
}

/// The ignore files of a run.
#[derive(Default)]
pub struct IgnoreFiles {
    /// The patterns of the current folder, behind those of the folders above it.
    folders: Vec<Patterns>,
    /// Bytes of all patterns so far.
    length: usize,
    /// Symbolic links, which are not read.
    pub links: Vec<PathBuf>,
}

impl IgnoreFiles {
    /// Goes to a canonical folder. Reads its ignore files and those above it, but for those of the current folder.
    pub fn enter(&mut self, folder: &Path) -> Result<(), String> {
        self.folders
            .retain(|known| folder.starts_with(&known.folder));
        let from_root = Vec::from_iter(folder.ancestors()).into_iter().rev();
        for folder in from_root.skip(self.folders.len()) {
            let is_repository = folder.join(".git").exists();
            let is_inside = is_repository || self.folders.iter().any(|above| above.is_repository);
            // The later pattern wins.
            let of_git: &[&str] = if is_inside {
                &[".git/info/exclude", ".gitignore"]
            } else {
                &[]
            };
            let patterns = Patterns {
                folder: folder.to_owned(),
                ignore: self.read(folder, &[".ignore"])?,
                git: self.read(folder, of_git)?,
                is_repository,
            };
            self.folders.push(patterns);
        }
        Ok(())
    }

    /// Returns the match of a path in the current folder; with the folder of the `.ignore` that has the pattern, if it is none of Git.
    pub fn matched(&self, path: &Path, is_folder: bool) -> Match<Option<&Path>> {
        let (mut of_git, mut is_inside) = (Match::None, true);
        for known in self.folders.iter().rev() {
            let matched = known.ignore.matched(path, is_folder);
            if !matched.is_none() {
                return matched.map(|_| Some(known.folder.as_path()));
            }
            if is_inside {
                of_git = of_git.or(known.git.matched(path, is_folder).map(|_| None));
            }
            is_inside &= !known.is_repository;
        }
        of_git
    }

    /// Reads files of a folder.
    fn read(&mut self, folder: &Path, names: &[&str]) -> Result<Gitignore, String> {
        let mut builder = GitignoreBuilder::new(folder);
        for file in names.iter().map(|name| folder.join(name)) {
            self.add(&file, &mut builder)
                .map_err(|error| failed(&relative(&file, Path::new(".")), &error))?;
        }
        builder.build().map_err(|error| error.to_string())
    }

    /// Adds the patterns of a file, if it is there. A line that is none has no effect, as in Git.
    fn add(&mut self, file: &Path, builder: &mut GitignoreBuilder) -> io::Result<()> {
        let Ok(metadata) = file.symlink_metadata() else {
            return Ok(());
        };
        if metadata.is_symlink() {
            self.links.push(file.to_owned());
            return Ok(());
        }
        if !metadata.is_file() || metadata.len() > MAX_FILE {
            return Err(io::Error::other(
                "not a regular file of at most 64 KiB, as ignore files must be; name files instead of the directory",
            ));
        }
        let mut text = Vec::new();
        File::open(file)?.take(MAX_FILE).read_to_end(&mut text)?;
        for line in String::from_utf8_lossy(&text)
            .trim_start_matches('\u{feff}')
            .lines()
        {
            if !line.starts_with('#') {
                // Even the shortest pattern takes some memory.
                self.length += line.len() + 7;
                let _ = builder.add_line(None, line);
            }
        }
        if self.length > MAX_PATTERNS {
            return Err(io::Error::other(
                "up to this file, ignore files have more than 1 MiB of patterns; name fewer directories",
            ));
        }
        Ok(())
    }
}
