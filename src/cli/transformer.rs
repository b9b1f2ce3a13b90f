//! A configuration of this program under `transformers` of a kustomization: its build injects the agent itself.

use crate::cli::entry_path::{Links, entry_path};
use crate::cli::find_config::{read_found, root};
use crate::cli::input::canonical;
use crate::config::API_VERSION;
use crate::manifest::kustomization::{self, Kustomization, NAMES};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The configuration, as a canonical path.
#[derive(Debug, PartialEq, Eq)]
pub enum Transformer {
    File(PathBuf),
    /// A folder that kustomize builds to get it.
    Folder(PathBuf),
    /// It stands in the kustomization.
    Inline,
}

/// Returns the configuration that the build of a folder, or of what it uses, gives this program.
pub fn of_build(folder: &Path, current: &Path) -> Option<Transformer> {
    let (folder, current) = (canonical(folder), canonical(current));
    let root = root(&folder, &current);
    let (mut bases, mut seen, mut links) = (HashSet::new(), HashSet::new(), Links::new());
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        let Some(kustomization) = kustomization_in(&folder, root) else {
            continue;
        };
        for entry in kustomization.transformers {
            if entry.contains(API_VERSION) {
                return Some(Transformer::Inline);
            }
            if let Some(path) = entry_path(&folder, &entry, &mut links)
                && has_configuration(&path, root, &mut seen, &mut links)
            {
                return Some(match path.is_dir() {
                    true => Transformer::Folder(path),
                    false => Transformer::File(path),
                });
            }
        }
        let used = kustomization.resources.iter();
        let used = used.filter_map(|entry| entry_path(&folder, entry, &mut links));
        folders.extend(used.filter(|path| bases.insert(path.clone())));
    }
    None
}

/// Returns true for a file with a configuration of this program, and for a folder that builds one. What was `seen` before had none.
fn has_configuration(
    path: &Path,
    root: &Path,
    seen: &mut HashSet<PathBuf>,
    links: &mut Links,
) -> bool {
    let mut paths = vec![path.to_owned()];
    while let Some(path) = paths.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        if let Some(kustomization) = kustomization_in(&path, root) {
            let used = kustomization.resources.iter();
            paths.extend(used.filter_map(|entry| entry_path(&path, entry, links)));
        } else if read_found(&path, root).is_ok_and(|file| file.text.contains(API_VERSION)) {
            return true;
        }
    }
    false
}

/// Reads the kustomization of a folder.
fn kustomization_in(folder: &Path, root: &Path) -> Option<Kustomization> {
    let mut files = NAMES.iter().map(|name| folder.join(name));
    let read = files.find_map(|file| read_found(&file, root).ok())?;
    Some(kustomization::read(&read.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";

    fn found(files: &[(&str, &str)]) -> Option<Transformer> {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let relative = |path: PathBuf| {
            path.strip_prefix(canonical(root.path()))
                .unwrap()
                .to_owned()
        };
        let found = of_build(&root.path().join("prod"), root.path())?;
        Some(match found {
            Transformer::File(path) => Transformer::File(relative(path)),
            Transformer::Folder(path) => Transformer::Folder(relative(path)),
            Transformer::Inline => Transformer::Inline,
        })
    }

    #[test]
    fn a_transformer_is_found_as_file_as_folder_and_in_the_text() {
        let prod = "prod/kustomization.yaml";
        let (ours, other) = (
            ("prod/a.yaml", OURS),
            ("prod/a.yaml", "kind: PatchTransformer\n"),
        );
        let file = Some(Transformer::File("prod/a.yaml".into()));
        assert_eq!(found(&[(prod, "transformers: [a.yaml]\n"), ours]), file);
        assert_eq!(found(&[(prod, "transformers: [a.yaml]\n"), other]), None);
        assert_eq!(found(&[(prod, "resources: [a.yaml]\n"), ours]), None);
        let inline = format!("transformers:\n- |-\n  {}", OURS.replace('\n', "\n  "));
        assert_eq!(found(&[(prod, &inline)]), Some(Transformer::Inline));
        let shared = [
            ("shared/Kustomization", "resources: [a.yaml]\n"),
            ("shared/a.yaml", OURS),
        ];
        let overlay = (prod, "transformers: [../shared]\n");
        let folder = Some(Transformer::Folder("shared".into()));
        assert_eq!(found(&[&[overlay], &shared[..]].concat()), folder);
        let patched = [
            overlay,
            ("shared/Kustomization", "resources: [../more]\n"),
            ("more/kustomization.yml", "resources: [a.yaml]\n"),
            ("more/a.yaml", OURS),
        ];
        assert_eq!(found(&patched), folder);
        let base = [
            (prod, "resources: [../base]\n"),
            ("base/kustomization.yaml", "transformers: [a.yaml]\n"),
            ("base/a.yaml", OURS),
        ];
        assert_eq!(found(&base), Some(Transformer::File("base/a.yaml".into())));
    }

    #[test]
    fn kustomizations_that_use_each_other_are_read_once() {
        let files = [
            (
                "prod/kustomization.yaml",
                "resources: [../a]\ntransformers: [../a, ../b]\n",
            ),
            ("a/kustomization.yaml", "resources: [../b, ../prod]\n"),
            ("b/kustomization.yaml", "components: [../a]\n"),
        ];
        assert_eq!(found(&files), None);
    }
}
