//! The settings of an adopted agent that annotations keep: its variables in one loop, then what is no variable.
//!
//! An annotation is written only if the agent would behave differently without it. The agent's own default counts for the
//! connection to the kubelet: without a variable, it is the read-only port 10255.

use crate::agent::Component;
use config::annotations::{Given, VariableName, overlay};
use config::{Config, KubeletConnection, KubernetesVersion, Platform, Setting};
use mackerel::annotations::{Annotation, PREFIX, VARIABLE};
use mackerel::env::{
    AGENT_CONFIG, INSECURE_TLS, KUBELET_PORT, READ_ONLY_PORT, REFERABLE, Variable, VariableForm,
};
use mackerel::names::{API_KEY, CONTAINER, FARGATE_PLATFORM, PLATFORM};
use manifest::expansion::literal;
use manifest::{ContainerList, PodTemplate, nanos};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The variables of the connection to the kubelet, which depend on each other.
const KUBELET_VARIABLES: [&str; 3] = [READ_ONLY_PORT, KUBELET_PORT, INSECURE_TLS];

/// An annotation that keeps a setting of the old agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptSetting {
    pub(super) annotation: Annotation,
    pub(super) key: String,
    pub(super) value: String,
}

impl KeptSetting {
    fn new(annotation: Annotation, value: impl ToString) -> Self {
        Self {
            annotation,
            key: annotation.key().to_owned(),
            value: value.to_string(),
        }
    }

    /// Returns its name without the prefix.
    pub(super) fn name(&self) -> &str {
        self.key.strip_prefix(PREFIX).unwrap_or(&self.key)
    }
}

/// An agent to adopt, and the one that replaces it.
pub(super) struct Replacement<'a> {
    pub(super) old: Value,
    pub(super) old_list: ContainerList,
    /// The pod's volumes.
    pub(super) volumes: Vec<Value>,
    pub(super) template: &'a PodTemplate,
    pub(super) agent: &'a Component,
    /// The configuration of the new one.
    pub(super) config: &'a Config,
}

