//! The settings of an adopted agent: annotations that keep them, and those that no annotation can keep.
//!
//! An annotation is written only if the agent would behave differently without it. The agent's own default counts for the
//! connection to the kubelet: without a variable, it is the read-only port 10255.

use crate::agent::Agent;
use crate::agent::canonical::canonicalize;
use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::annotations::{Given, overlay};
use crate::config::{
    AgentSettings, Config, Kubelet, KubeletConnection, KubernetesVersion, Platform, SecretKeyRef,
    SettingRow, Spec, of_variable, role_list, variables,
};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::env::{NODE_VARIABLES, Variable, VariableForm};
use crate::mackerel::names::{API_KEY, CONTAINER, PLATFORM, Sidecar};
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::manifest::quantity::nanos;
use serde_json::Value;

/// An agent's container as JSON, with questions about its settings.
#[derive(Clone, Copy)]
pub(crate) struct AgentContainer<'a>(pub(crate) &'a Value);

impl<'a> AgentContainer<'a> {
    fn variable(self, name: &str) -> Option<&'a Value> {
        let variables = self.0.get("env")?.as_array()?;
        variables
            .iter()
            .rev()
            .find(|variable| variable.get("name").and_then(Value::as_str) == Some(name))
    }

    /// Returns the value of a variable. The agent takes an empty one for none.
    fn value(self, name: &str) -> Option<&'a str> {
        self.variable(name)?
            .get("value")?
            .as_str()
            .filter(|value| !value.is_empty())
    }

    fn image(self) -> &'a str {
        self.0
            .get("image")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn secret(self, field: &str) -> Option<&'a str> {
        self.variable(API_KEY)?
            .pointer(&format!("/valueFrom/secretKeyRef/{field}"))?
            .as_str()
    }

    fn amount(self, list: &str, resource: &str) -> Option<String> {
        match self.0.get("resources")?.get(list)?.get(resource)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the items of a variable, in one spelling.
    fn list(self, name: &str) -> Option<String> {
        self.value(name).map(role_list)
    }

    /// Returns its connection to the kubelet; none if a variable cannot be read here.
    fn kubelet(self) -> Option<KubeletConnection> {
        let [read_only, tls, insecure] = KUBELET_VARIABLES;
        let port = |name: &str, default: u16| match self.variable(name) {
            None => Some(default),
            Some(variable) if variable.get("valueFrom").is_some() => None,
            Some(_) => self
                .value(name)
                .map_or(Some(default), |port| port.parse().ok()),
        };
        if self.value(PLATFORM) == Some("eks_fargate") {
            return Some(KubeletConnection::ApiServer);
        }
        match port(read_only, 10255)? {
            0 => {
                let insecure = self.variable(insecure).is_some_and(|variable| {
                    variable.get("valueFrom").is_some()
                        || variable.get("value").and_then(Value::as_str) != Some("")
                });
                Some(KubeletConnection::Tls {
                    port: port(tls, 10250)?,
                    insecure,
                })
            }
            port => Some(KubeletConnection::ReadOnly { port }),
        }
    }

    /// Returns the pattern of other containers to ignore; none if it names the agent alone.
    fn ignored(self, name: &str) -> Option<String> {
        let pattern = self.value(name)?;
        let own = format!("^{CONTAINER}$");
        let pattern = pattern.strip_prefix(&format!("{own}|")).unwrap_or(pattern);
        let name = self
            .0
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or(CONTAINER);
        let is_own = [name, CONTAINER].iter().any(|name| {
            [
                (*name).to_owned(),
                format!("^{name}$"),
                format!("\\A{name}\\z"),
            ]
            .iter()
            .any(|own| own == pattern)
        });
        // In a variable's value, `$$` is a dollar sign.
        (!is_own).then(|| pattern.replace("$$", "$"))
    }

    /// Returns the ConfigMap of the agent's configuration, if it is one.
    fn config_map(self, volumes: &'a [Value]) -> Option<MountedConfigMap<'a>> {
        let text = |value: &'a Value, field: &str| value.get(field).and_then(Value::as_str);
        let path = self.value(AgentSettings::config().variable_name())?;
        self.0
            .get("volumeMounts")?
            .as_array()?
            .iter()
            .find_map(|mount| {
                let below = path.strip_prefix(text(mount, "mountPath")?.trim_end_matches('/'))?;
                let file = match (text(mount, "subPath"), below.strip_prefix('/')) {
                    (Some(file), None) if below.is_empty() => file,
                    (None, Some(file)) => file,
                    _ => return None,
                };
                let volume = text(mount, "name")?;
                let config_map = volumes
                    .iter()
                    .find(|other| text(other, "name") == Some(volume))?
                    .get("configMap")?;
                let key = match config_map.get("items").and_then(Value::as_array) {
                    Some(items) => text(
                        items.iter().find(|item| text(item, "path") == Some(file))?,
                        "key",
                    )?,
                    None => file,
                };
                Some(MountedConfigMap {
                    name: text(config_map, "name")?,
                    key,
                    volume,
                })
            })
    }
}

/// The ConfigMap that a container reads the agent's configuration from.
struct MountedConfigMap<'a> {
    name: &'a str,
    key: &'a str,
    volume: &'a str,
}

