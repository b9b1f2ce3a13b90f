//! The agent's container and volumes, made from the configuration and the pod's properties.

use crate::agent::canonical::Digest;
use crate::agent::component::Component;
use crate::agent::component_kind::ComponentKind;
use crate::agent::environment::environment;
use crate::agent::field_order::{arrange, ordered};
use crate::agent::kubelet_access::KubeletAccess;
use crate::agent::prerequisites::{Prerequisites, env_from_item};
use crate::agent::shape::{AgentResources, AgentShape, Token};
use config::{Config, amount_path, without_empty};
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use mackerel::names::{CONTAINER, Sidecar, Volume};
use manifest::dotted_path::{field, field_mut};
use manifest::{ContainerList, qos};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Agents that are kept. The pods' volumes give a stream more shapes only if `agent.volumeMounts` names many.
const CAPACITY: usize = 64;

/// The agents that were made of one configuration, for reuse: most templates of a stream get the same one.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    made: RefCell<Vec<(AgentShape, Arc<Component>)>>,
}

impl Agents {
    /// Returns the agent of this shape. `config` is borrowed if the template's annotations change nothing.
    pub fn agent(&self, config: Cow<'_, Config>, shape: AgentShape) -> Arc<Component> {
        if let Cow::Owned(config) = config {
            let mut agent = agent(&config, &shape);
            agent.annotated = Some(Arc::new(config));
            return Arc::new(agent);
        }
        let mut made = self.made.borrow_mut();
        if let Some((_, agent)) = made.iter().find(|(known, _)| *known == shape) {
            return Arc::clone(agent);
        }
        let agent = Arc::new(agent(&config, &shape));
        if made.len() < CAPACITY {
            made.push((shape, Arc::clone(&agent)));
        }
        agent
    }
}

/// Makes the agent of one shape. Annotations are already in `config`.
fn agent(config: &Config, shape: &AgentShape) -> Component {
    let mut config = Cow::Borrowed(config);
    if config.spec.agent.roles != shape.roles {
        config.to_mut().spec.agent.roles.clone_from(&shape.roles);
    }
    let config = &*config;
    let volumes = volumes(config, shape.token);
    let container = container(config, shape, &volumes);
    let list = match shape.sidecar {
        Sidecar::Container => ContainerList::Containers,
        Sidecar::Native => ContainerList::InitContainers,
    };
    let values: Vec<&Value> = volumes.iter().map(|(_, value)| value).collect();
    let pull_secrets = &shape.pull_secrets;
    let plan = if pull_secrets.is_empty() {
        Digest::of_json(&(list, &container, values))
    } else {
        Digest::of_json(&(list, &container, values, pull_secrets))
    };
    let mut agent = Component::new(ComponentKind::Agent, list, container, volumes, plan);
    agent.pull_secrets.clone_from(&shape.pull_secrets);
    agent.shape = Some(shape.clone());
    agent.access = Some(KubeletAccess::of(&config.spec));
    agent.needs = Arc::new(prerequisites(config, &agent));
    agent
}

fn prerequisites(config: &Config, agent: &Component) -> Prerequisites {
    let settings = &config.spec.agent;
    let mut optional = Vec::new();
    let mut mark = |of: String, given: Value| {
        if references(&given).any(|reference| reference["optional"] == true) {
            optional.push(of);
        }
    };
    for variable in &settings.env {
        mark(variable.name.clone(), json!(variable));
    }
    for (index, item) in settings.env_from.iter().enumerate() {
        mark(env_from_item(index), json!(item));
    }
    for volume in &settings.volumes {
        mark(volume.name.clone(), json!(volume));
    }
    Prerequisites::of(&agent.container, &agent.volume_list, optional)
}

/// The references to objects that may be optional, as dotted paths.
const REFERENCES: [&str; 7] = [
    "valueFrom.secretKeyRef",
    "valueFrom.configMapKeyRef",
    "secretRef",
    "configMapRef",
    "secret",
    "configMap",
    "clusterTrustBundle",
];

