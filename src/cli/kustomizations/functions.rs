//! The configurations of functions: under `transformers` of a kustomization, or in a Kptfile.

use crate::cli::find_config::read_found;
use crate::cli::kustomizations::Kustomizations;
use std::path::Path;

impl Kustomizations {
    /// Returns true if a kustomization, or the Kptfile of its package, names a file, which has a canonical path, for a function.
    pub fn configure_function(&mut self, file: &Path) -> bool {
        // An entry may be the directory of a kustomization.
        let mut folders = file.ancestors();
        if folders.any(|path| self.transformers.contains(path)) {
            return true;
        }
        let is_named = file.ancestors().skip(1).find_map(|folder| {
            self.roots.get(folder)?;
            let known = self.kptfiles.entry(folder.to_owned());
            let words = known.or_insert_with(|| {
                let words = read_found(&folder.join("Kptfile"), folder)
                    .ok()?
                    .split(|c: char| c.is_whitespace() || "\"',}".contains(c))
                    .map(|word| word.trim_start_matches("./").to_owned())
                    .collect();
                Some(words)
            });
            let path = file.strip_prefix(folder).ok()?;
            Some(words.as_ref()?.contains(&*path.to_string_lossy()))
        });
        is_named.unwrap_or_default()
    }
}
