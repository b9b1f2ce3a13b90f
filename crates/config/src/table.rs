//! The settings that an annotation overrides or a variable of the agent holds, in the order of the agent's documentation.

use crate::kubernetes;
use crate::message::violation;
use crate::read::{ErrorKind, type_at};
use crate::spec::Spec;
use crate::values::{Node, Value};
use crate::violation::Violation;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use mackerel::annotations::Annotation;
use mackerel::env::{
    AGENT_CONFIG, EnvOverride, INSECURE_TLS, KUBELET_PORT, READ_ONLY_PORT, Variable, VariableForm,
};
use mackerel::names::{API_KEY, PLATFORM};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A setting that an annotation overrides, or that a variable of the agent holds.
#[derive(Debug)]
pub struct Setting {
    /// The dotted path below `spec`.
    pub path: &'static str,
    /// The annotation that overrides it.
    pub annotation: Option<Annotation>,
    /// The agent's variable that it gives.
    pub variable: Option<Variable>,
    get: fn(&Spec) -> Option<String>,
    set: fn(&mut Spec, &str) -> Result<(), Violation>,
}

impl Setting {
    const fn annotated(mut self, annotation: Annotation) -> Self {
        self.annotation = Some(annotation);
        self
    }

    const fn variable(mut self, name: &'static str, form: VariableForm) -> Self {
        self.variable = Some(Variable {
            name,
            form,
            env_override: EnvOverride::IfUnset,
        });
        self
    }

    /// A variable that `agent.env` must not have.
    const fn own_variable(mut self, name: &'static str) -> Self {
        self.variable = Some(Variable {
            name,
            form: VariableForm::Connection,
            env_override: EnvOverride::Forbidden,
        });
        self
    }

    /// Returns its value as text; none if it is unset.
    pub fn get(&self, spec: &Spec) -> Option<String> {
        (self.get)(spec)
    }

