//! Kustomizations that run this program as a transformer, so that their builds inject the agent.

use crate::cli::kustomizations::files::{KustomizationFile, Kustomizations};
use config::API_VERSION;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A configuration of this program under `transformers`, as a canonical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Injector {
    File(PathBuf),
    /// A folder that kustomize builds to get it.
    Folder(PathBuf),
    /// It stands in the kustomization.
    Inline,
}

impl Kustomizations {
    /// Returns the files with a configuration of this program, and the folders that build one.
    pub(super) fn read_configurations(&self) -> HashSet<PathBuf> {
        let built = self.with_used(self.transformers.iter().map(PathBuf::as_path).collect());
        let mut known: HashMap<&Path, bool> = HashMap::new();
        for (folder, file) in &self.files {
            let resources = file.resources.iter().filter(|_| built.contains(&**folder));
            for named in file.transformers.iter().chain(resources) {
                known.entry(named).or_insert_with(|| {
                    let text = file.text_of(named);
                    text.is_some_and(|text| text.contains(API_VERSION))
                });
            }
        }
        let ours = known
            .into_iter()
            .filter_map(|(path, is_ours)| is_ours.then_some(path))
            .collect();
        self.with_users(ours)
            .into_iter()
            .map(Path::to_owned)
            .collect()
    }

    /// Returns the configuration that a kustomization gives this program.
    pub(super) fn injector(&self, file: &KustomizationFile) -> Option<Injector> {
        let is_ours = |entry: &String| entry.contains(API_VERSION);
        if file.content.transformers.iter().any(is_ours) {
            return Some(Injector::Inline);
        }
        let named = file
            .transformers
            .iter()
            .find(|named| self.configurations.contains(*named))?;
        let injector = if self.files.contains_key(named) {
            Injector::Folder
        } else {
            Injector::File
        };
        Some(injector(named.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::discover::DiscoveredFiles;
    use crate::cli::input::canonical;

    const OURS: &str =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";

    fn found(files: &[(&str, &str)]) -> Option<Injector> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join(".git")).unwrap();
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
        let folder = canonical(&root.path().join("prod"));
        let base = canonical(&root.path().join("base"));
        let mut discovered = DiscoveredFiles::default();
        discovered.folders = vec![base, folder.clone()];
        let kustomizations = Kustomizations::of_input(&discovered);
        let found = kustomizations.build(&folder)?.injector?;
        Some(match found {
            Injector::File(path) => Injector::File(relative(path)),
            Injector::Folder(path) => Injector::Folder(relative(path)),
            Injector::Inline => Injector::Inline,
        })
    }

    #[test]
    fn a_transformer_is_found_as_file_as_folder_and_in_the_text() {
        let prod = "prod/kustomization.yaml";
        let (ours, other) = (
            ("prod/a.yaml", OURS),
            ("prod/a.yaml", "kind: PatchTransformer\n"),
        );
        let file = Some(Injector::File("prod/a.yaml".into()));
        assert_eq!(found(&[(prod, "transformers: [a.yaml]\n"), ours]), file);
        assert_eq!(found(&[(prod, "transformers: [a.yaml]\n"), other]), None);
        assert_eq!(found(&[(prod, "resources: [a.yaml]\n"), ours]), None);
        let inline = format!("transformers:\n- |-\n  {}", OURS.replace('\n', "\n  "));
        assert_eq!(found(&[(prod, &inline)]), Some(Injector::Inline));
        let shared = [
            ("shared/Kustomization", "resources: [a.yaml]\n"),
            ("shared/a.yaml", OURS),
        ];
        let overlay = (prod, "transformers: [../shared]\n");
        let folder = Some(Injector::Folder("shared".into()));
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
        assert_eq!(found(&base), Some(Injector::File("base/a.yaml".into())));
        let both = (prod, "resources: [../base]\ntransformers: [a.yaml]\n");
        assert_eq!(found(&[&[both, ours], &base[1..]].concat()), file);
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
