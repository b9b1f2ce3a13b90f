//! The cases: folders `tests/cases/<topic>/<situation>/`.

use crate::configuration;
use config::Config;
use injector::{Direction, ForeignAgents, HandEdits, Options};
use std::fs;
use std::path::{Path, PathBuf};
use support::root;

/// One case: a folder.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub folder: PathBuf,
    /// The file name of the manifest.
    pub file: String,
    pub text: String,
    /// The text of its configuration.
    pub configuration: Option<String>,
    /// The flags of `command`.
    pub command: String,
    pub sets: Vec<String>,
    namespace: Option<String>,
    pub config: Config,
    pub options: Options,
}

/// The topic whose cases show the agent in full, and with the default image.
pub const AGENT: &str = "agent/";

/// The image of the other cases that name none.
pub const IMAGE: &str = "agent.image=mackerel/mackerel-container-agent:v0.13.2-plugins";

/// Every case, by name: `wait-for/first`.
pub fn all() -> Vec<Case> {
    let root = root().join("tests/cases");
    let mut names: Vec<String> = folders(&root)
        .into_iter()
        .flat_map(|topic| {
            folders(&root.join(&topic))
                .into_iter()
                .map(move |situation| format!("{topic}/{situation}"))
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| Case::read(root.join(&name), name))
        .collect()
}

fn folders(root: &Path) -> Vec<String> {
    fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

impl Case {
    fn read(folder: PathBuf, name: String) -> Self {
        let files = ["input.yaml", "input.json"];
        let file = files.into_iter().find(|file| folder.join(file).is_file());
        let file = file
            .unwrap_or_else(|| panic!("{name}: there is neither {} nor {}", files[0], files[1]))
            .to_owned();
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        let optional = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let mut options = crate::INJECT;
        let mut sets = Vec::new();
        let mut namespace = None;
        let command = optional("command").unwrap_or_default();
        let mut words = command.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .unwrap_or_else(|| panic!("{name}: {word} wants a value"))
                    .to_owned()
            };
            match word {
                "uninject" => options.direction = Direction::Uninject,
                "--adopt" => options.foreign_agents = ForeignAgents::Adopt,
                "--adopt=lossy" => options.foreign_agents = ForeignAgents::AdoptLossy,
                "--force" => options.hand_edits = HandEdits::Overwrite,
                "--set" => sets.push(value()),
                "--namespace" => namespace = Some(value()),
                other => panic!("{name}: {other} is no flag that this harness knows"),
            }
        }
        let file_of_configuration = optional("config.yaml");
        let mut config = configuration(
            file_of_configuration.as_deref(),
            &sets,
            namespace.as_deref(),
        );
        if !name.starts_with(AGENT) && config.explicit().all(|(path, _)| path != "agent.image") {
            sets.push(IMAGE.to_owned());
            config = configuration(
                file_of_configuration.as_deref(),
                &sets,
                namespace.as_deref(),
            );
        }
        let configuration = file_of_configuration;
        Self {
            name,
            folder,
            file,
            text,
            configuration,
            command,
            sets,
            namespace,
            config,
            options,
        }
    }

    /// Its configuration with one setting more; none where the two contradict each other.
    pub fn config_with(&self, set: &str) -> Option<Config> {
        let sets = [&*self.sets, &[set.to_owned()]].concat();
        crate::consistent(
            self.configuration.as_deref(),
            &sets,
            self.namespace.as_deref(),
        )
        .ok()
    }
}
