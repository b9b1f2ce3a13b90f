//! The MutatingAdmissionPolicy. It has one mutation: under `failurePolicy: Ignore`, a second one that fails would leave the first in
//! place.

use crate::agent::{RenderedAgents, Switch};
use crate::cel::{self, Named};
use crate::conditions::{requested, scope};
use crate::error::PolicyError;
use crate::guards::Guard;
use crate::manifest::{BoundPolicy, expression};
use config::Config;
use mackerel::annotations::Annotation;
use mackerel::names::INJECTED;
use serde_json::{Value, json};
use yaml_json_patch::pointer::escape;

/// Returns the policy.
pub(super) fn policy(
    config: &Config,
    guards: &[Guard],
    mut variables: Vec<Named>,
    switches: Vec<Switch>,
    agents: &RenderedAgents,
) -> Result<BoundPolicy, PolicyError> {
    // The API server evaluates all match conditions of a pod, but of a conjunction only what it must.
    let mut injects = "!variables.isForWindows && !variables.hasAgent".to_owned();
    for guard in guards.iter().rev() {
        injects = format!("variables.{} && {injects}", guard.condition.name);
    }
    variables.push(Named::new("injects", injects));
    variables.extend(switches.into_iter().map(|switch| switch.variable));
    variables.extend(parts(agents));
    let operations = format!("variables.injects ? {}\n: []", operations());
    Ok(BoundPolicy {
        kind: "MutatingAdmissionPolicy",
        component: "inject",
        suffix: "",
        failure_policy: "Ignore",
        match_conditions: scope(config, requested(config)),
        variables,
        fields: json!({
            "reinvocationPolicy": "Never",
            "mutations": [{
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": expression("mutation", &operations)?},
            }],
        }),
        binding_fields: Value::Null,
    })
}

/// Returns the variables of what the pod gets, each behind those that it names.
fn parts(agents: &RenderedAgents) -> [Named; 5] {
    [
        Named::new("native", agents.is_native()),
        Named::new("container", agents.expression("container")),
        Named::new("volumes", agents.expression("volumes")),
        Named::new("created", CREATED),
        Named::new("record", record(agents)),
    ]
}

/// The names of the parents that the pod lacks, as the record has them.
const CREATED: &str = r#"(has(object.metadata.annotations) ? [] : ['"annotations"'])
+ (variables.native && !has(object.spec.initContainers) ? ['"initContainers"'] : [])
+ (has(object.spec.volumes) || size(variables.volumes) == 0 ? [] : ['"volumes"'])"#;

/// Returns the record. The agent's part is rendered; the pod decides the rest.
fn record(agents: &RenderedAgents) -> String {
    let agent = agents.expression("record");
    let status = cel::string(Annotation::Status.key());
    format!(
        r#"{agent}
+ ({status} in variables.annotations ? ',"status":"kept"' : '')
+ (size(variables.created) == 0 ? '' : ',"created":[' + variables.created.join(',') + ']') + '}}'"#
    )
}

/// Returns the operations.
fn operations() -> String {
    let [status, record] = [Annotation::Status, Annotation::Record].map(Annotation::key);
    let [status_path, record_path] =
        [status, record].map(|key| format!("/metadata/annotations/{}", escape(key)));
    format!(
        "(has(object.metadata.annotations) ? [] : [JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{}}}}])
+ ('{status}' in variables.annotations ? [] : [JSONPatch{{op: 'add', path: '{status_path}', value: '{INJECTED}'}}])
+ [JSONPatch{{op: 'add', path: '{record_path}', value: variables.record}}]
+ (!variables.native ? [JSONPatch{{op: 'add', path: '/spec/containers/-', value: variables.container}}]
  : has(object.spec.initContainers) ? [JSONPatch{{op: 'add', path: '/spec/initContainers/-', value: variables.container}}]
  : [JSONPatch{{op: 'add', path: '/spec/initContainers', value: [variables.container]}}])
+ (has(object.spec.volumes) || size(variables.volumes) == 0 ? [] : [JSONPatch{{op: 'add', path: '/spec/volumes', value: []}}])
+ variables.volumes.map(v, JSONPatch{{op: 'add', path: '/spec/volumes/-', value: v}})"
    )
}