    /// Sets it to the value of a text.
    pub fn set(&self, spec: &mut Spec, text: &str) -> Result<(), Violation> {
        (self.set)(spec, text)
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

/// Returns a row about the field of this path.
macro_rules! row {
    ($path:literal, $($field:ident).+) => {
        Setting {
            path: $path,
            annotation: None,
            variable: None,
            get: |spec| shown(&spec.$($field).+),
            set: |spec, text| set(&mut spec.$($field).+, text),
        }
    };
}

/// Returns a row about an amount of `agent.resources`.
macro_rules! amount {
    ($list:ident, $resource:literal) => {
        Setting {
            path: concat!("agent.resources.", stringify!($list), ".", $resource),
            annotation: None,
            variable: None,
            get: |_| None,
            set: |spec, text| set_amount(&mut spec.agent.resources.$list, $resource, text),
        }
    };
}

/// Every row.
pub static SETTINGS: &[Setting] = &[
    row!("sidecar", sidecar).annotated(Annotation::Sidecar),
    row!("platform", platform)
        .annotated(Annotation::Platform)
        .own_variable(PLATFORM),
    row!("kubelet.port", kubelet.port)
        .annotated(Annotation::KubeletPort)
        .variable(KUBELET_PORT, VariableForm::Connection),
    row!("kubelet.insecureTLS", kubelet.insecure_tls)
        .annotated(Annotation::KubeletInsecureTls)
        .own_variable(INSECURE_TLS),
    row!("kubelet.readOnlyPort", kubelet.read_only_port)
        .annotated(Annotation::KubeletReadOnlyPort)
        .own_variable(READ_ONLY_PORT),
    row!("apiKey", api_key.secret_key_ref.name).variable(API_KEY, VariableForm::SecretKey),
    row!("apiKey.secretKeyRef.name", api_key.secret_key_ref.name)
        .annotated(Annotation::ApiKeySecretName),
    row!("apiKey.secretKeyRef.key", api_key.secret_key_ref.key)
        .annotated(Annotation::ApiKeySecretKey),
    row!("agent.image", agent.image).annotated(Annotation::Image),
    row!("agent.apiBase", agent.api_base).variable("MACKEREL_APIBASE", VariableForm::Text),
    row!("agent.roles", agent.roles)
        .annotated(Annotation::Roles)
        .variable("MACKEREL_ROLES", VariableForm::List),
    row!("agent.displayName", agent.display_name)
        .annotated(Annotation::DisplayName)
        .variable("MACKEREL_DISPLAY_NAME", VariableForm::Text),
    row!("agent.memo", agent.memo)
        .annotated(Annotation::Memo)
        .variable("MACKEREL_MEMO", VariableForm::Text),
    Setting {
        get: |spec| spec.agent.config.variable(),
        ..row!("agent.config", agent.config.location)
    }
    .variable(AGENT_CONFIG, VariableForm::ConfigFile),
    row!("agent.config.location", agent.config.location).annotated(Annotation::AgentConfigLocation),
    row!(
        "agent.config.configMapKeyRef.name",
        agent.config.config_map_key_ref.name
    )
    .annotated(Annotation::AgentConfigMapName),
    row!(
        "agent.config.configMapKeyRef.key",
        agent.config.config_map_key_ref.key
    )
    .annotated(Annotation::AgentConfigMapKey),
    Setting {
        // Without a configuration, it would have no effect.
        get: |spec| {
            spec.agent.config.variable()?;
            shown(&spec.agent.config.polling_minutes)
        },
        ..row!("agent.config.pollingMinutes", agent.config.polling_minutes)
    }
    .variable(
        "MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES",
        VariableForm::Text,
    ),
    row!("agent.hostStatusOnStart", agent.host_status_on_start)
        .annotated(Annotation::HostStatusOnStart)
        .variable("MACKEREL_HOST_STATUS_ON_START", VariableForm::Text),
    row!("agent.hostIdStore", agent.host_id_store)
        .variable("MACKEREL_HOST_ID_STORE", VariableForm::Text),
    row!("agent.ignoreContainer", agent.ignore_container)
        .annotated(Annotation::IgnoreContainer)
        .variable("MACKEREL_IGNORE_CONTAINER", VariableForm::IgnorePattern),
    row!("agent.logLevel", agent.log_level)
        .annotated(Annotation::LogLevel)
        .variable("MACKEREL_LOG_LEVEL", VariableForm::Text),
    amount!(requests, "cpu").annotated(Annotation::CpuRequest),
    amount!(limits, "cpu").annotated(Annotation::CpuLimit),
    amount!(requests, "memory").annotated(Annotation::MemoryRequest),
    amount!(limits, "memory").annotated(Annotation::MemoryLimit),
];

/// Sets a setting to the value that a text means for its type. Empty text unsets an optional one.
fn set<T: DeserializeOwned>(setting: &mut T, text: &str) -> Result<(), Violation> {
    let node = Node::from(Value::of_text(text, type_at::<T>(&[]).unwrap_or_default()));
    *setting = T::deserialize(&node).map_err(|error| match error.kind {
        ErrorKind::Refused(refusal) => violation(refusal, "", &node.value, text),
        _ => Violation::new("cannot be set by text"),
    })?;
    Ok(())
}

/// Returns a setting as text; none if it is unset or empty. Items of a list are separated by commas.
fn shown<T: Serialize>(setting: &T) -> Option<String> {
    match serde_json::to_value(setting).ok()? {
        Json::Null => None,
        Json::String(text) => Some(text).filter(|text| !text.is_empty()),
        Json::Array(items) if items.is_empty() => None,
        Json::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
            Some(items.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// Sets an amount of requests or limits; `null` removes it.
fn set_amount(
    amounts: &mut Option<BTreeMap<String, Quantity>>,
    resource: &str,
    text: &str,
) -> Result<(), Violation> {
    if text == "null" {
        let mut kept = amounts.take().unwrap_or_default();
        kept.remove(resource);
        *amounts = Some(kept).filter(|kept| !kept.is_empty());
        return Ok(());
    }
    kubernetes::quantity(text)?;
    amounts
        .get_or_insert_default()
        .insert(resource.to_owned(), Quantity(text.to_owned()));
    Ok(())
}

impl Setting {
    /// Returns the setting that gives the agent's variable of this name.
    pub fn of_variable(name: &str) -> Option<(&'static Setting, Variable)> {
        Self::with_variables().find(|(_, variable)| variable.name == name)
    }

    /// Returns each setting that gives the agent a variable, with that variable.
    pub fn with_variables() -> impl Iterator<Item = (&'static Setting, Variable)> {
        SETTINGS
            .iter()
            .filter_map(|setting| Some((setting, setting.variable?)))
    }

    /// Returns the row of an annotation.
    pub(crate) fn of_annotation(annotation: Annotation) -> Option<&'static Setting> {
        SETTINGS
            .iter()
            .find(|setting| setting.annotation == Some(annotation))
    }

    /// Returns the setting that an annotation overrides, as a dotted path below `spec`.
    pub fn path_of(annotation: Annotation) -> Option<&'static str> {
        match annotation {
            Annotation::Env => Some("agent.env"),
            other => Self::of_annotation(other).map(|setting| setting.path),
        }
    }
}
