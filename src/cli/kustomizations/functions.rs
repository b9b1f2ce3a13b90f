//! The configurations of functions: under `transformers` of a kustomization, or in a Kptfile.

use crate::cli::find_config::read_found;
use crate::cli::kustomizations::files::Kustomizations;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The files and folders that configure functions.
#[derive(Debug)]
pub struct Functions<'k> {
    kustomizations: &'k Kustomizations,
    transformers: HashSet<&'k Path>,
    /// The words of each Kptfile, which may be paths, by its folder.
    kptfiles: HashMap<PathBuf, Option<HashSet<String>>>,
}

impl<'k> Functions<'k> {
    pub fn of(kustomizations: &'k Kustomizations) -> Self {
        let transformers = kustomizations.files.values();
        Self {
            kustomizations,
            transformers: transformers
                .flat_map(|file| &file.transformers)
                .map(PathBuf::as_path)
                .collect(),
            kptfiles: HashMap::new(),
        }
    }

    /// Returns true if a kustomization, or the Kptfile of its package, names a file, which has a canonical path.
    pub fn are_configured_by(&mut self, file: &Path) -> bool {
        // An entry may be the directory of a kustomization.
        if file
            .ancestors()
            .any(|path| self.transformers.contains(path))
        {
            return true;
        }
        let folders = file.ancestors().skip(1);
        for folder in folders.filter(|folder| self.kustomizations.has_folder(folder)) {
            let known = self.kptfiles.entry(folder.to_owned());
            if let Some(words) = known.or_insert_with(|| words_of_kptfile(folder)) {
                let path = file.strip_prefix(folder).unwrap_or(file);
                return words.contains(&*path.to_string_lossy());
            }
        }
        false
    }
}

fn words_of_kptfile(folder: &Path) -> Option<HashSet<String>> {
    let text = read_found(&folder.join("Kptfile"), folder).ok()?.text;
    let words = text.split(|c: char| c.is_whitespace() || "\"',}".contains(c));
    let words = words.map(|word| word.trim_start_matches("./").to_owned());
    Some(words.collect())
}
