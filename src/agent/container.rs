//! The agent's container and volumes, made from the configuration and the pod's properties.

use crate::agent::component::Component;
use crate::agent::component_kind::ComponentKind;
use crate::agent::field_order::ordered;
use crate::agent::kubelet_access::KubeletAccess;
use crate::agent::prerequisites::{Permission, Prerequisites, ShadowedSetting};
use crate::config::{
    AgentSettings, CONFIG_FOLDER, Config, Kubelet, KubeletConnection, SettingRow, variables,
};
use crate::mackerel::env::{KUBELET_HOST, NODE_NAME, Variable, VariableForm};
use crate::mackerel::names::{API_KEY, CONTAINER, PLATFORM, Sidecar, Volume};
use crate::manifest::pod_template::ContainerList;
use crate::manifest::qos;
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceRequirements, SecretKeySelector,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The folder where Kubernetes mounts the ServiceAccount's token, and where the agent reads it.
const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The one writable folder.
pub(crate) const TMP_FOLDER: &str = "/var/tmp";

/// The agents that were made of one configuration, for reuse: most templates of a stream get the same one.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    made: RefCell<Vec<(AgentShape, Rc<Component>)>>,
}

/// The pod's properties that an agent depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentShape {
    pub(crate) sidecar: Sidecar,
    pub(crate) token: Token,
    pub(crate) amounts: AgentResources,
    pub(crate) pull_secrets: Vec<String>,
}

/// The source of the token that the agent shows to the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The ServiceAccount admission plugin, which mounts it into every container; or none is needed.
    Mounted,
    /// An injected volume, because the pod turns that off or the configuration asks for one.
    Projected,
}

/// The agent's requests and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentResources {
    /// The configured ones.
    Configured,
    /// Only explicit ones, no defaults: the pod has resources of its own for all containers.
    Explicit,
    /// Requests raised to the limits, so that the pod stays Guaranteed.
    Guaranteed,
}

impl Agents {
    /// Returns the agent of this shape. `config` is borrowed if the template's annotations change nothing.
    pub(crate) fn agent(&self, config: Cow<'_, Config>, shape: AgentShape) -> Rc<Component> {
        if let Cow::Owned(config) = config {
            let mut agent = agent(&config, &shape);
            agent.annotated = Some(Rc::new(config));
            return Rc::new(agent);
        }
        let mut made = self.made.borrow_mut();
        if let Some((_, agent)) = made.iter().find(|(known, _)| *known == shape) {
            return Rc::clone(agent);
        }
        let agent = Rc::new(agent(&config, &shape));
        made.push((shape, Rc::clone(&agent)));
        agent
    }
}

/// Makes the agent of one shape. Annotations are already in `config`.
fn agent(config: &Config, shape: &AgentShape) -> Component {
    let volumes = volumes(config, shape.token);
    let container = container(config, shape, &volumes);
    // Serialising typed Kubernetes values cannot fail: their maps have string keys.
    let container = ordered(serde_json::to_value(container).unwrap_or_default());
    let list = match shape.sidecar {
        Sidecar::Container => ContainerList::Containers,
        Sidecar::Native => ContainerList::InitContainers,
    };
    let values: Vec<&Value> = volumes.iter().map(|(_, value)| value).collect();
    let mut plan = vec![json!(list), container.clone(), json!(values)];
    if !shape.pull_secrets.is_empty() {
        plan.push(json!(shape.pull_secrets));
    }
    let plan = Value::Array(plan);
    let mut agent = Component::new(ComponentKind::Agent, list, container, volumes, &plan);
    agent.pull_secrets.clone_from(&shape.pull_secrets);
    agent.access = Some(KubeletAccess::of(&config.spec));
    agent.needs = Rc::new(prerequisites(config, shape, &agent));
    agent
}

fn prerequisites(config: &Config, shape: &AgentShape, agent: &Component) -> Prerequisites {
    let variables = config.spec.agent.env.iter();
    let optional = variables.filter(|variable| is_optional(variable));
    let optional = optional.map(|variable| variable.name.clone()).collect();
    let mut needs = Prerequisites::of(&agent.container, &agent.volume_list, optional);
    if shape.amounts == AgentResources::Explicit {
        // A quota counts the pod's own resources.
        needs.without = Vec::new();
    }
    needs.shadowed = shadowed(config);
    if agent.access != Some(KubeletAccess::ReadOnlyPort) && !config.spec.rbac.generate {
        needs.permission = Permission::Manual;
    }
    needs
}

