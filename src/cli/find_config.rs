//! Finds the configuration file of a run over files: `agent-injector.yaml` (or `.yml`) in the folder of each path, or in a folder
//! above it.
//!
//! A run has one configuration, so all of its paths have to find the same file, or none.

use crate::cli::input::{Unreadable, canonical, read_text};
use config::{API_VERSION, Config, KIND};
use std::io;
use std::path::{Path, PathBuf};
use yaml_json_patch::{self as yaml, NodeId, Tree};

/// Name of a configuration file that is found.
pub const FILE_NAME: &str = "agent-injector.yaml";

/// Names of configuration files that are found. A folder has one of them.
const FILE_NAMES: [&str; 2] = [FILE_NAME, "agent-injector.yml"];

/// Maximum size of a file that the user has not named.
const MAX_FOUND: u64 = 1 << 20;

/// Returns the configuration file in a folder, or in the next folder above it: up to the root of the Git repository; without one, up
/// to the current folder.
pub fn in_or_above(folder: &Path, current: &Path) -> anyhow::Result<Option<PathBuf>> {
    let (folder, current) = (canonical(folder), canonical(current));
    let root = root(&folder, &current);
    let shown = |file: &Path| relative(file, &current);
    for folder in folder
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
    {
        let mut files = Vec::new();
        for file in FILE_NAMES.map(|name| folder.join(name)) {
            if file.is_dir() || file.symlink_metadata().is_err() {
                continue;
            }
            let is_meant = is_meant(read_found(&file, root)).map_err(|error| {
                anyhow::anyhow!(
                    "{}: {error}; use `--config FILE`, or `--no-config` for the defaults",
                    shown(&file).display()
                )
            })?;
            if is_meant {
                files.push(file);
            }
        }
        match &*files {
            [] => {}
            [file] => return Ok(Some(shown(&canonical(file)))),
            [one, other, ..] => anyhow::bail!(
                "two configurations in one directory: {}, {}; remove one",
                shown(&canonical(one)).display(),
                shown(other).display()
            ),
        }
    }
    Ok(None)
}

/// Returns the folder with all files that are found from a folder: the root of the Git repository; without one, the current folder, or
/// the folder itself if it is elsewhere. All paths are canonical.
pub fn root<'p>(folder: &'p Path, current: &'p Path) -> &'p Path {
    let outside_of_git = if folder.starts_with(current) {
        current
    } else {
        folder
    };
    folder
        .ancestors()
        .find(|ancestor| ancestor.join(".git").exists())
        .unwrap_or(outside_of_git)
}

/// Reads a file that the user has not named, in a canonical folder, below a root that is a canonical path. A link may lead to a device,
/// which has no end, or to the secrets of the user.
pub fn read_found(path: &Path, root: &Path) -> Result<String, Unreadable> {
    let target = if path.symlink_metadata()?.is_symlink() {
        path.canonicalize()?
    } else {
        path.to_owned()
    };
    let metadata = target.metadata()?;
    if target.starts_with(root) && metadata.is_file() && metadata.len() <= MAX_FOUND {
        return read_text(&target);
    }
    Err(io::Error::other("not a regular file of the repository with at most 1 MiB").into())
}

/// Returns true for a configuration file with a name that is looked for. A Helm chart's values or a manifest may have the same
/// name. A file that cannot be read counts, so that the run does not continue with the defaults.
pub fn is_configuration(path: &Path) -> bool {
    FILE_NAMES.iter().any(|name| path.ends_with(name))
        && path.is_file()
        && is_meant(read_text(path)).unwrap_or(true)
}

/// Returns true for the text of a configuration.
fn is_meant(text: Result<String, Unreadable>) -> Result<bool, Unreadable> {
    match text {
        Ok(text) => Ok(has_configuration(&text)),
        // PowerShell writes UTF-16.
        Err(Unreadable::NotText(binary)) => Ok(has_configuration(&binary.ascii())),
        Err(error) => Err(error),
    }
}

/// Returns true if a document of the text is an `AgentInjector`, or may be one that is not valid YAML or lacks its type. An empty
/// text counts too: its settings are still to be written.
///
/// A text that is not valid YAML is taken for a manifest only if it has a `kind`, and for a template of a chart only with braces.
fn has_configuration(text: &str) -> bool {
    let mut documents = yaml::documents(text)
        .filter_map(|document| {
            let text = &text[document.span];
            Some(match yaml::read(text) {
                Ok(tree) => is_meant_as_configuration(&tree, tree.root()?),
                Err(_) => text.contains(KIND) || !(text.contains("kind:") || text.contains("{{")),
            })
        })
        .peekable();
    documents.peek().is_none() || documents.any(|is_meant| is_meant)
}

fn is_meant_as_configuration(tree: &Tree<'_>, root: NodeId) -> bool {
    let member = |name| tree.member_text(root, name);
    match (member("apiVersion"), member("kind")) {
        (None, None) => tree.member(root, "spec").is_some() || has_only_settings(tree, root),
        (version, kind) => version.as_deref() == Some(API_VERSION) || kind.as_deref() == Some(KIND),
    }
}