impl Replacement<'_> {
    /// Returns the annotations that keep the old agent's settings, and are allowed. Those of the template stay as they are.
    pub(super) fn annotations(&self) -> Vec<KeptSetting> {
        let mut kept = self.variables();
        kept.extend(self.names());
        kept.extend(self.agent_config());
        kept.extend(self.kubelet());
        kept.extend(self.amounts("cpu", Annotation::CpuRequest, Annotation::CpuLimit));
        kept.extend(self.amounts("memory", Annotation::MemoryRequest, Annotation::MemoryLimit));
        let is_native = self.old_list == ContainerList::InitContainers
            && text(&self.old, "restartPolicy") == Some("Always");
        let has_native = self.config.spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
        if is_native && has_native && self.agent.record.list == ContainerList::Containers {
            kept.push(KeptSetting::new(Annotation::Sidecar, "native"));
        }
        let given = self.given();
        kept.retain(|kept| self.config.allows(kept.annotation) && !given.contains(&*kept.key));
        kept.sort_by_key(|kept| kept.annotation);
        // An injection must take them: together, else those that it takes alone.
        if !self.is_valid(&kept) {
            kept.retain(|one| self.is_valid(std::slice::from_ref(one)));
        }
        if !self.is_valid(&kept) {
            kept.clear();
        }
        kept
    }

    fn is_valid(&self, kept: &[KeptSetting]) -> bool {
        let given: Vec<Given<'_>> = kept
            .iter()
            .map(|kept| (&*kept.key, &*kept.value, 0))
            .collect();
        overlay(self.config, &given).is_ok()
    }

    /// Returns the annotations of the template, those with another name by the one that is written.
    fn given(&self) -> BTreeSet<&str> {
        self.template
            .annotations
            .iter()
            .filter_map(|given| match Annotation::of(&given.key)? {
                Annotation::Env => Some(&*given.key),
                annotation => Some(annotation.key()),
            })
            .collect()
    }

    /// Keeps the variables that are plain text, each by the annotation of its setting, else by `env.NAME`.
    fn variables(&self) -> Vec<KeptSetting> {
        let (old, new) = (&self.old, &*self.agent.container);
        let new_variables = variables(new);
        let mut kept = Vec::new();
        for (name, variable) in variables(old) {
            let (form, setting) = match Setting::of_variable(name) {
                Some((setting, variable)) => (variable.form, Some(setting)),
                None if VariableName::of(name) == VariableName::Free => (VariableForm::Text, None),
                None => continue,
            };
            let meaning = meaning(old, Some(variable), form);
            if meaning == self::meaning(new, new_variables.get(name).copied(), form) {
                continue;
            }
            let value = match form {
                VariableForm::IgnorePattern => meaning.as_deref(),
                _ => plain_text(variable).filter(|value| is_literal(value)),
            };
            let Some(value) = value else {
                continue;
            };
            match setting {
                Some(setting) => {
                    if let Some(annotation) = setting.annotation {
                        kept.push(KeptSetting::new(annotation, value));
                    }
                }
                None => kept.push(KeptSetting {
                    annotation: Annotation::Env,
                    key: [PREFIX, VARIABLE, name].concat(),
                    value: value.to_owned(),
                }),
            }
        }
        kept
    }

    /// Keeps the Secret of the API key, and an image of another repository.
    fn names(&self) -> Vec<KeptSetting> {
        let (old, new) = (&self.old, &*self.agent.container);
        let mut kept = Vec::new();
        for (annotation, field) in [
            (Annotation::ApiKeySecretName, "name"),
            (Annotation::ApiKeySecretKey, "key"),
        ] {
            if let Some(value) = secret(old, field)
                && Some(value) != secret(new, field)
            {
                kept.push(KeptSetting::new(annotation, value));
            }
        }
        let [old_image, new_image] = [old, new].map(|one| text(one, "image").unwrap_or_default());
        if repository(old_image) != repository(new_image) {
            kept.push(KeptSetting::new(Annotation::Image, old_image));
        }
        kept
    }

    fn agent_config(&self) -> Vec<KeptSetting> {
        let configured = &self.config.spec.agent.config;
        let reference = &configured.config_map_key_ref;
        let mut kept = Vec::new();
        if let Some(mounted) = self.config_map() {
            let name = reference.name.as_deref().map(String::as_str);
            if configured.location.is_some() || name != Some(mounted.name) {
                kept.push(KeptSetting::new(
                    Annotation::AgentConfigMapName,
                    mounted.name,
                ));
            }
            if *reference.key != mounted.key {
                kept.push(KeptSetting::new(Annotation::AgentConfigMapKey, mounted.key));
            }
        } else if let Some(location) =
            value(&self.old, AGENT_CONFIG).filter(|value| is_literal(value))
            && value(&self.agent.container, AGENT_CONFIG) != Some(location)
        {
            kept.push(KeptSetting::new(Annotation::AgentConfigLocation, location));
        }
        kept
    }

    fn kubelet(&self) -> Vec<KeptSetting> {
        let configured = self.config.spec.kubelet_connection();
        let mut kept = Vec::new();
        let Some(old) = kubelet(&self.old).filter(|old| *old != configured) else {
            return kept;
        };
        if configured == KubeletConnection::ApiServer {
            kept.push(KeptSetting::new(Annotation::Platform, Platform::Kubernetes));
        }
        match old {
            KubeletConnection::ApiServer => {
                kept.push(KeptSetting::new(Annotation::Platform, Platform::EksFargate));
            }
            KubeletConnection::ReadOnly { port } => {
                kept.push(KeptSetting::new(Annotation::KubeletReadOnlyPort, port));
            }
            KubeletConnection::Tls { port, insecure } => {
                let (configured_port, configured_insecure) = match configured {
                    KubeletConnection::Tls { port, insecure } => (Some(port), insecure),
                    KubeletConnection::ReadOnly { .. } => (None, false),
                    KubeletConnection::ApiServer => (Some(10250), false),
                };
                if configured_port != Some(port) {
                    kept.push(KeptSetting::new(Annotation::KubeletPort, port));
                }
                if configured_insecure != insecure {
                    kept.push(KeptSetting::new(Annotation::KubeletInsecureTls, insecure));
                }
            }
        }
        kept
    }

    /// Keeps the request and the limit of one resource. A default must not contradict what is kept: a request that would be more
    /// than its limit is set to null.
    fn amounts(&self, resource: &str, request: Annotation, limit: Annotation) -> Vec<KeptSetting> {
        let (old, new) = (&self.old, &*self.agent.container);
        let number = |one: &Value, list: &str| nanos(&amount(one, list, resource)?);
        let [old_request, new_request] = [old, new].map(|one| number(one, "requests"));
        let [old_limit, new_limit] = [old, new].map(|one| number(one, "limits"));
        let mut kept = Vec::new();
        match amount(old, "requests", resource) {
            Some(amount) if old_request != new_request => {
                kept.push(KeptSetting::new(request, amount));
            }
            None if is_more(new_request, old_limit) => kept.push(KeptSetting::new(request, "null")),
            _ => {}
        }
        match amount(old, "limits", resource) {
            Some(amount) if old_limit != new_limit => kept.push(KeptSetting::new(limit, amount)),
            None if is_more(old_request, new_limit) => kept.push(KeptSetting::new(limit, "null")),
            _ => {}
        }
        kept
    }

    /// Returns the names of the fields that the new container has in another form: they may differ, and nothing is lost.
    pub(super) fn equal_in_meaning(&self) -> Vec<String> {
        let mut equal = Vec::new();
        if kubelet(&self.old) == Some(self.config.spec.kubelet_connection()) {
            equal.extend(KUBELET_VARIABLES.map(|name| format!("env: {name}")));
        }
        let (old, new) = (&self.old, &*self.agent.container);
        for (name, variable_of_old) in variables(old) {
            if let Some((_, Variable { form, .. })) = Setting::of_variable(name)
                && matches!(form, VariableForm::List | VariableForm::IgnorePattern)
                && meaning(old, Some(variable_of_old), form)
                    == meaning(new, variable(new, name), form)
            {
                equal.push(format!("env: {name}"));
            }
        }
        let configured = &self.config.spec.agent.config.config_map_key_ref;
        if let Some(mounted) = self.config_map()
            && configured
                .name
                .as_deref()
                .is_some_and(|name| name == mounted.name)
            && *configured.key == mounted.key
        {
            equal.push(format!("env: {AGENT_CONFIG}"));
            equal.push(format!("volumeMounts: {}", mounted.mount_path));
        }
        equal
    }

    /// Returns true if an annotation of the template gives this setting.
    pub(super) fn has_annotation_of(&self, setting: &Setting) -> bool {
        setting.annotation.is_some()
            && self
                .template
                .annotations
                .iter()
                .any(|given| Annotation::of(&given.key) == setting.annotation)
    }

    /// Returns the pod's volume of this name.
    pub(super) fn volume(&self, name: &str) -> Option<&Value> {
        find(&self.volumes, "name", name)
    }

    /// Returns the ConfigMap of the old agent's configuration, if it is one.
    fn config_map(&self) -> Option<MountedConfigMap<'_>> {
        let path = value(&self.old, AGENT_CONFIG)?;
        let mounts = self.old["volumeMounts"].as_array()?;
        mounts.iter().find_map(|mount| {
            let mount_path = text(mount, "mountPath")?;
            let below = path.strip_prefix(mount_path.trim_end_matches('/'))?;
            let file = match (text(mount, "subPath"), below.strip_prefix('/')) {
                (Some(file), None) if below.is_empty() => file,
                (None, Some(file)) => file,
                _ => return None,
            };
            let config_map = self.volume(text(mount, "name")?)?.get("configMap")?;
            let key = match config_map["items"].as_array() {
                Some(items) => text(find(items, "path", file)?, "key")?,
                None => file,
            };
            Some(MountedConfigMap {
                name: text(config_map, "name")?,
                key,
                mount_path,
            })
        })
    }
}