/// An agent to adopt, and the one that replaces it.
pub(crate) struct Replacement<'a> {
    /// In canonical form, as the new one.
    pub(crate) old: &'a Value,
    pub(crate) old_list: ContainerList,
    /// The pod's volumes.
    pub(crate) volumes: &'a [Value],
    pub(crate) template: &'a PodTemplate,
    pub(crate) agent: &'a Agent,
    /// The configuration of the new one.
    pub(crate) config: &'a Config,
}

impl Replacement<'_> {
    /// Returns the annotations that keep the old agent's settings, and are allowed. Those of the template stay as they are.
    pub(crate) fn annotations(&self) -> Vec<(Annotation, String)> {
        let mut kept = self.wanted();
        kept.retain(|(annotation, _)| self.config.allows(*annotation));
        let is_valid = |kept: &[(Annotation, String)]| {
            let given: Vec<Given<'_>> = kept
                .iter()
                .map(|(annotation, value)| (annotation.key(), &**value, 0))
                .collect();
            overlay(self.config, &given).is_ok()
        };
        if !is_valid(&kept) {
            kept.retain(|one| is_valid(std::slice::from_ref(one)));
        }
        if is_valid(&kept) { kept } else { Vec::new() }
    }

    /// Returns the annotations that would keep more of the old agent's settings, each with the setting, if they were allowed.
    pub(crate) fn not_allowed(&self) -> Vec<String> {
        let mut wanted = self.wanted();
        wanted.retain(|(annotation, _)| !self.config.allows(*annotation));
        let named = |annotation: Annotation| {
            Some(format!(
                "{} (`{}`)",
                annotation.name(),
                annotation.setting()?
            ))
        };
        wanted
            .into_iter()
            .filter_map(|(annotation, _)| named(annotation))
            .collect()
    }

    fn wanted(&self) -> Vec<(Annotation, String)> {
        let mut kept = self.variables();
        kept.extend(self.names());
        kept.extend(self.agent_config());
        kept.extend(self.kubelet());
        kept.extend(self.resources());
        let is_native = self.old_list == ContainerList::InitContainers
            && self.old.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let has_native = self.config.spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
        if is_native && has_native && self.agent.sidecar == Sidecar::Container {
            kept.push((Annotation::Sidecar, "native".to_owned()));
        }
        let is_given = |annotation| {
            let mut given = self.template.annotations.iter();
            self.config.allows(annotation)
                && given.any(|given| Annotation::of(&given.key) == Some(annotation))
        };
        kept.retain(|(annotation, _)| !is_given(*annotation));
        kept.sort_by_key(|(annotation, _)| *annotation);
        kept
    }

    /// Returns the annotations that keep the old agent's variables.
    fn variables(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (
            AgentContainer(self.old),
            AgentContainer(&self.agent.container),
        );
        let mut kept = Vec::new();
        for (setting, Variable { name, form, .. }) in variables() {
            let Some(annotation) = setting.annotation() else {
                continue;
            };
            let text = || old.value(name).map(str::to_owned);
            let (value, is_equal) = match form {
                VariableForm::Text => (text(), old.value(name) == new.value(name)),
                VariableForm::List => (text(), old.list(name) == new.list(name)),
                VariableForm::IgnorePattern => {
                    let value = old.ignored(name);
                    let is_equal = value == new.ignored(name);
                    (value, is_equal)
                }
                VariableForm::ConfigFile | VariableForm::SecretKey | VariableForm::Connection => {
                    continue;
                }
            };
            kept.extend(value.filter(|_| !is_equal).map(|value| (annotation, value)));
        }
        kept
    }

    /// Returns the annotations that keep the Secret of the API key, and an image of another repository.
    fn names(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (
            AgentContainer(self.old),
            AgentContainer(&self.agent.container),
        );
        let mut kept = Vec::new();
        for (setting, field) in [(SecretKeyRef::name(), "name"), (SecretKeyRef::key(), "key")] {
            let value = old
                .secret(field)
                .filter(|old| Some(*old) != new.secret(field));
            kept.extend(setting.annotation().zip(value.map(str::to_owned)));
        }
        if repository(old.image()) != repository(new.image()) {
            let annotation = AgentSettings::image().annotation();
            kept.extend(annotation.map(|annotation| (annotation, old.image().to_owned())));
        }
        kept
    }

    fn agent_config(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (
            AgentContainer(self.old),
            AgentContainer(&self.agent.container),
        );
        let configured = &self.config.spec.agent.config;
        let mut kept = Vec::new();
        match (
            old.config_map(self.volumes),
            old.value(AgentSettings::config().variable_name()),
        ) {
            (Some(there), _) => {
                if configured.location.is_some()
                    || configured.config_map_key_ref.name.as_deref() != Some(there.name)
                {
                    kept.push((Annotation::AgentConfigMapName, there.name.to_owned()));
                }
                if configured.config_map_key_ref.key != there.key {
                    kept.push((Annotation::AgentConfigMapKey, there.key.to_owned()));
                }
            }
            (None, Some(location))
                if new.value(AgentSettings::config().variable_name()) != Some(location) =>
            {
                kept.push((Annotation::AgentConfigLocation, location.to_owned()));
            }
            _ => {}
        }
        kept
    }

    fn kubelet(&self) -> Vec<(Annotation, String)> {
        let configured = self.config.spec.kubelet_connection();
        let Some(old) = AgentContainer(self.old)
            .kubelet()
            .filter(|old| *old != configured)
        else {
            return Vec::new();
        };
        let is_on_fargate = configured == KubeletConnection::ApiServer;
        let platform =
            is_on_fargate.then(|| (Annotation::Platform, Platform::Kubernetes.to_string()));
        let mut kept: Vec<_> = platform.into_iter().collect();
        match old {
            KubeletConnection::ApiServer => {
                kept.push((Annotation::Platform, Platform::EksFargate.to_string()))
            }
            KubeletConnection::ReadOnly { port } => {
                kept.push((Annotation::KubeletReadOnlyPort, port.to_string()))
            }
            KubeletConnection::Tls { port, insecure } => {
                let (configured_port, configured_insecure) = match configured {
                    KubeletConnection::Tls { port, insecure } => (Some(port), insecure),
                    KubeletConnection::ReadOnly { .. } => (None, false),
                    KubeletConnection::ApiServer => (Some(10250), false),
                };
                if configured_port != Some(port) {
                    kept.push((Annotation::KubeletPort, port.to_string()));
                }
                if configured_insecure != insecure {
                    kept.push((Annotation::KubeletInsecureTls, insecure.to_string()));
                }
            }
        }
        kept
    }

    /// Returns the read-only port of an old agent that sets INSECURE_TLS too: that port has no TLS.
    pub(crate) fn read_only_port_beside_tls(&self) -> Option<u16> {
        let old = AgentContainer(self.old);
        match old
            .kubelet()
            .filter(|_| old.variable(INSECURE_TLS).is_some())?
        {
            KubeletConnection::ReadOnly { port } => Some(port),
            KubeletConnection::Tls { .. } | KubeletConnection::ApiServer => None,
        }
    }

    fn resources(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (
            AgentContainer(self.old),
            AgentContainer(&self.agent.container),
        );
        let mut kept = Vec::new();
        for (resource, annotations) in [
            ("cpu", [Annotation::CpuRequest, Annotation::CpuLimit]),
            (
                "memory",
                [Annotation::MemoryRequest, Annotation::MemoryLimit],
            ),
        ] {
            let of = |container: AgentContainer<'_>| {
                ["requests", "limits"].map(|list| container.amount(list, resource))
            };
            let (there, wanted) = (of(old), of(new));
            let amounts = [&there, &wanted].map(|amounts| {
                amounts
                    .clone()
                    .map(|amount| amount.as_deref().and_then(nanos))
            });
            for (index, annotation) in annotations.into_iter().enumerate() {
                let [there_amount, wanted_amount] = [amounts[0][index], amounts[1][index]];
                match &there[index] {
                    Some(amount) if there_amount != wanted_amount => {
                        kept.push((annotation, amount.clone()))
                    }
                    Some(_) => {}
                    // A default must not contradict what is kept: a request is no more than its limit.
                    None => {
                        let kept_amount = amounts[0][1 - index];
                        let (request, limit) = if index == 0 {
                            (wanted_amount, kept_amount)
                        } else {
                            (kept_amount, wanted_amount)
                        };
                        if request
                            .zip(limit)
                            .is_some_and(|(request, limit)| request > limit)
                        {
                            kept.push((annotation, "null".to_owned()));
                        }
                    }
                }
            }
        }
        kept
    }

    /// Returns the fields of the old container that the new one changes or lacks, each with the setting that gives it.
    pub(crate) fn differences(&self) -> AdoptionDifferences {
        let new = canonicalize(&without_list_fields(Value::clone(&self.agent.container)));
        let old = canonicalize(&without_list_fields(self.old.clone()));
        AdoptionDifferences::of(&old, &new, &self.equal_in_meaning())
    }

    /// Returns variables, and volumes of mounts, that differ in form only.
    fn equal_in_meaning(&self) -> Vec<&str> {
        let (old, new) = (
            AgentContainer(self.old),
            AgentContainer(&self.agent.container),
        );
        let mut equal = Vec::new();
        if old.kubelet().is_some() && old.kubelet() == new.kubelet() {
            equal.extend(KUBELET_VARIABLES);
        }
        for (_, Variable { name, form, .. }) in variables() {
            let is_equal = match form {
                VariableForm::List => old.list(name).is_some() && old.list(name) == new.list(name),
                // The own container is always ignored.
                VariableForm::IgnorePattern => {
                    let other = old.ignored(name);
                    old.value(name).is_some() && (other.is_none() || other == new.ignored(name))
                }
                _ => false,
            };
            equal.extend(is_equal.then_some(name));
        }
        let injected: Vec<Value> = self
            .agent
            .volumes
            .iter()
            .map(|(_, volume)| Value::clone(volume))
            .collect();
        if let (Some(old), Some(new)) = (old.config_map(self.volumes), new.config_map(&injected))
            && (old.name, old.key) == (new.name, new.key)
        {
            equal.extend([AgentSettings::config().variable_name(), old.volume]);
        }
        equal
    }
}

