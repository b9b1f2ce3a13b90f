//! The settings of an injected container, each with its value and origin.

use crate::config::{AgentSettings, Config, ConfigMapKeyRef, SecretKeyRef};
use crate::explain::{CauseView, ExplanationBuilder};
use crate::inject::Outcome;
use crate::mackerel::names::API_KEY;
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::ContainerList;
use crate::reconcile::Waiting;
use serde::Serialize;
use serde_json::Value;

/// Settings of one container.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ContainerSettings {
    /// Path of the list that holds the container.
    pub(crate) list: String,
    /// Every setting of it.
    pub(crate) settings: Vec<SettingView>,
}

/// One setting of one container.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SettingView {
    /// Dotted path below `spec`, or the annotation that names the hosts to wait for.
    pub(crate) path: String,
    /// Its value; null where it has none.
    pub(crate) value: Value,
    /// Origin of the value, as of [`CauseView`].
    pub(crate) origin: String,
}

impl ExplanationBuilder<'_> {
    /// Returns the settings of the agent that the template has after the run.
    pub(super) fn agent(&mut self, outcome: &Outcome) -> Option<ContainerSettings> {
        let agent = outcome.agent()?.component.as_ref()?;
        let config = agent.annotated.as_deref().unwrap_or(self.config);
        let mut settings = Vec::new();
        let mut end_of_amounts = None;
        for (path, value, origin) in config.settings() {
            if !is_of_the_agent(&path) {
                continue;
            }
            let mut setting = SettingView {
                origin: self.origin(origin),
                path,
                value,
            };
            if setting.path == AgentSettings::env().path {
                let replaced = replaced_variables(self.config, config);
                setting.origin += &replaced.unwrap_or_default();
                if !self.config.spec.agent.env.is_empty() {
                    setting.origin += &annotated_variables(self.config, config).unwrap_or_default();
                }
            }
            setting.correct(&agent.container, &agent.volume_list);
            let is_amount = setting.path.starts_with(AgentSettings::resources().path);
            settings.push(setting);
            if is_amount {
                end_of_amounts = Some(settings.len());
            }
        }
        let added = amounts_without_a_setting(&agent.container, &settings);
        let end = end_of_amounts.unwrap_or(settings.len());
        settings.splice(end..end, added);
        Some(ContainerSettings {
            settings,
            list: list_path(outcome, agent.record.list),
        })
    }

    /// Returns the settings of the init container that waits.
    pub(super) fn wait_for(&mut self, outcome: &Outcome) -> Option<ContainerSettings> {
        let Waiting { wait_for, cause } = outcome.components.wait_for.as_ref()?;
        let hosts: Vec<String> = wait_for.endpoints.iter().map(ToString::to_string).collect();
        let CauseView { rule, origin, .. } = self.cause(cause);
        let mut settings = vec![SettingView {
            path: rule,
            value: hosts.into(),
            origin,
        }];
        for (path, value, origin) in self.config.settings() {
            // Settings that it shares with an agent are listed with the agent.
            let is_shared = outcome.agent().is_none() && is_of_both_containers(&path);
            if is_shared || path.starts_with("waitFor.") {
                settings.push(SettingView {
                    path,
                    value,
                    origin: self.origin(origin),
                });
            }
        }
        Some(ContainerSettings {
            settings,
            list: list_path(outcome, wait_for.record.list),
        })
    }
}

/// `spec.template.spec.containers`
fn list_path(outcome: &Outcome, list: ContainerList) -> String {
    field_path(&format!("{}/spec/{}", outcome.template, list.field()))
}

/// `, without MACKEREL_ROLES, which an annotation sets`: variables of `agent.env` that annotations of a template replace.
fn replaced_variables(config: &Config, annotated: &Config) -> Option<String> {
    let env = &annotated.spec.agent.env;
    let mut replaced = Vec::new();
    for variable in &config.spec.agent.env {
        if !env.iter().any(|kept| kept.name == variable.name) {
            replaced.push(&*variable.name);
        }
    }
    let source = match replaced.len() {
        0 => return None,
        1 => "an annotation sets",
        _ => "annotations set",
    };
    Some(format!(
        ", without {}, which {source}",
        replaced.join(" and ")
    ))
}

