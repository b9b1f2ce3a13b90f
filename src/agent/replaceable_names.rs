//! Names that other tools may change: Renovate updates images, and kustomize changes the names of images, Secrets and ConfigMaps
//! (`images:`, `namePrefix`, generators).

use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{API_KEY, Volume};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A name that other tools may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplaceableName {
    Image,
    /// The Secret that holds the API key.
    Secret,
    /// The ConfigMap that holds the agent's configuration.
    ConfigMap,
}

/// The way from the configured name of a Secret or ConfigMap to the one in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// kustomize has added the hash of a generator, and perhaps a prefix: `key` -> `production-key-ttmf455g22`
    Generated,
    /// The configured name with a prefix, a suffix or both: `key` -> `production-key`
    Affixed,
    /// Any other name.
    Other,
}

/// Letters and digits of the hash that kustomize adds to the names of generated objects.
const HASH_CHARACTERS: &str = "2456789bcdfghkmt";
const HASH_LENGTH: usize = 10;

impl Rename {
    pub fn of(configured: &str, current: &str) -> Self {
        if let Some((name, hash)) = current.rsplit_once('-')
            && name.ends_with(configured)
            && hash.len() == HASH_LENGTH
            && hash.chars().all(|letter| HASH_CHARACTERS.contains(letter))
        {
            return Rename::Generated;
        }
        if current.contains(configured) {
            Rename::Affixed
        } else {
            Rename::Other
        }
    }
}

/// The names of one component. An absent or empty name is left out: the API server refuses the pod.
pub type ReplaceableNames = BTreeMap<ReplaceableName, String>;

impl ReplaceableName {
    pub const ALL: [ReplaceableName; 3] = [
        ReplaceableName::Image,
        ReplaceableName::Secret,
        ReplaceableName::ConfigMap,
    ];

    /// Returns the setting that gives it.
    pub fn setting(self) -> &'static str {
        self.annotation().setting().unwrap_or_default()
    }

    /// Returns the annotation that overrides the setting.
    pub fn annotation(self) -> Annotation {
        match self {
            ReplaceableName::Image => Annotation::Image,
            ReplaceableName::Secret => Annotation::ApiKeySecretName,
            ReplaceableName::ConfigMap => Annotation::AgentConfigMapName,
        }
    }

    /// Returns the name of the field that holds it, in a message.
    pub fn field(self) -> String {
        match self {
            ReplaceableName::Image => "image".to_owned(),
            ReplaceableName::Secret => format!("env: {API_KEY}"),
            ReplaceableName::ConfigMap => format!("{}.configMap", Volume::Config.name()),
        }
    }

    /// Returns its value in a container or in the volumes.
    pub fn find<'v>(
        self,
        container: &'v mut Value,
        volumes: &'v mut [Value],
    ) -> Option<&'v mut Value> {
        match self {
            ReplaceableName::Image => container.get_mut("image"),
            ReplaceableName::Secret => {
                let variables = container.get_mut("env")?.as_array_mut()?;
                named(variables, API_KEY)?.pointer_mut("/valueFrom/secretKeyRef/name")
            }
            ReplaceableName::ConfigMap => {
                named(volumes, Volume::Config.name())?.pointer_mut("/configMap/name")
            }
        }
    }
}

fn named<'v>(items: &'v mut [Value], name: &str) -> Option<&'v mut Value> {
    items
        .iter_mut()
        .find(|item| item.get("name").and_then(Value::as_str) == Some(name))
}

/// Removes the names from a container and its volumes, and returns them.
pub fn take_names(container: &mut Value, volumes: &mut [Value]) -> ReplaceableNames {
    let mut names = ReplaceableNames::new();
    for name in ReplaceableName::ALL {
        if let Some(value) = name.find(container, volumes)
            && let Value::String(text) = value.take()
            && !text.is_empty()
        {
            names.insert(name, text);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::Rename;

    #[test]
    fn names_of_kustomize_are_told_from_others() {
        for (current, expected) in [
            ("key-ttmf455g22", Rename::Generated),
            ("production-key-ttmf455g22", Rename::Generated),
            ("eu.key-2456789bcd", Rename::Generated),
            ("key-production-ttmf455g22", Rename::Affixed),
            ("key-ttmf455g2", Rename::Affixed),
            ("key-ttmf455g222", Rename::Affixed),
            ("key-ttmf455g2a", Rename::Affixed),
            ("production-key", Rename::Affixed),
            ("production-key-eu", Rename::Affixed),
            ("ttmf455g22", Rename::Other),
            ("-ttmf455g22", Rename::Other),
            ("another-ttmf455g22", Rename::Other),
        ] {
            assert_eq!(Rename::of("key", current), expected, "{current}");
        }
    }
}
