//! The configurations of functions: under `transformers` of a kustomization, or in a Kptfile.

use crate::cli::find_config::read_found;
use crate::cli::kustomizations::Kustomizations;
use std::collections::HashSet;
use std::path::Path;

impl Kustomizations {
    /// Returns true if a kustomization, or the Kptfile of its package, names a file, which has a canonical path, for a function.
    pub fn configure_function(&mut self, file: &Path) -> bool {
        // An entry may be the directory of a kustomization.
        let is_transformer = |path| self.transformers.contains(path);
        if file.ancestors().any(is_transformer) {
            return true;
        }
        for folder in file.ancestors().skip(1) {
            if self.roots.contains_key(folder)
                && let Some(words) = self
                    .kptfiles
                    .entry(folder.to_owned())
                    .or_insert_with(|| words_of_kptfile(folder))
                && let Ok(path) = file.strip_prefix(folder)
            {
                return words.contains(&*path.to_string_lossy());
            }
        }
        false
    }
}

fn words_of_kptfile(folder: &Path) -> Option<HashSet<String>> {
    let text = read_found(&folder.join("Kptfile"), folder).ok()?;
    let is_between = |c: char| c.is_whitespace() || "\"',}".contains(c);
    let word = |word: &str| word.trim_start_matches("./").to_owned();
    Some(text.split(is_between).map(word).collect())
}