/// `, with HTTPS_PROXY from an annotation`: variables of annotations `env.NAME`.
fn annotated_variables(config: &Config, annotated: &Config) -> Option<String> {
    let configured = &config.spec.agent.env;
    let mut set = Vec::new();
    for variable in &annotated.spec.agent.env {
        if !configured.contains(variable) {
            set.push(&*variable.name);
        }
    }
    let source = match set.len() {
        0 => return None,
        1 => "an annotation",
        _ => "annotations",
    };
    Some(format!(", with {} from {source}", set.join(" and ")))
}

/// Returns true for a setting of the agent that holds for the init container too, such as `agent.securityContext.runAsUser`.
fn is_of_both_containers(path: &str) -> bool {
    let mut names = path.split('.');
    names.next() == Some("agent")
        && matches!(
            names.next(),
            Some("imagePullPolicy" | "imagePullSecrets" | "securityContext")
        )
}

impl SettingView {
    /// Replaces the value by that of the container, which may differ: names that a user changed after the injection stay, and
    /// the pod's own resources take precedence.
    fn correct(&mut self, container: &Value, volumes: &Value) {
        const KEPT: &str = "kept from the manifest";
        let resources = self.path.strip_prefix(AgentSettings::resources().path);
        let amount = resources.and_then(|amount| amount.strip_prefix('.')?.split_once('.'));
        let (value, origin) = if let Some((list, resource)) = amount {
            let amount = container["resources"][list][resource.replace("\\.", ".")].clone();
            let origin = if amount.is_null() {
                "not added: the pod has `spec.resources`"
            } else {
                "raised: `qos` is `keep`"
            };
            (amount, origin)
        } else if self.path == AgentSettings::image().path {
            (container["image"].clone(), KEPT)
        } else if self.path == ConfigMapKeyRef::name().path {
            (config_map_name(volumes), KEPT)
        } else if self.path == SecretKeyRef::name().path {
            (secret_name(container), KEPT)
        } else {
            return;
        };
        if value != self.value {
            self.value = value;
            self.origin = origin.to_owned();
        }
    }
}

/// Returns the name of the first ConfigMap among the volumes; null if there is none.
fn config_map_name(volumes: &Value) -> Value {
    for volume in volumes.as_array().into_iter().flatten() {
        let name = &volume["configMap"]["name"];
        if !name.is_null() {
            return name.clone();
        }
    }
    Value::Null
}

/// Returns the name of the Secret with the API key; null if the container has none.
fn secret_name(container: &Value) -> Value {
    for variable in container["env"].as_array().into_iter().flatten() {
        if variable["name"] == API_KEY {
            return variable["valueFrom"]["secretKeyRef"]["name"].clone();
        }
    }
    Value::Null
}

/// Returns the requests and limits that no setting has and that `qos: keep` added.
fn amounts_without_a_setting(container: &Value, settings: &[SettingView]) -> Vec<SettingView> {
    let mut added = Vec::new();
    for list in ["limits", "requests"] {
        let amounts = container["resources"][list].as_object();
        for (resource, amount) in amounts.into_iter().flatten() {
            let path = AgentSettings::resources().part(&[list, resource]);
            if !settings.iter().any(|setting| setting.path == path) {
                added.push(SettingView {
                    path,
                    value: amount.clone(),
                    origin: "added: `qos` is `keep`".to_owned(),
                });
            }
        }
    }
    added
}

/// Returns true for a setting of the agent's container. The others select templates, or belong to the run.
fn is_of_the_agent(path: &str) -> bool {
    !matches!(
        path.split('.').next().unwrap_or_default(),
        "annotations"
            | "injection"
            | "onError"
            | "namespace"
            | "select"
            | "hooks"
            | "waitFor"
            | "podTemplates"
    )
}
