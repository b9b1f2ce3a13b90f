//! The paths in kustomizations, as kustomize finds them: `..` by the text, then the links.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// The canonical paths of links, each of which is followed once: a stranger may name a long one in many entries.
pub type Links = HashMap<PathBuf, Option<PathBuf>>;

/// Returns the canonical path of what a kustomization in a canonical folder names; none if there is no such file, as for a URL.
/// Only the names in the entry are asked for, since a stranger may nest thousands of folders.
pub fn entry_path(folder: &Path, entry: &str, links: &mut Links) -> Option<PathBuf> {
    let (mut path, mut names) = (folder.to_owned(), Vec::new());
    for component in Path::new(entry).components() {
        match component {
            Component::ParentDir if names.pop().is_some() => {}
            Component::ParentDir => _ = path.pop(),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => path.push(component),
            Component::Normal(name) => names.push(name),
        }
    }
    for name in names {
        path.push(name);
        if path.symlink_metadata().ok()?.is_symlink() {
            let target = links.entry(path);
            path = target
                .or_insert_with_key(|link| link.canonicalize().ok())
                .clone()?;
        }
    }
    Some(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::cli::input::canonical;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_entry_is_found_by_its_text_and_then_by_links() {
        let root = tempfile::tempdir().unwrap();
        let root = canonical(root.path());
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        std::fs::write(root.join("a/web.yaml"), "").unwrap();
        for (target, link) in [
            ("../b/../b/c", "a/b/up"),
            ("./b", "a/link"),
            ("loop", "a/loop"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("a"), root.join("a/b/absolute")).unwrap();
        let found = |entry: &str| {
            let path = entry_path(&root.join("a/b"), entry, &mut Links::new())?;
            Some(path.strip_prefix(&root).unwrap().display().to_string())
        };
        for (entry, expected) in [
            ("../web.yaml", Some("a/web.yaml")),
            (".//c/.", Some("a/b/c")),
            ("missing/../c", Some("a/b/c")),
            ("up", Some("a/b/c")),
            ("up/../c", Some("a/b/c")),
            ("../link/c", Some("a/b/c")),
            ("absolute/web.yaml", Some("a/web.yaml")),
            ("missing", None),
            ("../loop", None),
            ("https://example.com/a", None),
        ] {
            assert_eq!(found(entry).as_deref(), expected, "{entry}");
        }
        let mut links = Links::new();
        let mut follow = || entry_path(&root, "a/link", &mut links);
        let first = follow();
        std::fs::remove_file(root.join("a/link")).unwrap();
        symlink("b/c", root.join("a/link")).unwrap();
        assert_eq!(follow(), first, "a link is followed once");
        let absolute = root.join("a/b/c");
        assert_eq!(
            entry_path(
                Path::new("/"),
                &absolute.to_string_lossy(),
                &mut Links::new()
            ),
            Some(absolute)
        );
    }
}
