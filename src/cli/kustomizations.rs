//! Files of the input that its kustomizations name as patches.

use crate::cli::discover::identity;
use crate::cli::input::read_file;
use crate::diagnostic::LineCounter;
use crate::manifest::kustomization::{self, Kustomization, NamedPatch};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The files that are named as patches, and by which kustomization.
#[derive(Debug, Default)]
pub(crate) struct NamedPatches(HashMap<PathBuf, NamedPatch>);

impl NamedPatches {
    /// Reads the kustomizations. One that cannot be read names nothing; its error is reported where it is an input itself.
    pub(crate) fn of(kustomizations: &[PathBuf]) -> Self {
        let mut patches = HashMap::new();
        let mut resources = Vec::new();
        for path in kustomizations {
            let Ok(file) = read_file(path) else { continue };
            let folder = path.parent().unwrap_or(Path::new(""));
            let Kustomization { resources: kept, patches: named } = kustomization::read(&file.text);
            let mut lines = LineCounter::new(file.text.as_bytes());
            for entry in named {
                let at = lines.position(entry.offset);
                let place = format!("{}:{}:{}", path.display(), at.line, at.column);
                let patch = NamedPatch { place, pointer: entry.pointer };
                patches.entry(identity(&folder.join(entry.path))).or_insert(patch);
            }
            resources.extend(kept.into_iter().map(|resource| folder.join(resource)));
        }
        if !patches.is_empty() {
            // A file that is also a resource gets its agent as one.
            let resources: HashSet<PathBuf> = resources.iter().map(|resource| identity(resource)).collect();
            patches.retain(|file, _| !resources.contains(file));
        }
        Self(patches)
    }

    /// The entry that names the file as a patch.
    pub(crate) fn get(&self, file: &Path) -> Option<&NamedPatch> {
        if self.0.is_empty() { None } else { self.0.get(&identity(file)) }
    }
}