/// Returns the explicit settings and variables that the agent's configuration file may override.
fn shadowed(config: &Config) -> Vec<ShadowedSetting> {
    let in_env = |name: &str| {
        config
            .spec
            .agent
            .env
            .iter()
            .any(|variable| variable.name == name)
    };
    let shadowed = |(setting, variable): (&'static SettingRow, Variable)| {
        let in_file = setting.file?;
        let setting = if in_env(variable.name) {
            AgentSettings::env()
        } else if config.is_explicit(setting.path) {
            setting
        } else {
            return None;
        };
        Some(ShadowedSetting { in_file, setting })
    };
    variables().filter_map(shadowed).collect()
}

/// True for a variable whose reference the user has marked `optional`.
fn is_optional(variable: &EnvVar) -> bool {
    let Some(from) = &variable.value_from else {
        return false;
    };
    let secret = from
        .secret_key_ref
        .as_ref()
        .and_then(|reference| reference.optional);
    let config_map = from
        .config_map_key_ref
        .as_ref()
        .and_then(|reference| reference.optional);
    secret.or(config_map) == Some(true)
}

fn container(config: &Config, shape: &AgentShape, volumes: &[(Volume, Value)]) -> Container {
    let agent = &config.spec.agent;
    let sidecar = shape.sidecar;
    Container {
        name: CONTAINER.to_owned(),
        image: Some(agent.image.clone()),
        image_pull_policy: Some(agent.image_pull_policy.to_string()),
        restart_policy: (sidecar == Sidecar::Native).then(|| "Always".to_owned()),
        env: Some(environment(config, sidecar)),
        resources: resources(config, shape.amounts),
        security_context: Some(agent.security_context.0.clone())
            .filter(|context| *context != Default::default()),
        volume_mounts: Some(volumes.iter().map(|(volume, _)| mount(*volume)).collect()),
        ..Container::default()
    }
}

/// Returns the variables in the order of the agent's documentation. Those of `agent.env` come last, or replace one of the same name.
fn environment(config: &Config, sidecar: Sidecar) -> Vec<EnvVar> {
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
        field("MACKEREL_KUBERNETES_NAMESPACE", "metadata.namespace"),
        field("MACKEREL_KUBERNETES_POD_NAME", "metadata.name"),
    ];
    match access {
        KubeletConnection::ApiServer => {}
        KubeletConnection::ReadOnly { port } => {
            env.push(plain(
                Kubelet::read_only_port().variable_name(),
                port.to_string(),
            ));
        }
        KubeletConnection::Tls { port, insecure } => {
            // "0" makes the agent use the TLS port.
            env.push(plain(Kubelet::read_only_port().variable_name(), "0"));
            if port != 10250 {
                env.push(plain(Kubelet::port().variable_name(), port.to_string()));
            }
            // Any value, "false" too, turns verification off.
            if insecure {
                env.push(plain(Kubelet::insecure_tls().variable_name(), "true"));
            }
        }
    }
    env.push(api_key(config, sidecar));
    push_settings(AgentSettings::ROWS, config, &mut env);
    env.push(plain("TMPDIR", TMP_FOLDER));
    for variable in &spec.agent.env {
        let variable = EnvVar {
            value_from: variable
                .value_from
                .clone()
                .map(|from| with_optional_references(from, sidecar)),
            ..variable.clone()
        };
        match env
            .iter_mut()
            .find(|existing| existing.name == variable.name)
        {
            Some(existing) => *existing = variable,
            None => env.push(variable),
        }
    }
    env
}

/// Adds the variables of settings. Unset ones are left out: the agent has its own defaults. Without a variable of a group, those
/// below it would have no effect.
fn push_settings(rows: &[&'static SettingRow], config: &Config, env: &mut Vec<EnvVar>) {
    for row in rows {
        if let Some(variable) = row.variable {
            let Some(value) = value(row, variable.form, config) else {
                continue;
            };
            env.push(plain(variable.name, value));
        }
        push_settings(row.members(), config, env);
    }
}

/// Returns the value of a setting's variable; none if the setting is unset.
fn value(setting: &SettingRow, form: VariableForm, config: &Config) -> Option<String> {
    match form {
        VariableForm::Text => match config.get(setting) {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        },
        VariableForm::List => {
            let items = config.get(setting);
            let items: Vec<&str> = items.as_array()?.iter().filter_map(Value::as_str).collect();
            (!items.is_empty()).then(|| items.join(","))
        }
        VariableForm::IgnorePattern => Some(ignored(config.get(setting).as_str())),
        VariableForm::ConfigFile => config.spec.agent.config.variable().map(Cow::into_owned),
        // They are no settings of `agent`.
        VariableForm::SecretKey | VariableForm::Connection => None,
    }
}

/// Returns a pattern for the agent's own container and those of the user's pattern. After the last `|` any pattern keeps its
/// meaning: flags, alternatives, a `\Q` without its end.
fn ignored(pattern: Option<&str>) -> String {
    let own = format!("^{CONTAINER}$");
    let Some(pattern) = pattern else { return own };
    let mut out = own + "|";
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        out.push(character);
        // The kubelet expands `$(A)` to the variable A, and `$$` to `$`.
        if character == '$' && matches!(rest.peek(), Some('$' | '(')) {
            out.push('$');
        }
    }
    out
}