const KUBELET_VARIABLES: [&str; 3] = [
    Kubelet::read_only_port().variable_name(),
    Kubelet::port().variable_name(),
    INSECURE_TLS,
];

pub(crate) const INSECURE_TLS: &str = Kubelet::insecure_tls().variable_name();

/// Returns the setting that gives a variable, or that would if it had to.
fn setting_of(variable: &str) -> &'static SettingRow {
    if NODE_VARIABLES.contains(&variable) {
        return Spec::platform();
    }
    of_variable(variable).map_or(AgentSettings::env(), |(setting, _)| setting)
}

/// `registry.example:5000/team/agent:v1@sha256:…` -> `registry.example:5000/team/agent`
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => image,
    }
}

/// Removes the fields that depend on the container's list.
fn without_list_fields(mut container: Value) -> Value {
    let variables = container
        .get_mut("env")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    let sources = variables
        .filter_map(|variable| variable.get_mut("valueFrom").and_then(Value::as_object_mut));
    for reference in sources
        .flat_map(|source| source.values_mut())
        .filter_map(Value::as_object_mut)
    {
        reference.shift_remove("optional");
    }
    if let Some(fields) = container.as_object_mut() {
        fields.shift_remove("restartPolicy");
    }
    container
}

/// Fields of the old container that are not those of the new one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AdoptionDifferences {
    /// The image's tag, which belongs to the configuration, and its pull policy.
    pub(crate) image: Vec<String>,
    /// Everything else.
    pub(crate) lost: Vec<String>,
}