/// The ConfigMap that a container reads the agent's configuration from.
struct MountedConfigMap<'a> {
    name: &'a str,
    key: &'a str,
    mount_path: &'a str,
}

pub(super) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

pub(super) fn find<'a>(items: &'a [Value], field: &str, wanted: &str) -> Option<&'a Value> {
    items.iter().find(|item| text(item, field) == Some(wanted))
}

/// Returns the variables by name; of two with one name the last counts.
fn variables(container: &Value) -> BTreeMap<&str, &Value> {
    container["env"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variable| Some((text(variable, "name")?, variable)))
        .collect()
}

fn variable<'a>(container: &'a Value, name: &str) -> Option<&'a Value> {
    container["env"]
        .as_array()?
        .iter()
        .rfind(|variable| text(variable, "name") == Some(name))
}

fn value<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    plain_text(variable(container, name)?)
}

/// Returns the value of a variable. The agent takes an empty one for none.
fn plain_text(variable: &Value) -> Option<&str> {
    text(variable, "value").filter(|value| !value.is_empty())
}

/// Returns the value of a variable in one spelling, to compare it; none for a form that is compared otherwise.
fn meaning(container: &Value, variable: Option<&Value>, form: VariableForm) -> Option<String> {
    let value = plain_text(variable?)?;
    match form {
        VariableForm::Text => Some(value.to_owned()),
        VariableForm::List => Some(items(value)),
        VariableForm::IgnorePattern => ignored(container, value),
        VariableForm::ConfigFile | VariableForm::SecretKey | VariableForm::Connection => None,
    }
}

