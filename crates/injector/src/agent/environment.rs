//! The variables of the agent's container.

use crate::agent::pod_properties::{PodProperties, label_variable};
use config::{Config, KubeletConnection, Setting};
use mackerel::env::{
    INSECURE_TLS, KUBELET_HOST, KUBELET_PORT, NAMESPACE, NODE_NAME, POD_NAME, READ_ONLY_PORT,
    REFERABLE, TMPDIR, Variable, VariableForm,
};
use mackerel::names::{API_KEY, CONTAINER, FARGATE_PLATFORM, PLATFORM, TMP_FOLDER};
use manifest::expansion::literal;
use serde_json::{Value, json};

/// Returns the variables. The kubelet puts the value of a variable into those behind it: so the API key and those of `agent.env`,
/// which may be secret, are behind all that annotations set.
pub(super) fn environment(config: &Config) -> Vec<Value> {
    let spec = &config.spec;
    let access = spec.kubelet_connection();
    let (platform, node) = match access {
        KubeletConnection::ApiServer => (FARGATE_PLATFORM, field(NODE_NAME, "spec.nodeName")),
        KubeletConnection::ReadOnly { .. } | KubeletConnection::Tls { .. } => {
            ("kubernetes", field(KUBELET_HOST, "status.hostIP"))
        }
    };
    let mut env = vec![
        plain(PLATFORM, platform),
        node,
        field(NAMESPACE, "metadata.namespace"),
        field(POD_NAME, "metadata.name"),
    ];
    match access {
        KubeletConnection::ApiServer => {}
        KubeletConnection::ReadOnly { port } => env.push(plain(READ_ONLY_PORT, &port.to_string())),
        KubeletConnection::Tls { port, insecure } => {
            // "0" makes the agent use the TLS port.
            env.push(plain(READ_ONLY_PORT, "0"));
            if port != 10250 {
                env.push(plain(KUBELET_PORT, &port.to_string()));
            }
            // Any value, "false" too, turns verification off.
            if insecure {
                env.push(plain(INSECURE_TLS, "true"));
            }
        }
    }
    let mut properties = PodProperties::default();
    let mut settings = Vec::new();
    for (setting, Variable { name, form, .. }) in Setting::with_variables() {
        let value = value(setting, form, config, &mut properties);
        settings.extend(value.map(|value| plain(name, &value)));
    }
    for (index, key) in properties.labels.iter().enumerate() {
        let path = format!("metadata.labels['{key}']");
        env.push(field(&label_variable(index), &path));
    }
    env.append(&mut settings);
    if spec.agent.tmp.is_some() {
        env.push(plain(TMPDIR, TMP_FOLDER));
    }
    let given = &spec.agent.env;
    env.retain(|own| given.iter().all(|given| own["name"] != *given.name));
    let secret = &spec.api_key.secret_key_ref;
    let mut key = json!({
        "name": API_KEY,
        "valueFrom": {"secretKeyRef": {"name": secret.name, "key": secret.key}},
    });
    let mut configured = Vec::new();
    for (index, variable) in given.iter().enumerate() {
        if config.is_annotated(&format!("agent.env[{index}]")) {
            let value = variable.value.as_deref().unwrap_or_default();
            env.push(plain(&variable.name, &literal(value, &REFERABLE)));
        } else if variable.name == API_KEY {
            key = json!(variable);
        } else {
            configured.push(json!(variable));
        }
    }
    env.push(key);
    env.append(&mut configured);
    env
}

/// The settings that may refer to properties of the pod.
const WITH_PROPERTIES: [&str; 3] = ["agent.roles", "agent.displayName", "agent.memo"];

fn plain(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Returns the value of a setting's variable. An unset one is left out: the agent has its own defaults.
fn value(
    setting: &Setting,
    form: VariableForm,
    config: &Config,
    properties: &mut PodProperties,
) -> Option<String> {
    let mut text = setting.get(&config.spec);
    if WITH_PROPERTIES.contains(&setting.path) {
        text = text.map(|text| properties.resolve(&text));
    }
    let annotated = match form {
        VariableForm::ConfigFile => "agent.config.location",
        _ => setting.path,
    };
    match form {
        VariableForm::IgnorePattern => Some(ignored(text.as_deref())),
        // They are no settings of `agent`.
        VariableForm::SecretKey | VariableForm::Connection => None,
        _ if config.is_annotated(annotated) => {
            let labels: Vec<String> = (0..properties.labels.len()).map(label_variable).collect();
            let mut kept = REFERABLE.to_vec();
            kept.extend(labels.iter().map(String::as_str));
            Some(literal(&text?, &kept))
        }
        _ => text,
    }
}

/// Returns a pattern for the agent's own container and those of the user's pattern. After the last `|` any pattern keeps its
/// meaning: flags, alternatives, a `\Q` without its end.
fn ignored(pattern: Option<&str>) -> String {
    let own = format!("^{CONTAINER}$");
    match pattern {
        Some(pattern) => format!("{own}|{}", literal(pattern, &[])),
        None => own,
    }
}
