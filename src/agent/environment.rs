//! The variables of the agent's container.

use crate::config::{AgentConfig, AgentSettings, Config, Kubelet, KubeletConnection, SettingRow};
use crate::mackerel::env::{
    KUBELET_HOST, NAMESPACE, NODE_NAME, POD_NAME, REFERABLE, TMPDIR, VariableForm,
};
use crate::mackerel::names::{API_KEY, CONTAINER, PLATFORM, Sidecar, Volume};
use crate::manifest::expansion::literal;
use serde_json::{Value, json};

/// Returns the variables. The kubelet puts the value of a variable into those behind it: so the API key and those of `agent.env`,
/// which may be secret, are behind all that annotations set.
pub(super) fn environment(config: &Config, sidecar: Sidecar) -> Vec<Value> {
    let spec = &config.spec;
    let access = spec.kubelet_connection();
    let (platform, node) = match access {
        KubeletConnection::ApiServer => ("eks_fargate", field(NODE_NAME, "spec.nodeName")),
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
    let read_only_port = Kubelet::read_only_port().variable_name();
    match access {
        KubeletConnection::ApiServer => {}
        KubeletConnection::ReadOnly { port } => env.push(plain(read_only_port, &port.to_string())),
        KubeletConnection::Tls { port, insecure } => {
            // "0" makes the agent use the TLS port.
            env.push(plain(read_only_port, "0"));
            if port != 10250 {
                env.push(plain(Kubelet::port().variable_name(), &port.to_string()));
            }
            // Any value, "false" too, turns verification off.
            if insecure {
                env.push(plain(Kubelet::insecure_tls().variable_name(), "true"));
            }
        }
    }
    push_settings(AgentSettings::ROWS, config, &mut env);
    if spec.agent.tmp.is_some() {
        env.push(plain(TMPDIR, Volume::Tmp.folder()));
    }
    let given = &spec.agent.env;
    env.retain(|own| given.iter().all(|given| own["name"] != *given.name));
    let key = &spec.api_key.secret_key_ref;
    let key = json!({"secretKeyRef": {"name": key.name, "key": key.key}});
    let mut key = json!({"name": API_KEY, "valueFrom": key});
    let mut configured = Vec::new();
    for (index, variable) in given.iter().enumerate() {
        if config.is_annotated(&AgentSettings::env().item(index)) {
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
    if sidecar == Sidecar::Native {
        env.iter_mut().for_each(make_optional);
    }
    env
}

/// Makes the reference of a native sidecar's variable optional, unless the user says `optional: false`: if it cannot be created,
/// the whole pod does not start; without the variable at most the agent fails.
fn make_optional(variable: &mut Value) {
    for kind in ["secretKeyRef", "configMapKeyRef"] {
        if let Some(Value::Object(reference)) = variable.pointer_mut(&format!("/valueFrom/{kind}"))
        {
            reference.entry("optional").or_insert(true.into());
        }
    }
}

fn plain(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Adds the variables of settings. Unset ones are left out: the agent has its own defaults. Without a variable of a group, those
/// below it would have no effect.
fn push_settings(rows: &[&'static SettingRow], config: &Config, env: &mut Vec<Value>) {
    for row in rows {
        if let Some(variable) = row.variable {
            let Some(value) = value(row, variable.form, config) else {
                continue;
            };
            env.push(plain(variable.name, &value));
        }
        push_settings(row.members(), config, env);
    }
}

/// Returns the value of a setting's variable; none if the setting is unset.
fn value(setting: &SettingRow, form: VariableForm, config: &Config) -> Option<String> {
    let text_of = |setting: &SettingRow, text: &str| match config.is_annotated(setting.path) {
        true => literal(text, &REFERABLE),
        false => text.to_owned(),
    };
    match form {
        VariableForm::Text => match config.get(setting) {
            Value::Null => None,
            Value::String(text) => Some(text_of(setting, &text)),
            other => Some(other.to_string()),
        },
        VariableForm::List => {
            let items = config.get(setting);
            let items: Vec<&str> = items.as_array()?.iter().filter_map(Value::as_str).collect();
            (!items.is_empty()).then(|| items.join(","))
        }
        VariableForm::IgnorePattern => Some(ignored(config.get(setting).as_str())),
        VariableForm::ConfigFile => {
            let file = config.spec.agent.config.variable()?;
            Some(text_of(AgentConfig::location(), &file))
        }
        // They are no settings of `agent`.
        VariableForm::SecretKey | VariableForm::Connection => None,
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
