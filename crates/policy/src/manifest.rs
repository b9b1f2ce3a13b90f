//! The manifests of the policies.

use crate::cel::{self, Named};
use crate::error::{MAX_EXPRESSION, PolicyError};
use config::{Config, LabelSelector, Platform, SYSTEM_NAMESPACES, without_empty};
use manifest::document;
use serde_json::{Value, json};

/// The request for the policies of one configuration.
#[derive(Debug, Clone)]
pub struct PolicyRequest {
    /// The name of the policies and their bindings.
    pub name: String,
    /// Further conditions on the labels of namespaces.
    pub namespace_selector: LabelSelector,
    /// Further conditions on the labels of pods.
    pub object_selector: LabelSelector,
}

/// A policy and its binding.
#[derive(Debug, Clone)]
pub(super) struct BoundPolicy {
    /// `MutatingAdmissionPolicy` or `ValidatingAdmissionPolicy`
    pub(super) kind: &'static str,
    /// Its role, as a label.
    pub(super) component: &'static str,
    /// The end of its name, for a second policy of its kind.
    pub(super) suffix: &'static str,
    pub(super) failure_policy: &'static str,
    pub(super) match_conditions: Vec<Named>,
    pub(super) variables: Vec<Named>,
    /// The fields of its kind.
    pub(super) fields: Value,
    /// The fields of its binding's kind.
    pub(super) binding_fields: Value,
}

const HEAD: &str = "\
# The Mackerel container agent for pods, added by the API server itself. Printed by `mackerel-agent-injector policy`: do not
# edit it, change the configuration and print it again. Try it before a roll-out: `kubectl run --dry-run=server -o yaml …`
";

const FARGATE: &str = "\
# It runs before the webhook of EKS, and does not see which pods are for Fargate: leave their namespaces out by `--namespace-selector`.
";

/// Returns the policies with their bindings as a stream of YAML, below the settings that they are made of.
pub(super) fn stream(
    config: &Config,
    policies: Vec<BoundPolicy>,
    request: &PolicyRequest,
) -> Result<String, PolicyError> {
    let mut text = HEAD.to_owned();
    if config.spec.platform == Platform::Auto {
        text += FARGATE;
    }
    for (path, _) in config.explicit() {
        let value: String = config
            .value(path)
            .unwrap_or_default()
            .to_string()
            .chars()
            .map(cel::printable)
            .collect();
        text += &format!("#   {path}: {value}\n");
    }
    for policy in policies {
        for object in policy.objects(config, request)? {
            text += &format!("---\n{}", document(&object));
        }
    }
    Ok(text)
}

impl BoundPolicy {
    fn objects(self, config: &Config, request: &PolicyRequest) -> Result<[Value; 2], PolicyError> {
        const API_VERSION: &str = "admissionregistration.k8s.io/v1";
        let name = format!("{}{}", request.name, self.suffix);
        let metadata = json!({"name": name, "labels": {
            "app.kubernetes.io/part-of": "mackerel-agent-injector",
            "app.kubernetes.io/instance": request.name,
            "app.kubernetes.io/component": self.component,
        }});
        let mut policy = json!({
            "apiVersion": API_VERSION,
            "kind": self.kind,
            "metadata": metadata,
            "spec": {
                "failurePolicy": self.failure_policy,
                "matchConstraints": constraints(config),
                "matchConditions": named(&self.match_conditions)?,
                "variables": named(&self.variables)?,
            },
        });
        extend(&mut policy["spec"], self.fields);
        let selectors = without_empty(json!({
            "namespaceSelector": request.namespace_selector,
            "objectSelector": request.object_selector,
        }));
        let mut binding = json!({
            "apiVersion": API_VERSION,
            "kind": format!("{}Binding", self.kind),
            "metadata": metadata,
            "spec": {"policyName": name},
        });
        extend(&mut binding["spec"], self.binding_fields);
        if selectors != json!({}) {
            binding["spec"]["matchResources"] = selectors;
        }
        Ok([policy, binding])
    }
}

/// Returns the pods that the policy is about: not those of Kubernetes itself, and not the webhook's own server, which must start
/// without an agent.
fn constraints(config: &Config) -> Value {
    let not_in = |key: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": "NotIn", "values": values}]});
    let mut constraints = json!({
        "resourceRules": [{
            "operations": ["CREATE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["pods"],
            "scope": "Namespaced",
        }],
        "objectSelector": not_in("app.kubernetes.io/name", &["mackerel-agent-injector"]),
    });
    if !config.spec.select.system_namespaces {
        constraints["namespaceSelector"] =
            not_in("kubernetes.io/metadata.name", &SYSTEM_NAMESPACES);
    }
    constraints
}

/// Returns an expression as the policy has it.
///
/// # Errors
/// If the API server would refuse it.
pub(super) fn expression(name: &str, text: &str) -> Result<String, PolicyError> {
    let length = text.chars().count();
    if length > MAX_EXPRESSION {
        let name = name.to_owned();
        return Err(PolicyError::TooLong { name, length });
    }
    Ok(text.to_owned())
}

fn named(conditions: &[Named]) -> Result<Value, PolicyError> {
    let mut items = Vec::new();
    for Named { name, expression } in conditions {
        let expression = self::expression(name, expression)?;
        items.push(json!({"name": name, "expression": expression}));
    }
    Ok(items.into())
}

fn extend(object: &mut Value, fields: Value) {
    if let (Value::Object(object), Value::Object(fields)) = (object, fields) {
        object.extend(fields);
    }
}