/// Makes references of a native sidecar optional, unless the user says `optional: false`: if it cannot be created, the whole pod
/// does not start; without the variable at most the agent fails.
fn with_optional_references(mut from: EnvVarSource, sidecar: Sidecar) -> EnvVarSource {
    if sidecar == Sidecar::Native {
        let references = [
            from.secret_key_ref
                .as_mut()
                .map(|reference| &mut reference.optional),
            from.config_map_key_ref
                .as_mut()
                .map(|reference| &mut reference.optional),
        ];
        references
            .into_iter()
            .flatten()
            .for_each(|optional| *optional = optional.or(Some(true)));
    }
    from
}

fn plain(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.into()),
        value_from: None,
    }
}

fn field(name: &str, path: &str) -> EnvVar {
    let selector = ObjectFieldSelector {
        api_version: None,
        field_path: path.to_owned(),
    };
    let source = EnvVarSource {
        field_ref: Some(selector),
        ..EnvVarSource::default()
    };
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(source),
    }
}

fn api_key(config: &Config, sidecar: Sidecar) -> EnvVar {
    let selector = SecretKeySelector {
        name: config.spec.api_key.secret_key_ref.name.clone(),
        key: config.spec.api_key.secret_key_ref.key.clone(),
        // As in `with_optional_references`.
        optional: (sidecar == Sidecar::Native).then_some(true),
    };
    let source = EnvVarSource {
        secret_key_ref: Some(selector),
        ..EnvVarSource::default()
    };
    EnvVar {
        name: API_KEY.to_owned(),
        value: None,
        value_from: Some(source),
    }
}

fn resources(config: &Config, amounts: AgentResources) -> Option<ResourceRequirements> {
    let mut resources = config.spec.agent.resources.0.clone();
    if amounts == AgentResources::Guaranteed {
        resources = qos::guaranteed(resources);
    }
    if amounts == AgentResources::Explicit {
        let keep = |list: &mut Option<BTreeMap<String, Quantity>>, field: &str| {
            let mut kept = list.take().unwrap_or_default();
            kept.retain(|name, _| {
                config.is_explicit(&AgentSettings::resources().part(&[field, name]))
            });
            *list = Some(kept).filter(|kept| !kept.is_empty());
        };
        keep(&mut resources.requests, "requests");
        keep(&mut resources.limits, "limits");
    }
    (resources != ResourceRequirements::default()).then_some(resources)
}

fn mount(volume: Volume) -> VolumeMount {
    let (path, read_only) = match volume {
        Volume::Tmp => (TMP_FOLDER, None),
        Volume::Token => (TOKEN_FOLDER, Some(true)),
        Volume::Config => (CONFIG_FOLDER, Some(true)),
    };
    VolumeMount {
        name: volume.name().to_owned(),
        mount_path: path.to_owned(),
        read_only,
        ..VolumeMount::default()
    }
}

fn volumes(config: &Config, of_token: Token) -> Vec<(Volume, Value)> {
    let spec = &config.spec;
    let tmp = match &spec.agent.tmp.size_limit {
        Some(limit) => json!({"sizeLimit": limit}),
        None => json!({}),
    };
    let source = |volume: Volume| match volume {
        Volume::Tmp => Some(("emptyDir", tmp.clone())),
        Volume::Token => (of_token == Token::Projected)
            .then(|| ("projected", token(spec.agent.token.expiration_seconds))),
        // A missing ConfigMap must not keep the pod from starting.
        Volume::Config => {
            let name = spec.agent.config.config_map_key_ref.name.as_ref()?;
            Some(("configMap", json!({"name": name, "optional": true})))
        }
    };
    Volume::ALL
        .into_iter()
        .filter_map(|volume| {
            let (kind, source) = source(volume)?;
            Some((volume, json!({"name": volume.name(), kind: source})))
        })
        .collect()
}

/// Returns the volume source that the ServiceAccount admission plugin would mount. The agent reads its token once. API servers
/// extend the default lifetime of 3607 seconds to a year for such clients, unless `--service-account-extend-token-expiration` is
/// off, as on AKS with the OIDC issuer.
fn token(expiration_seconds: u32) -> Value {
    json!({"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": expiration_seconds}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]})
}
