//! Names that other tools may change: Renovate updates images, and kustomize changes the names of images, Secrets and ConfigMaps
//! (`images:`, `namePrefix`, generators).

use crate::config::{AgentSettings, ConfigMapKeyRef, SecretKeyRef, SettingRow};
use crate::mackerel::names::{API_KEY, Volume};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A name that other tools may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ReplaceableName {
    Image,
    /// The Secret that holds the API key.
    Secret,
    /// The ConfigMap that holds the agent's configuration.
    ConfigMap,
}

/// The names of one component. An absent or empty name is left out: the API server refuses the pod.
pub(crate) type ReplaceableNames = BTreeMap<ReplaceableName, String>;

impl ReplaceableName {
    pub(crate) const ALL: [ReplaceableName; 3] = [
        ReplaceableName::Image,
        ReplaceableName::Secret,
        ReplaceableName::ConfigMap,
    ];

    /// Returns the setting that gives it.
    pub(crate) fn setting(self) -> &'static SettingRow {
        match self {
            ReplaceableName::Image => AgentSettings::image(),
            ReplaceableName::Secret => SecretKeyRef::name(),
            ReplaceableName::ConfigMap => ConfigMapKeyRef::name(),
        }
    }

    /// Returns its value in a container or in the volumes.
    pub(crate) fn find<'v>(
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
pub(crate) fn take_names(container: &mut Value, volumes: &mut [Value]) -> ReplaceableNames {
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
