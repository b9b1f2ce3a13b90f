//! The settings of an injected container, each with its value and origin.

use crate::config::{AgentSettings, Config, ConfigMapKeyRef, SecretKeyRef};
use crate::explain::{CauseView, ExplanationBuilder};
use crate::inject::Outcome;
use crate::mackerel::names::API_KEY;
use crate::manifest::field_path::field_path;
use crate::reconcile::Waiting;
use serde::Serialize;
use serde_json::Value;

/// Settings of one container.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerSettings {
    /// Path of the list that holds it.
    pub(crate) stands_in: String,
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
        let settings = config
            .settings()
            .into_iter()
            .filter(|(path, ..)| is_of_the_agent(path));
        let settings = settings.map(|(path, value, origin)| {
            let mut origin = self.origin(origin);
            if path == AgentSettings::env().path {
                origin.push_str(&less_variables(self.config, config).unwrap_or_default());
            }
            in_effect(
                SettingView {
                    path,
                    value,
                    origin,
                },
                &agent.container,
                &agent.volume_list,
            )
        });
        let mut settings: Vec<SettingView> = settings.collect();
        let added = amounts_without_a_setting(&agent.container, &settings);
        let last_amount = settings
            .iter()
            .rposition(|setting| setting.path.starts_with(AgentSettings::resources().path));
        let end = last_amount.map_or(settings.len(), |last| last + 1);
        settings.splice(end..end, added);
        Some(ContainerSettings {
            settings,
            stands_in: field_path(&format!(
                "{}/spec/{}",
                outcome.template,
                agent.record.list.field()
            )),
        })
    }

    /// Returns the settings of its init container that waits.
    pub(super) fn wait_for(&mut self, outcome: &Outcome) -> Option<ContainerSettings> {
        let Waiting { wait_for, cause } = outcome.components.wait_for.as_ref()?;
        let hosts: Vec<String> = wait_for.endpoints.iter().map(ToString::to_string).collect();
        let CauseView { rule, origin, .. } = self.cause(cause);
        let mut settings = vec![SettingView {
            path: rule,
            value: hosts.into(),
            origin,
        }];
        // Settings that it shares with an agent are listed there.
        let of_both = |path: &str| OF_BOTH.contains(&of_agent(path)) && outcome.agent().is_none();
        for (path, value, origin) in self.config.settings() {
            if path.starts_with("waitFor.") || of_both(&path) {
                settings.push(SettingView {
                    path,
                    value,
                    origin: self.origin(origin),
                });
            }
        }
        Some(ContainerSettings {
            settings,
            stands_in: field_path(&format!(
                "{}/spec/{}",
                outcome.template,
                wait_for.record.list.field()
            )),
        })
    }
}

/// `, less MACKEREL_ROLES, which an annotation sets`: variables of `agent.env` that annotations of a template replace.
fn less_variables(config: &Config, annotated: &Config) -> Option<String> {
    let stays = |name: &str| {
        annotated
            .spec
            .agent
            .env
            .iter()
            .any(|variable| variable.name == name)
    };
    let env = config.spec.agent.env.iter().map(|variable| &*variable.name);
    let gone: Vec<&str> = env.filter(|name| !stays(name)).collect();
    let who = match gone.len() {
        0 => return None,
        1 => "an annotation sets",
        _ => "annotations set",
    };
    Some(format!(", without {}, which {who}", gone.join(" and ")))
}

/// Settings of the agent that hold for the init container that waits too.
const OF_BOTH: [&str; 3] = ["imagePullPolicy", "imagePullSecrets", "securityContext"];

/// `agent.securityContext.runAsUser` -> `securityContext`; empty for what is not the agent's.
fn of_agent(path: &str) -> &str {
    path.strip_prefix("agent.")
        .and_then(|path| path.split('.').next())
        .unwrap_or_default()
}

/// A setting as the pod has it: names that a user changed since then stay, and the pod's own resources take precedence.
fn in_effect(setting: SettingView, container: &Value, volumes: &Value) -> SettingView {
    let SettingView {
        path,
        value,
        origin,
    } = setting;
    let amount = |list: &str, resource: &str| {
        container["resources"][list][resource.replace("\\.", ".")].clone()
    };
    let resources = path
        .strip_prefix(AgentSettings::resources().path)
        .and_then(|amount| amount.strip_prefix('.')?.split_once('.'));
    let volumes = || volumes.as_array().into_iter().flatten();
    let (actual, why) = match resources {
        Some((list, resource)) => {
            let actual = amount(list, resource);
            let why = if actual.is_null() {
                "not added: the pod has `spec.resources`"
            } else {
                "raised: `qos` is `keep`"
            };
            (actual, why)
        }
        None if path == AgentSettings::image().path => (container["image"].clone(), KEPT),
        None if path == ConfigMapKeyRef::name().path => {
            let name = volumes()
                .map(|volume| &volume["configMap"]["name"])
                .find(|name| !name.is_null());
            (name.cloned().unwrap_or_default(), KEPT)
        }
        None if path == SecretKeyRef::name().path => {
            let env = container["env"].as_array().into_iter().flatten();
            let key = env.into_iter().find(|variable| variable["name"] == API_KEY);
            (
                key.map(|key| key["valueFrom"]["secretKeyRef"]["name"].clone())
                    .unwrap_or_default(),
                KEPT,
            )
        }
        None => {
            return SettingView {
                path,
                value,
                origin,
            };
        }
    };
    if actual == value {
        SettingView {
            path,
            value,
            origin,
        }
    } else {
        SettingView {
            path,
            value: actual,
            origin: why.to_owned(),
        }
    }
}

/// Requests and limits that `qos: keep` brought in.
fn amounts_without_a_setting(container: &Value, settings: &[SettingView]) -> Vec<SettingView> {
    let mut added = Vec::new();
    for list in ["limits", "requests"] {
        for (resource, amount) in container["resources"][list]
            .as_object()
            .into_iter()
            .flatten()
        {
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

const KEPT: &str = "kept from the manifest";

/// True for settings of the agent; the others select templates.
fn is_of_the_agent(path: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "annotations",
        "injection",
        "onError",
        "namespace",
        "select",
        "hooks",
        "waitFor",
        "podTemplates",
        "rbac",
    ];
    !OTHERS.contains(&path.split('.').next().unwrap_or_default())
}
