//! What must exist before an injected pod starts: an agent without its key exits, and its pod is then not ready.

use crate::config::CONFIG_FOLDER;
use crate::manifest::related::Source;
use serde_json::Value;
use std::fmt;

/// One key of one object, in the namespace of the pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct KeyRef {
    /// What kind of object.
    pub source: Source,
    /// The object's name.
    pub name: String,
    /// The key in it; none where all of it is taken.
    pub key: Option<String>,
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

/// A setting of the pod that has no effect where the agent's configuration file says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShadowedSetting {
    /// The key in the file.
    pub(crate) in_file: &'static str,
    /// The setting, as a dotted path below `spec`.
    pub(crate) setting: &'static str,
}

/// Who sees to it that an agent is permitted to read what it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Permission {
    /// Nobody has to, or the same run writes it down.
    #[default]
    Generated,
    /// Whoever applies what `rbac` prints.
    Manual,
}

/// What one agent needs around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prerequisites {
    /// Keys of objects, without duplicates, the API key's first.
    pub(crate) objects: Vec<KeyRef>,
    /// The file that the agent reads its configuration from, where a ConfigMap of those holds it.
    pub(crate) agent_config: Option<KeyRef>,
    /// Requests and limits that the container does not have, as a ResourceQuota names them.
    pub(crate) without: Vec<&'static str>,
    /// Variables whose references may lead nowhere, because their owner says so.
    pub(crate) optional: Vec<String>,
    /// What somebody set that the file could say too.
    pub(crate) shadowed: Vec<ShadowedSetting>,
    /// The agent keeps the host's id in a file.
    pub(crate) host_id_in_file: bool,
    /// Who sees to what it may read.
    pub(crate) permission: Permission,
}

impl Prerequisites {
    /// Of a container and its volumes. A native sidecar's references are all optional, so that they say nothing of what it
    /// needs: `optional` names the variables for which the user says so.
    #[must_use]
    pub(crate) fn of(container: &Value, volumes: &Value, optional: &[String]) -> Self {
        let env: Vec<&Value> = container["env"].as_array().into_iter().flatten().collect();
        let mut objects = Vec::new();
        let may_fail = |variable: &Value| optional.iter().any(|name| variable["name"] == name.as_str());
        for variable in env.iter().filter(|variable| !may_fail(variable)) {
            let references = [(Source::Secret, "secretKeyRef"), (Source::ConfigMap, "configMapKeyRef")];
            for (source, reference) in references {
                let reference = &variable["valueFrom"][reference];
                if let (Some(name), Some(key)) = (reference["name"].as_str(), reference["key"].as_str()) {
                    push(&mut objects, KeyRef { source, name: name.to_owned(), key: Some(key.to_owned()) });
                }
            }
        }
        let mut volumes = volumes.as_array().into_iter().flatten();
        let folder = volumes.find_map(|volume| volume["configMap"]["name"].as_str());
        let agent_config = folder.map(|name| {
            let file = env.iter().find(|variable| variable["name"] == "MACKEREL_AGENT_CONFIG");
            let file = file.and_then(|variable| variable["value"].as_str()?.strip_prefix(CONFIG_FOLDER));
            let key = file.map(|file| file.trim_start_matches('/').to_owned());
            KeyRef { source: Source::ConfigMap, name: name.to_owned(), key }
        });
        if let Some(need) = &agent_config {
            push(&mut objects, need.clone());
        }
        let without = without(&container["resources"]);
        let host_id_in_file =
            env.iter().any(|variable| variable["name"] == "MACKEREL_HOST_ID_STORE" && variable["value"] == "file");
        Self { objects, agent_config, without, optional: optional.to_vec(), host_id_in_file, ..Self::default() }
    }
}

fn push(needs: &mut Vec<KeyRef>, need: KeyRef) {
    if !needs.contains(&need) {
        needs.push(need);
    }
}

/// What is missing, as a ResourceQuota names it. A limit is a request too, where there is no other. Kubernetes asks every
/// container for no other resources than these.
fn without(resources: &Value) -> Vec<&'static str> {
    let mut without = Vec::new();
    for (resource, requests, limit) in
        [("cpu", ["cpu", "requests.cpu"], "limits.cpu"), ("memory", ["memory", "requests.memory"], "limits.memory")]
    {
        let is_given = |list: &str| resources[list][resource].is_string();
        if !is_given("limits") {
            without.push(limit);
            if !is_given("requests") {
                without.extend(requests);
            }
        }
    }
    without
}

/// Something that the injected pods of one namespace need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// The namespace; none where neither resource nor configuration names it.
    pub namespace: Option<String>,
    /// What they need.
    pub need: KeyRef,
    /// Whether the input has it.
    pub presence: Presence,
}

/// Whether the input has what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// It has not: it must be in the cluster, or come from elsewhere.
    Absent,
    /// It has, here.
    #[non_exhaustive]
    Present {
        /// Which text of those that were injected together, from 0.
        part: usize,
        /// Byte offset of the object in it.
        offset: usize,
    },
    /// The object is there, but without the key.
    WithoutKey,
}

impl Presence {
    /// As reports say it.
    #[must_use]
    pub(crate) fn words(self) -> &'static str {
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
        let volumes = json!([{"name": "tmp", "emptyDir": {}}, {"name": "c", "configMap": {"name": "conf"}}]);
        let container = json!({"env": env, "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1"}}});
        let needs = Prerequisites::of(&container, &volumes, &["OFTEN".to_owned()]);
        let shown: Vec<String> = needs.objects.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["Secret key with the key k", "ConfigMap proxy with the key url", "ConfigMap conf with the key agent.yaml"]
        );
        assert_eq!(needs.without, ["limits.memory"]);
    }
}
