//! An agent's container, injected or foreign: its settings as the agent reads them.

use crate::config::{AgentSettings, Kubelet, KubeletConnection, role_list};
use crate::mackerel::env::VariableForm;
use crate::mackerel::names::{API_KEY, CONTAINER, PLATFORM};
use crate::manifest::quantity::nanos;
use serde_json::Value;

pub(super) const INSECURE_TLS: &str = Kubelet::insecure_tls().variable_name();

/// The variables of the connection to the kubelet.
pub(super) const KUBELET_VARIABLES: [&str; 3] = [
    Kubelet::read_only_port().variable_name(),
    Kubelet::port().variable_name(),
    INSECURE_TLS,
];

/// An agent's container as JSON.
#[derive(Clone, Copy)]
pub(super) struct AgentContainer<'a>(pub(super) &'a Value);

impl<'a> AgentContainer<'a> {
    pub(super) fn variable_names(self) -> Vec<&'a str> {
        let variables = self.0.get("env").and_then(Value::as_array);
        let mut names = Vec::new();
        for variable in variables.into_iter().flatten() {
            names.extend(text(variable, "name"));
        }
        names
    }

    pub(super) fn variable(self, name: &str) -> Option<&'a Value> {
        let mut variables = self.0.get("env")?.as_array()?.iter();
        variables.rfind(|variable| text(variable, "name") == Some(name))
    }

    /// Returns the value of a variable. The agent takes an empty one for none.
    pub(super) fn value(self, name: &str) -> Option<&'a str> {
        text(self.variable(name)?, "value").filter(|value| !value.is_empty())
    }

    pub(super) fn image(self) -> &'a str {
        text(self.0, "image").unwrap_or_default()
    }

    pub(super) fn secret(self, field: &str) -> Option<&'a str> {
        self.variable(API_KEY)?
            .pointer(&format!("/valueFrom/secretKeyRef/{field}"))?
            .as_str()
    }

    pub(super) fn amount(self, list: &str, resource: &str) -> Option<String> {
        match self.0.get("resources")?.get(list)?.get(resource)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the same as a number.
    pub(super) fn nanos(self, list: &str, resource: &str) -> Option<i128> {
        nanos(&self.amount(list, resource)?)
    }

    /// Returns the value of a variable in one spelling, to compare it; none for a form that is compared otherwise.
    pub(super) fn meaning(self, name: &str, form: VariableForm) -> Option<String> {
        match form {
            VariableForm::Text => self.value(name).map(str::to_owned),
            VariableForm::List => self.value(name).map(role_list),
            VariableForm::IgnorePattern => self.ignored(name),
            VariableForm::ConfigFile | VariableForm::SecretKey | VariableForm::Connection => None,
        }
    }

    /// Returns its connection to the kubelet; none if a variable cannot be read here.
    pub(super) fn kubelet(self) -> Option<KubeletConnection> {
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
                    variable.get("valueFrom").is_some() || text(variable, "value") != Some("")
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
        let own = format!("^{CONTAINER}$|");
        let pattern = pattern.strip_prefix(&own).unwrap_or(pattern);
        let name = text(self.0, "name").unwrap_or(CONTAINER);
        for name in [name, CONTAINER] {
            if [name, &format!("^{name}$"), &format!("\\A{name}\\z")].contains(&pattern) {
                return None;
            }
        }
        // In a variable's value, `$$` is a dollar sign.
        Some(pattern.replace("$$", "$"))
    }

    /// Returns the ConfigMap of the agent's configuration, if it is one.
    pub(super) fn config_map(self, volumes: &'a [Value]) -> Option<MountedConfigMap<'a>> {
        let path = self.value(AgentSettings::config().variable_name())?;
        let mut mounts = self.0.get("volumeMounts")?.as_array()?.iter();
        mounts.find_map(|mount| {
            let below = path.strip_prefix(text(mount, "mountPath")?.trim_end_matches('/'))?;
            let file = match (text(mount, "subPath"), below.strip_prefix('/')) {
                (Some(file), None) if below.is_empty() => file,
                (None, Some(file)) => file,
                _ => return None,
            };
            let volume = text(mount, "name")?;
            let config_map = find(volumes, "name", volume)?.get("configMap")?;
            let key = match config_map.get("items").and_then(Value::as_array) {
                Some(items) => text(find(items, "path", file)?, "key")?,
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

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

fn find<'a>(items: &'a [Value], field: &str, wanted: &str) -> Option<&'a Value> {
    let mut items = items.iter();
    items.find(|item| text(item, field) == Some(wanted))
}

/// The ConfigMap that a container reads the agent's configuration from.
pub(super) struct MountedConfigMap<'a> {
    pub(super) name: &'a str,
    pub(super) key: &'a str,
    pub(super) volume: &'a str,
}

/// `registry.example:5000/team/agent:v1@sha256:…` -> `registry.example:5000/team/agent`
pub(super) fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => image,
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentContainer, repository};
    use crate::config::KubeletConnection;
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
