//! Objects that an injected pod needs: an agent without its API key exits, and its pod is not ready.

use mackerel::env::AGENT_CONFIG;
use mackerel::names::{API_KEY, CONFIG_FOLDER, Volume};
use manifest::Source;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// One key of one object, in the namespace of the pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct KeyRef {
    /// The object's kind.
    #[serde(rename = "kind")]
    pub source: Source,
    /// The object's name.
    pub name: String,
    /// The key in it; none for the whole object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl KeyRef {
    fn new(source: Source, name: &str, key: Option<&str>) -> Self {
        Self {
            source,
            name: name.to_owned(),
            key: key.map(str::to_owned),
        }
    }
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source.kind(), self.name)?;
        match &self.key {
            Some(key) => write!(f, " with the key {key}"),
            None => Ok(()),
        }
    }
}

/// The prerequisites of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prerequisites {
    /// Keys of objects, without duplicates.
    pub objects: Vec<KeyRef>,
    /// The API key.
    pub api_key: Option<KeyRef>,
    /// The agent's configuration file, if it is in a ConfigMap.
    pub agent_config: Option<KeyRef>,
    /// The variables, items of `envFrom` and volumes whose references the user has marked `optional`.
    pub optional: Vec<String>,
}

impl Prerequisites {
    /// Collects the prerequisites of a container and its volumes. All references of a native sidecar are optional, and all of volumes:
    /// `optional` has what the user has marked so.
    pub fn of(container: &Value, volumes: &Value, optional: Vec<String>) -> Self {
        let mut needs = Self {
            optional,
            ..Self::default()
        };
        needs.find_objects(container, volumes.as_array().map_or(&[], Vec::as_slice));
        needs
    }

    /// Collects the objects that the container and its volumes name.
    pub(crate) fn find_objects(&mut self, container: &Value, volumes: &[Value]) {
        let mut objects = Vec::new();
        for variable in container["env"].as_array().into_iter().flatten() {
            if self.optional.iter().any(|name| variable["name"] == **name) {
                continue;
            }
            for (source, reference) in [
                (Source::Secret, "secretKeyRef"),
                (Source::ConfigMap, "configMapKeyRef"),
            ] {
                let reference = &variable["valueFrom"][reference];
                if let (Some(name), Some(key)) =
                    (reference["name"].as_str(), reference["key"].as_str())
                {
                    let need = KeyRef::new(source, name, Some(key));
                    if variable["name"] == API_KEY {
                        self.api_key = Some(need.clone());
                    }
                    push(&mut objects, need);
                }
            }
        }
        let mut push_whole = |of: &str, source: Source, name: &Value| {
            if let Some(name) = name.as_str()
                && self.optional.iter().all(|marked| marked != of)
            {
                push(&mut objects, KeyRef::new(source, name, None));
            }
        };
        let env_from = container["envFrom"].as_array();
        for (index, item) in env_from.into_iter().flatten().enumerate() {
            let of = env_from_item(index);
            push_whole(&of, Source::Secret, &item["secretRef"]["name"]);
            push_whole(&of, Source::ConfigMap, &item["configMapRef"]["name"]);
        }
        let mut agent_config = &Value::Null;
        for volume in volumes {
            match volume["name"].as_str().and_then(Volume::of) {
                Some(Volume::Config) => agent_config = &volume["configMap"]["name"],
                Some(Volume::Configured(name)) => {
                    push_whole(&name, Source::Secret, &volume["secret"]["secretName"]);
                    let credentials = &volume["csi"]["nodePublishSecretRef"];
                    push_whole(&name, Source::Secret, &credentials["name"]);
                    let sources = volume["projected"]["sources"].as_array();
                    for source in sources.into_iter().flatten().chain([volume]) {
                        push_whole(&name, Source::Secret, &source["secret"]["name"]);
                        push_whole(&name, Source::ConfigMap, &source["configMap"]["name"]);
                    }
                }
                _ => {}
            }
        }
        self.agent_config = agent_config.as_str().map(|name| {
            let key = value_of(container, AGENT_CONFIG)
                .and_then(|file| file.strip_prefix(CONFIG_FOLDER))
                .map(|key| key.trim_start_matches('/'));
            KeyRef::new(Source::ConfigMap, name, key)
        });
        if let Some(need) = &self.agent_config {
            push(&mut objects, need.clone());
        }
        self.objects = objects;
    }
}

/// `envFrom[0]`
pub fn env_from_item(index: usize) -> String {
    format!("envFrom[{index}]")
}

/// Returns the value of a variable.
fn value_of<'v>(container: &'v Value, variable: &str) -> Option<&'v str> {
    container["env"]
        .as_array()?
        .iter()
        .find(|known| known["name"] == variable)?["value"]
        .as_str()
}

fn push(needs: &mut Vec<KeyRef>, need: KeyRef) {
    if !needs.contains(&need) {
        needs.push(need);
    }
}

/// An object that the injected pods of one namespace need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The namespace; none if neither resource nor configuration names it.
    pub namespace: Option<String>,
    /// The object.
    pub need: KeyRef,
    /// Its presence in the input.
    pub presence: Presence,
}

/// The presence of an object in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Absent: the object must be in the cluster, or come from elsewhere.
    Absent,
    /// Present at this place.
    Present {
        /// Index of the text among those that were injected together.
        part: usize,
        /// Byte offset of the object in it.
        offset: usize,
    },
    /// Present, but without the key.
    WithoutKey,
}

impl Presence {
    /// Returns the word in reports for programs.
    pub fn id(self) -> &'static str {
        match self {
            Presence::Absent => "absent",
            Presence::Present { .. } => "present",
            Presence::WithoutKey => "without-key",
        }
    }

    /// Returns the words for reports.
    pub fn words(self) -> &'static str {
        match self {
            Presence::Absent => "not in the input",
            Presence::Present { .. } => "in the input",
            Presence::WithoutKey => "in the input, without that key",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_secrets_and_config_maps() {
        let env = json!([
            {"name": "MACKEREL_APIKEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}},
            {"name": "HTTPS_PROXY", "valueFrom": {"configMapKeyRef": {"name": "proxy", "key": "url"}}},
            {"name": "OFTEN", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k", "optional": true}}},
            {"name": "AGAIN", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}},
            {"name": "MACKEREL_AGENT_CONFIG", "value": "/etc/mackerel-agent/agent.yaml"},
        ]);
        let volumes = json!([{"name": "mackerel-agent-tmp", "emptyDir": {}},
            {"name": "mackerel-agent-config", "configMap": {"name": "conf"}},
            {"name": "mackerel-agent-plugin", "configMap": {"name": "plugin", "optional": true}},
            {"name": "mackerel-agent-extra", "secret": {"secretName": "extra", "optional": true}},
            {"name": "mackerel-agent-all", "projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "rest"}}]}},
            {"name": "mackerel-agent-store", "csi": {"driver": "a", "nodePublishSecretRef": {"name": "store"}}}]);
        let from = json!([{"secretRef": {"name": "all"}}, {"configMapRef": {"name": "some"}}]);
        let container = json!({"env": env, "envFrom": from});
        let optional = ["OFTEN", "envFrom[1]", "extra"].map(str::to_owned);
        let needs = Prerequisites::of(&container, &volumes, optional.to_vec());
        let shown: Vec<String> = needs.objects.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "Secret key with the key k",
                "ConfigMap proxy with the key url",
                "Secret all",
                "ConfigMap plugin",
                "Secret part",
                "ConfigMap rest",
                "Secret store",
                "ConfigMap conf with the key agent.yaml"
            ]
        );
    }
}