/// `a:b, c:d` -> `a:b,c:d`
fn items(list: &str) -> String {
    list.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns the pattern of other containers to ignore; none if it names the agent alone.
fn ignored(container: &Value, pattern: &str) -> Option<String> {
    let own = format!("^{CONTAINER}$|");
    let pattern = pattern.strip_prefix(&own).unwrap_or(pattern);
    for name in [text(container, "name").unwrap_or(CONTAINER), CONTAINER] {
        if [name, &format!("^{name}$"), &format!("\\A{name}\\z")].contains(&pattern) {
            return None;
        }
    }
    // In a variable's value, `$$` is a dollar sign.
    Some(pattern.replace("$$", "$"))
}

fn secret<'a>(container: &'a Value, field: &str) -> Option<&'a str> {
    let reference = variable(container, API_KEY)?.pointer("/valueFrom/secretKeyRef")?;
    text(reference, field)
}

fn amount(container: &Value, list: &str, resource: &str) -> Option<String> {
    match container.get("resources")?.get(list)?.get(resource)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns an agent's connection to the kubelet; none if a variable cannot be read here.
fn kubelet(container: &Value) -> Option<KubeletConnection> {
    let [read_only, tls, insecure] = KUBELET_VARIABLES;
    let port = |name: &str, default: u16| match variable(container, name) {
        Some(variable) if variable.get("valueFrom").is_some() => None,
        _ => value(container, name).map_or(Some(default), |port| port.parse().ok()),
    };
    if value(container, PLATFORM) == Some(FARGATE_PLATFORM) {
        return Some(KubeletConnection::ApiServer);
    }
    match port(read_only, 10255)? {
        0 => Some(KubeletConnection::Tls {
            port: port(tls, 10250)?,
            insecure: variable(container, insecure).is_some_and(|variable| {
                variable.get("valueFrom").is_some() || text(variable, "value") != Some("")
            }),
        }),
        port => Some(KubeletConnection::ReadOnly { port }),
    }
}

/// `registry.example:5000/team/agent:v1@sha256:…` -> `registry.example:5000/team/agent`
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => image,
    }
}

/// Returns true for a variable's value that an annotation may have: a reference to another variable would be text.
fn is_literal(value: &str) -> bool {
    literal(value, &REFERABLE) == value
}

/// Returns true if both amounts exist, and the first is more than the second.
fn is_more(one: Option<i128>, other: Option<i128>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one > other)
}

#[cfg(test)]
mod tests {
    use super::{kubelet, repository};
    use config::KubeletConnection;
    use serde_json::json;

    #[test]
    fn a_connection_is_read_as_the_agent_reads_it() {
        let env = |variables: &[(&str, &str)]| {
            let name = |name: &str| format!("MACKEREL_KUBERNETES_KUBELET_{name}");
            let variables = variables
                .iter()
                .map(|(of, value)| json!({"name": name(of), "value": value}));
            json!({"env": variables.collect::<Vec<_>>()})
        };
        for (variables, expected) in [
            (&[][..], Some(KubeletConnection::ReadOnly { port: 10255 })),
            (
                &[("READ_ONLY_PORT", ""), ("INSECURE_TLS", "true")],
                Some(KubeletConnection::ReadOnly { port: 10255 }),
            ),
            (
                &[("READ_ONLY_PORT", "0")],
                Some(KubeletConnection::Tls {
                    port: 10250,
                    insecure: false,
                }),
            ),
            (
                &[
                    ("READ_ONLY_PORT", "0"),
                    ("PORT", "1"),
                    ("INSECURE_TLS", "false"),
                ],
                Some(KubeletConnection::Tls {
                    port: 1,
                    insecure: true,
                }),
            ),
            (&[("READ_ONLY_PORT", "x")], None),
        ] {
            assert_eq!(kubelet(&env(variables)), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_repository_is_an_image_without_tag_and_digest() {
        for image in [
            "r:5000/a/b:v1@sha256:00",
            "r:5000/a/b:v1",
            "r:5000/a/b@sha256:00",
            "r:5000/a/b",
        ] {
            assert_eq!(repository(image), "r:5000/a/b");
        }
    }
}
