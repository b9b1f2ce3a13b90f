//! The kustomizations whose builds differ from the files of the input.

use crate::cli::find_config::parent;
use crate::cli::kustomizations::Injector;
use crate::cli::kustomizations::files::{KustomizationFile, Kustomizations};
use std::collections::HashSet;
use std::path::Path;

/// A kustomization to build.
#[derive(Debug)]
pub struct Build<'k> {
    /// The folder in messages.
    pub shown: &'k Path,
    /// A resource that does not exist, so that kustomize does not build it.
    pub missing: Option<&'k str>,
    pub needs_helm: bool,
    /// The configuration that the build gives this program, by its kustomization or one that it uses.
    pub injector: Option<Injector>,
}

impl Kustomizations {
    /// Returns the folders of kustomizations with charts, generators, transformers of others, or resources that are not in the input; where
    /// names count, also of those that change them. With them come those that use them. A Component has no build.
    pub fn differing(&self, names_count: bool) -> HashSet<&Path> {
        let mut differing = self.walked_with_users(|file| {
            file.takes_others
                || file.resources.iter().any(|named| self.is_outside(named))
                || names_count && file.content.renames
                || !file.content.transformers.is_empty() && self.injector(file).is_none()
        });
        let has_build = |file: &KustomizationFile| !file.content.is_component;
        differing.retain(|folder| self.files.get(*folder).is_some_and(has_build));
        differing
    }

    /// Returns the folders of kustomizations with a path that does not exist, and of those that use them.
    pub fn broken(&self) -> HashSet<&Path> {
        self.walked_with_users(|file| file.missing.is_some())
    }

    fn walked_with_users(&self, is_meant: impl Fn(&KustomizationFile) -> bool) -> HashSet<&Path> {
        let meant = self
            .files
            .iter()
            .filter(|(folder, file)| self.walked.contains(*folder) && is_meant(file))
            .map(|(folder, _)| folder.as_path());
        self.with_users(meant.collect())
    }

    /// Returns false where what the build takes from elsewhere are files without containers, such as Flux's HelmRelease. What cannot be
    /// read, such as a file outside of the repository, may have some.
    pub fn may_have_templates(&self, folder: &Path) -> bool {
        self.of_build(folder).any(|file| {
            file.takes_others
                || file.resources.iter().any(|named| {
                    self.is_outside(named)
                        && !self.files.contains_key(named)
                        && file
                            .text_of(named)
                            .is_none_or(|text| text.contains("containers"))
                })
        })
    }

    /// Returns the build of a canonical folder with a kustomization.
    pub fn build<'k>(&'k self, folder: &'k Path) -> Option<Build<'k>> {
        let used = Vec::from_iter(self.of_build(folder));
        Some(Build {
            shown: parent(&used.first()?.path),
            missing: used.iter().find_map(|file| file.missing.as_deref()),
            needs_helm: used.iter().any(|file| file.content.has_charts),
            injector: used.iter().find_map(|file| self.injector(file)),
        })
    }
}