impl AdoptionDifferences {
    /// Compares containers in canonical form.
    fn of(old: &Value, new: &Value, equal: &[&str]) -> Self {
        let mut found = Self::default();
        for Difference { kind, old: at, .. } in differences(old, new) {
            let tokens: Vec<&str> = at.split('/').skip(1).collect();
            let text = |pointer: String, field: &str| old.pointer(&pointer)?.get(field)?.as_str();
            let (label, is_inside) = match tokens[..] {
                ["name"] => continue,
                ["env", item, ..] => {
                    let name = text(format!("/env/{item}"), "name").unwrap_or("without a name");
                    if equal.contains(&name) {
                        continue;
                    }
                    let setting = setting_of(name);
                    (format!("env {name} (`{setting}`)"), tokens.len() > 2)
                }
                ["volumeMounts", item, ..] => {
                    let mount = format!("/volumeMounts/{item}");
                    if text(mount.clone(), "name").is_some_and(|volume| equal.contains(&volume)) {
                        continue;
                    }
                    let path = text(mount, "mountPath").unwrap_or("without a path");
                    (format!("the mount at {path}"), tokens.len() > 2)
                }
                [top, ..] => {
                    // Lists are replaced as a whole.
                    let fields = tokens
                        .iter()
                        .copied()
                        .take_while(|token| token.parse::<usize>().is_err());
                    let path = fields.collect::<Vec<_>>().join(".");
                    match AgentSettings::of_field(top) {
                        Some(setting) => (format!("{path} (`{setting}`)"), false),
                        None => (path, false),
                    }
                }
                [] => continue,
            };
            if kind == DifferenceKind::New && !is_inside {
                continue;
            }
            let list = if label.starts_with("image") {
                &mut found.image
            } else {
                &mut found.lost
            };
            if !list.contains(&label) {
                list.push(label);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{AdoptionDifferences, AgentContainer, repository, without_list_fields};
    use crate::agent::canonical::canonicalize;
    use crate::config::KubeletConnection;
    use serde_json::json;

    #[test]
    fn losses_are_reported_by_name_and_setting() {
        let old = json!({
            "name": "agent", "image": "a:1", "command": ["x"], "tty": true,
            "env": [{"name": "MACKEREL_APIKEY", "value": "secret"}, {"name": "MACKEREL_ROLES", "value": "a:b"},
                {"name": "SAME", "value": "1"}, {"name": "OTHER", "value": "secret"}],
            "resources": {"limits": {"cpu": "1", "memory": "2"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "a"}, {"mountPath": "/b", "name": "b"}, {"mountPath": "/c", "name": "kept"}],
        });
        let new = json!({
            "name": "injected", "image": "a:2",
            "env": [{"name": "MACKEREL_APIKEY", "valueFrom": {}}, {"name": "SAME", "value": "1"}],
            "resources": {"limits": {"memory": "3"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "c"}],
        });
        let AdoptionDifferences { image, lost } = AdoptionDifferences::of(&old, &new, &["kept"]);
        assert_eq!(image, ["image (`agent.image`)"]);
        assert_eq!(
            lost,
            [
                "command",
                "tty",
                "env MACKEREL_APIKEY (`apiKey`)",
                "env MACKEREL_ROLES (`agent.roles`)",
                "env OTHER (`agent.env`)",
                "resources.limits.cpu (`agent.resources`)",
                "resources.limits.memory (`agent.resources`)",
                "the mount at /a",
                "the mount at /b",
            ]
        );
        assert_eq!(
            AdoptionDifferences::of(&new, &new, &[]),
            AdoptionDifferences::default()
        );
    }

    #[test]
    fn what_its_list_demands_is_no_loss() {
        let key = |optional: bool| json!({"secretKeyRef": {"name": "a", "key": "b", "optional": optional}});
        let [native, container] = [(true, "Always"), (false, "")].map(|(optional, policy)| {
            let env = json!([{"name": "MACKEREL_APIKEY", "valueFrom": key(optional)}]);
            canonicalize(&without_list_fields(
                json!({"name": "agent", "restartPolicy": policy, "env": env}),
            ))
        });
        assert_eq!(native, container);
    }

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
            assert_eq!(
                AgentContainer(&env(variables)).kubelet(),
                expected,
                "{variables:?}"
            );
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