/// Returns the references of a variable, an item of `envFrom` or a volume.
fn references(item: &Value) -> impl Iterator<Item = &Value> {
    item["projected"]["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .chain([item])
        .flat_map(|item| REFERENCES.iter().filter_map(|path| field(item, path)))
}

/// Makes references optional, unless the user says `optional: false`: if the object does not exist, the whole pod does not start;
/// without it at most the agent fails.
fn make_optional(item: &mut Value) {
    if let Some(Value::Array(sources)) = field_mut(item, "projected.sources") {
        sources.iter_mut().for_each(make_optional);
    }
    for path in REFERENCES {
        if let Some(Value::Object(reference)) = field_mut(item, path) {
            reference.entry("optional").or_insert(true.into());
        }
    }
}

fn container(config: &Config, shape: &AgentShape, volumes: &[(Volume, Value)]) -> Value {
    let agent = &config.spec.agent;
    let mut mounts: Vec<Value> = volumes
        .iter()
        .filter_map(|(volume, _)| mount(volume))
        .collect();
    for mount in &agent.volume_mounts {
        if agent.has_volume(&mount.name) {
            let name = mount.name.clone();
            let mut mount = json!(mount);
            mount["name"] = json!(Volume::Configured(name).name());
            mounts.push(mount);
        }
    }
    mounts.extend(shape.volume_mounts.iter().map(|mount| json!(mount)));
    let is_native = shape.sidecar == Sidecar::Native;
    let mut container = json!({
        "name": CONTAINER,
        "image": agent.image,
        "command": agent.command,
        "args": agent.args,
        "imagePullPolicy": agent.image_pull_policy,
        "restartPolicy": is_native.then_some("Always"),
        "envFrom": agent.env_from,
        "env": null,
        "startupProbe": agent.startup_probe,
        "readinessProbe": agent.readiness_probe,
        "livenessProbe": agent.liveness_probe,
        "lifecycle": agent.lifecycle,
        "resources": resources(config, shape.amounts),
        "securityContext": agent.security_context,
        "volumeMounts": null,
    });
    // Within `json!` they would be copied.
    container["env"] = environment(config).into();
    container["volumeMounts"] = mounts.into();
    if is_native {
        for list in ["env", "envFrom"] {
            if let Some(items) = container[list].as_array_mut() {
                items.iter_mut().for_each(make_optional);
            }
        }
    }
    if let Value::Object(fields) = &mut container {
        fields.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        });
    }
    ordered(container)
}

fn resources(config: &Config, amounts: AgentResources) -> Option<ResourceRequirements> {
    let mut resources = config.spec.agent.resources.clone();
    if amounts == AgentResources::Guaranteed {
        resources = qos::guaranteed(resources);
    }
    if amounts == AgentResources::Annotated {
        let keep = |list: &mut Option<BTreeMap<String, Quantity>>, field: &str| {
            let mut kept = list.take().unwrap_or_default();
            kept.retain(|name, _| config.is_annotated(&amount_path(field, name)));
            *list = Some(kept).filter(|kept| !kept.is_empty());
        };
        keep(&mut resources.requests, "requests");
        keep(&mut resources.limits, "limits");
    }
    (resources != ResourceRequirements::default()).then_some(resources)
}

fn mount(volume: &Volume) -> Option<Value> {
    let mut mount = json!({"name": volume.name(), "mountPath": volume.folder()?});
    if *volume != Volume::Tmp {
        mount["readOnly"] = json!(true);
    }
    Some(mount)
}

fn volumes(config: &Config, token: Token) -> Vec<(Volume, Value)> {
    let settings = &config.spec.agent;
    let mut volumes = Vec::new();
    let mut push = |volume: Volume, kind: &str, source: Value| {
        let mut value = json!({"name": volume.name()});
        value[kind] = source;
        volumes.push((volume, value));
    };
    if let Some(tmp) = &settings.tmp {
        push(Volume::Tmp, "emptyDir", without_empty(json!(tmp)));
    }
    if token == Token::Projected {
        let seconds = settings.token.expiration_seconds.0;
        push(Volume::Token, "projected", token_source(seconds));
    }
    if let Some(name) = &settings.config.config_map_key_ref.name {
        // A missing ConfigMap must not keep the pod from starting.
        let source = json!({"name": name, "optional": true});
        push(Volume::Config, "configMap", source);
    }
    for volume in &settings.volumes {
        let mut value = json!(volume);
        let volume = Volume::Configured(volume.name.clone());
        value["name"] = json!(volume.name());
        // kustomize sorts the members of a function's configuration, and other front ends do not.
        value.sort_all_objects();
        make_optional(&mut value);
        volumes.push((volume, arrange(value, &[("", &["name"])])));
    }
    // A record has them in this order.
    volumes.sort_by(|(one, _), (other, _)| one.cmp(other));
    volumes
}

/// Returns the volume source that the ServiceAccount admission plugin would mount. The agent reads its token once. API servers
/// extend the default lifetime of 3607 seconds to a year for such clients, unless `--service-account-extend-token-expiration` is
/// off, as on AKS with the OIDC issuer.
fn token_source(expiration_seconds: u32) -> Value {
    json!({"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": expiration_seconds}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]})
}