/// Returns true for settings without the `spec` around them.
fn has_only_settings(tree: &Tree<'_>, root: NodeId) -> bool {
    let mut keys = tree
        .entries(root)
        .map(|(key, _)| tree.scalar(key))
        .peekable();
    keys.peek().is_some() && keys.all(|key| key.is_some_and(|name| Config::has_setting(&name)))
}

/// Returns the folder of a file.
pub fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns a canonical path as seen from the current folder: `deploy/agent-injector.yaml`, `../agent-injector.yaml`.
pub fn relative(path: &Path, current: &Path) -> PathBuf {
    let current = canonical(current);
    let mut relative = PathBuf::new();
    // The root of the file system has all paths below it.
    for folder in current
        .ancestors()
        .filter(|folder| folder.parent().is_some())
    {
        if let Ok(rest) = path.strip_prefix(folder) {
            return relative.join(rest);
        }
        relative.push("..");
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";

    /// A folder with files of this text; those that end with `/` are folders.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                std::fs::create_dir_all(path).unwrap();
            } else {
                std::fs::write(path, text).unwrap();
            }
        }
        root
    }

    /// The file that a path finds from the folder `current`.
    fn found(root: &Path, current: &str, path: &str) -> Option<String> {
        let found = in_or_above(&root.join(path), &root.join(current)).unwrap();
        found.map(|file| file.display().to_string().replace('\\', "/"))
    }

    #[test]
    fn the_next_file_above_a_path_is_found_up_to_the_root_of_the_repository() {
        let root = tree(&[
            ("agent-injector.yaml", CONFIG),
            ("repo/.git/HEAD", ""),
            ("repo/agent-injector.yaml", CONFIG),
            ("repo/deploy/shop/web.yaml", "a: 1\n"),
            ("other/.git", "gitdir: elsewhere\n"),
            ("other/web.yaml", "a: 1\n"),
        ]);
        for (current, path, expected) in [
            ("repo", "repo/deploy", Some("agent-injector.yaml")),
            (
                "repo",
                "repo/deploy/shop/web.yaml",
                Some("agent-injector.yaml"),
            ),
            ("repo", "repo", Some("agent-injector.yaml")),
            (
                "repo/deploy/shop",
                "repo/deploy/shop",
                Some("../../agent-injector.yaml"),
            ),
            ("other", "repo/deploy", Some("../repo/agent-injector.yaml")),
            ("repo", "other/web.yaml", None),
            ("", "other", None),
        ] {
            assert_eq!(
                found(root.path(), current, path),
                expected.map(str::to_owned),
                "{path} from {current}"
            );
        }
    }

    #[test]
    fn outside_of_a_repository_the_current_folder_is_the_last() {
        let root = tree(&[
            ("agent-injector.yaml", CONFIG),
            ("shop/deploy/web.yaml", "a: 1\n"),
            ("own/agent-injector.yaml", CONFIG),
            ("own/web.yaml", "a: 1\n"),
        ]);
        for (current, path, expected) in [
            ("", "shop/deploy/web.yaml", Some("agent-injector.yaml")),
            ("shop", "shop/deploy", None),
            ("shop", "own", Some("../own/agent-injector.yaml")),
            ("own", "shop/deploy", None),
        ] {
            assert_eq!(
                found(root.path(), current, path),
                expected.map(str::to_owned),
                "{path} from {current}"
            );
        }
    }

    #[test]
    fn only_an_agent_injector_counts() {
        for (text, expected) in [
            (CONFIG, true),
            ("kind: AgentInjector\n", true),
            ("a: 1\n---\nkind: AgentInjector\n", true),
            ("kind: AgentInjector\nspec: [\n", true),
            (
                "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjecter\n",
                true,
            ),
            ("kind: Deployment\n", false),
            ("kind: ConfigMap\nmetadata: {name: AgentInjector}\n", false),
            ("image: {tag: v1}\n", false),
            ("spec: [\n", true),
            ("kind: Deployment\nspec: [\n", false),
            ("{{ if .Values.agent }}\nspec: [\n", false),
            ("injection: disabled\n", true),
            ("injection: disabled\nimage: {tag: v1}\n", false),
            ("", true),
            ("# settings\n---\n", true),
            ("spec: {injection: annotated}\n", true),
            ("kind: Deployment\nspec: {}\n", false),
        ] {
            assert_eq!(has_configuration(text), expected, "{text:?}");
        }
        let root = tree(&[
            ("agent-injector.yaml/", ""),
            ("yml/agent-injector.yml", CONFIG),
            ("injector.yaml", CONFIG),
            ("utf16/agent-injector.yaml", ""),
        ]);
        let utf16: Vec<u8> = CONFIG.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let path = root.path().join("utf16/agent-injector.yaml");
        std::fs::write(&path, [&[0xff, 0xfe][..], &utf16].concat()).unwrap();
        assert!(is_configuration(&path));
        assert!(is_configuration(
            &root.path().join("yml/agent-injector.yml")
        ));
        assert!(!is_configuration(&root.path().join("agent-injector.yaml")));
        assert!(!is_configuration(&root.path().join("injector.yaml")));
    }
}
