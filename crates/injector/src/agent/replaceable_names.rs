//! Names that other tools may change: Renovate updates images, and kustomize changes the names of images, Secrets, ConfigMaps and
//! claims (`images:`, `namePrefix`, generators).

use crate::agent::prerequisites::env_from_item;
use config::Setting;
use mackerel::annotations::Annotation;
use mackerel::names::{API_KEY, Volume};
use manifest::dotted_path::field_mut;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A name that other tools may change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplaceableName {
    Image,
    /// The Secret that holds the API key.
    Secret,
    /// The ConfigMap that holds the agent's configuration.
    ConfigMap,
    /// Another object, or a volume's image, by the field that refers to it: `env:DSN`, `envFrom[0]`, `mackerel-agent-plugin.configMap`,
    /// `mackerel-agent-all.projected[0]`. It has no blank, for the record.
    #[serde(untagged)]
    Reference(String),
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
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self, ReplaceableName::Reference(_))
    }

    /// Returns the setting that gives it.
    pub fn setting(&self) -> &'static str {
        self.annotation()
            .and_then(Setting::path_of)
            .unwrap_or_else(|| match self.field() {
                field if field.starts_with("envFrom") => "agent.envFrom",
                field if field.starts_with("env") => "agent.env",
                _ => "agent.volumes",
            })
    }

    /// Returns the annotation that overrides the setting.
    pub fn annotation(&self) -> Option<Annotation> {
        match self {
            ReplaceableName::Image => Some(Annotation::Image),
            ReplaceableName::Secret => Some(Annotation::ApiKeySecretName),
            ReplaceableName::ConfigMap => Some(Annotation::AgentConfigMapName),
            ReplaceableName::Reference(_) => None,
        }
    }

    /// Returns the name of the field that holds it, in a message.
    pub fn field(&self) -> String {
        match self {
            ReplaceableName::Image => "image".to_owned(),
            ReplaceableName::Secret => format!("env: {API_KEY}"),
            ReplaceableName::ConfigMap => format!("{}.configMap", Volume::Config.name()),
            ReplaceableName::Reference(field) => match field.strip_prefix(OF_VARIABLES) {
                Some(name) => format!("env: {name}"),
                None => field.clone(),
            },
        }
    }
}

/// The beginning of a reference by a variable.
const OF_VARIABLES: &str = "env:";

/// The fields that name an object, as dotted paths, in a variable, an item of `envFrom` and a volume.
const OF_VARIABLE: [&str; 2] = [
    "valueFrom.secretKeyRef.name",
    "valueFrom.configMapKeyRef.name",
];
const OF_ENV_FROM: [&str; 2] = ["secretRef.name", "configMapRef.name"];
const OF_VOLUME: [&str; 4] = [
    "configMap.name",
    "image.reference",
    "secret.secretName",
    "persistentVolumeClaim.claimName",
];

/// Visits each name in a container and its volumes.
pub fn for_each_name(
    container: &mut Value,
    volumes: &mut [Value],
    mut visit: impl FnMut(ReplaceableName, &mut Value),
) {
    let mut visit_in = |item: &mut Value, paths: &[&str], name: ReplaceableName| {
        for path in paths {
            if let Some(value) = field_mut(item, path) {
                visit(name.clone(), value);
            }
        }
    };
    visit_in(container, &["image"], ReplaceableName::Image);
    for variable in items(container, "env") {
        let name = match text(variable, "name") {
            API_KEY => ReplaceableName::Secret,
            name => ReplaceableName::Reference(format!("{OF_VARIABLES}{name}")),
        };
        visit_in(variable, &OF_VARIABLE, name);
    }
    for (index, item) in items(container, "envFrom").enumerate() {
        let name = ReplaceableName::Reference(env_from_item(index));
        visit_in(item, &OF_ENV_FROM, name);
    }
    for volume in volumes {
        let name = text(volume, "name").to_owned();
        match Volume::of(&name) {
            Some(Volume::Config) => visit_in(volume, &OF_VOLUME, ReplaceableName::ConfigMap),
            // Its ConfigMap is one of Kubernetes.
            Some(Volume::Token) => {}
            _ => {
                for path in OF_VOLUME {
                    let (kind, _) = path.split_once('.').unwrap_or((path, ""));
                    let field = ReplaceableName::Reference(format!("{name}.{kind}"));
                    visit_in(volume, &[path], field);
                }
                let Some(projected) = volume.get_mut("projected") else {
                    continue;
                };
                for (index, source) in items(projected, "sources").enumerate() {
                    let field = ReplaceableName::Reference(format!("{name}.projected[{index}]"));
                    visit_in(source, &["configMap.name", "secret.name"], field);
                }
            }
        }
    }
}

fn items<'v>(value: &'v mut Value, list: &str) -> impl Iterator<Item = &'v mut Value> {
    value
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Removes the names from a container and its volumes, and returns them. In place of a reference a mark stays: the rest of its field
/// may be empty, and an empty field does not count.
pub fn take_names(
    container: &mut Value,
    volumes: &mut [Value],
    mut is_taken: impl FnMut(&ReplaceableName) -> bool,
) -> ReplaceableNames {
    let mut names = ReplaceableNames::new();
    for_each_name(container, volumes, |name, value| {
        if !is_taken(&name) {
            return;
        }
        let mark = match name {
            ReplaceableName::Reference(_) => Value::from("*"),
            _ => Value::Null,
        };
        if let Some(text) = value.as_str().filter(|text| !text.is_empty())
            && !names.contains_key(&name)
        {
            names.insert(name, text.to_owned());
            *value = mark;
        }
    });
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
