//! The kustomizations whose builds differ from the files of the input.

use crate::cli::find_config::parent;
use crate::cli::kustomizations::files::Kustomizations;
use crate::cli::kustomizations::injectors::Injectors;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// A kustomization to build.
#[derive(Debug, Clone, Copy)]
pub struct Build<'k> {
    /// The folder in messages.
    pub shown: &'k Path,
    /// The canonical folder.
    pub folder: &'k Path,
    /// A resource that does not exist, so that kustomize does not build it.
    pub missing: Option<&'k str>,
    pub needs_helm: bool,
}

/// The builds of a run.
#[derive(Debug)]
pub struct Builds<'k> {
    kustomizations: &'k Kustomizations,
    /// The folders of the kustomizations whose builds differ.
    differing: HashSet<&'k Path>,
    /// The folders of those that name a path which does not exist.
    pub broken: HashSet<&'k Path>,
}

impl<'k> Builds<'k> {
    /// Finds the kustomizations of the input with charts, generators, transformers of others, or resources that are not in the input; where
    /// names count, also those that change them.
    pub fn of(
        kustomizations: &'k Kustomizations,
        injectors: &Injectors,
        names_count: bool,
    ) -> Self {
        let (mut differing, mut missing) = (Vec::new(), Vec::new());
        for (folder, file) in &kustomizations.files {
            if !kustomizations.walked.contains(folder) {
                continue;
            }
            let content = &file.content;
            if file.missing.is_some() {
                missing.push(folder.as_path());
            }
            if file.takes_remote
                || file
                    .resources
                    .iter()
                    .any(|named| kustomizations.is_outside(named))
                || content.has_charts
                || content.has_generators
                || names_count && content.renames
                || !content.transformers.is_empty() && injectors.of_file(file).is_none()
            {
                differing.push(folder.as_path());
            }
        }
        differing.extend(&missing);
        Self {
            kustomizations,
            differing: kustomizations.with_users(differing),
            broken: kustomizations.with_users(missing),
        }
    }

    /// Returns the folders of the differing kustomizations that no other one uses. A Component has no build.
    pub fn roots(&self) -> BTreeSet<&'k Path> {
        let users = self.kustomizations.users();
        let is_root = |folder: &&&Path| !users.contains_key(**folder) && self.differs(folder);
        self.differing.iter().filter(is_root).copied().collect()
    }

    /// Returns true for a canonical folder whose build differs.
    pub fn differs(&self, folder: &Path) -> bool {
        let file = self.kustomizations.files.get(folder);
        self.differing.contains(folder) && file.is_some_and(|file| !file.content.is_component)
    }

    /// Returns false where what the build takes from elsewhere are files without containers, such as Flux's HelmRelease. What cannot be
    /// read, such as a file outside of the repository, may have some.
    pub fn may_have_templates(&self, folder: &Path) -> bool {
        let kustomizations = self.kustomizations;
        let used = kustomizations.with_used([folder]);
        let mut files = used
            .iter()
            .filter_map(|used| kustomizations.files.get(*used));
        files.any(|file| {
            let outside = file.resources.iter().filter(|named| {
                kustomizations.is_outside(named) && !kustomizations.files.contains_key(*named)
            });
            let mut texts = outside.map(|named| file.text_of(named));
            file.takes_remote
                || file.missing.is_some()
                || file.content.has_charts
                || file.content.has_generators
                || texts.any(|text| text.is_none_or(|text| text.contains("containers")))
        })
    }

    /// Returns the build of a canonical folder with a kustomization.
    pub fn build(&self, folder: &Path) -> Option<Build<'k>> {
        let (folder, file) = self.kustomizations.files.get_key_value(folder)?;
        let mut build = Build {
            shown: parent(&file.path),
            folder,
            missing: None,
            needs_helm: false,
        };
        for used in self.kustomizations.with_used([folder.as_path()]) {
            if let Some(file) = self.kustomizations.files.get(used) {
                build.missing = build.missing.or(file.missing.as_deref());
                build.needs_helm |= file.content.has_charts;
            }
        }
        Some(build)
    }
}
