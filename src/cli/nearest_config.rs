//! The configurations of a run with `--nearest-config`: each input has the one that is found from its folder.

use crate::cli::args::{CONFIG_VARIABLE, Common};
use crate::cli::find_config::parent;
use crate::cli::input::canonical;
use crate::cli::messages::Messages;
use crate::cli::{configuration, find_config};
use crate::config::{Config, ConfigReader};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

/// The configurations of a run.
#[derive(Debug)]
pub struct NearestConfigs {
    /// The configuration of an input that finds none.
    defaults: Config,
    /// In the order of the inputs.
    pub all: Vec<FoundConfig>,
    /// The indices of the configurations, by canonical folder.
    by_folder: HashMap<PathBuf, Option<usize>>,
}

/// A configuration and the name of its file.
#[derive(Debug)]
pub struct FoundConfig {
    pub name: String,
    pub config: Config,
}

impl NearestConfigs {
    /// Loads the configurations of canonical folders.
    pub fn load<'p>(
        folders: impl Iterator<Item = &'p Path>,
        common: &Common,
        messages: &mut Messages,
    ) -> anyhow::Result<Self> {
        if configuration::file(common).is_some() {
            anyhow::bail!(
                "`--nearest-config` cannot be used with {CONFIG_VARIABLE}; unset the variable"
            );
        }
        let current = configuration::current_folder()?;
        let mut nearest = Self {
            defaults: configuration::base(ConfigReader::Manifests, common, messages)?,
            all: Vec::new(),
            by_folder: HashMap::new(),
        };
        let mut by_file: HashMap<PathBuf, usize> = HashMap::new();
        for folder in folders {
            if nearest.by_folder.contains_key(folder) {
                continue;
            }
            let above = folder
                .parent()
                .and_then(|above| nearest.by_folder.get(above));
            if let Some(index) = above.copied().filter(|_| !find_config::ends_search(folder)) {
                nearest.by_folder.insert(folder.to_owned(), index);
                continue;
            }
            let file = find_config::in_or_above(folder, &current)?;
            let end = file.as_deref().map(|file| canonical(parent(file)));
            let index = match file.map(|file| by_file.entry(file)) {
                None => None,
                Some(Entry::Occupied(known)) => Some(*known.get()),
                Some(Entry::Vacant(new)) => {
                    let (file, reader) = (new.key(), ConfigReader::Manifests);
                    nearest.all.push(FoundConfig {
                        name: file.to_string_lossy().into_owned(),
                        config: configuration::found(file, reader, common, messages)?,
                    });
                    Some(*new.insert(nearest.all.len() - 1))
                }
            };
            nearest.by_folder.insert(folder.to_owned(), index);
            // A kustomization between the input and its configuration may be judged, too.
            for above in folder.ancestors().skip(1) {
                if end.as_deref().is_none_or(|end| !above.starts_with(end)) {
                    break;
                }
                nearest.by_folder.entry(above.to_owned()).or_insert(index);
            }
        }
        Ok(nearest)
    }

    /// Returns the index of the configuration of a canonical folder.
    pub fn of(&self, folder: &Path) -> Option<usize> {
        self.by_folder.get(folder).copied().flatten()
    }

    /// Returns the configuration with an index; without one, the defaults.
    pub fn config(&self, index: Option<usize>) -> &Config {
        let found = index.and_then(|index| self.all.get(index));
        found.map_or(&self.defaults, |found| &found.config)
    }
}
