//! The MutatingAdmissionPolicy. It has one mutation: under `failurePolicy: Ignore`, a second one that fails would leave the first in
//! place.

use crate::agent::record::Parent;
use crate::config::Config;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::INJECTED;
use crate::policy::agent::{RenderedAgents, Switch};
use crate::policy::annotations;
use crate::policy::cel::{self, Named};
use crate::policy::conditions::{ANNOTATIONS, has_agent, requested, scope};
use crate::policy::error::PolicyError;
use crate::policy::guards::guards;
use crate::policy::manifest::{BoundPolicy, expression};
use serde_json::{Value, json};
use yaml_json_patch::pointer::escape;

/// Returns the policy.
pub(super) fn policy(
    config: &Config,
    switches: Vec<Switch>,
    agents: &RenderedAgents,
) -> Result<BoundPolicy, PolicyError> {
    let mut match_conditions = scope(config, requested(config));
    match_conditions.push(Named::new("hasNoAgent", format!("!{}", has_agent())));
    let guards = guards(config, agents).into_iter();
    match_conditions.extend(guards.map(|guard| guard.condition));
    let mutation = expression("mutation", &operations(agents))?;
    Ok(BoundPolicy {
        kind: "MutatingAdmissionPolicy",
        suffix: "",
        failure_policy: "Ignore",
        match_conditions,
        variables: variables(switches, agents),
        fields: json!({
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": mutation}}],
        }),
        binding_fields: Value::Null,
    })
}

/// Returns the variables, each behind those that it names.
fn variables(switches: Vec<Switch>, agents: &RenderedAgents) -> Vec<Named> {
    let mut variables = vec![Named::new("annotations", ANNOTATIONS)];
    variables.extend(switches.into_iter().map(|switch| switch.variable));
    let mut keys = Vec::new();
    for row in &agents.rows {
        variables.push(row.value());
        keys.extend(annotations::keys(row.annotation));
    }
    let overridden = format!(
        "{}.exists(k, k in variables.annotations)",
        cel::strings(&keys)
    );
    variables.extend([
        Named::new("overridden", overridden),
        Named::new("native", agents.is_native()),
        Named::new("container", agents.expression("container")),
        Named::new("volumes", agents.expression("volumes")),
        Named::new("pullSecrets", agents.expression("pullSecrets")),
        Named::new("created", created()),
        Named::new("record", record(agents)),
    ]);
    variables.retain(|variable| variable.name != "pullSecrets" || agents.may_have_pull_secrets());
    variables
}

/// Returns the names of the parents that the pod lacks, as the record has them.
fn created() -> String {
    let missing = |parent: Parent, condition: &str| {
        let name = cel::string(&json!(parent).to_string());
        format!("({condition} ? [{name}] : [])")
    };
    let no_init_containers = "variables.native && !has(object.spec.initContainers)";
    [
        missing(Parent::Annotations, "!has(object.metadata.annotations)"),
        missing(Parent::InitContainers, no_init_containers),
        missing(Parent::Volumes, "!has(object.spec.volumes)"),
    ]
    .join("\n+ ")
}

/// Returns the record. The agent's part is rendered; the pod decides the rest.
fn record(agents: &RenderedAgents) -> String {
    let mut record = agents.expression("record");
    if agents.may_have_pull_secrets() {
        record += r#"
+ (size(variables.pullSecrets) == 0 ? '' : ',"pullSecrets":{"after":' + string(size(object.spec.imagePullSecrets))
  + ',"names":["' + variables.pullSecrets.map(s, string(s.name)).join('","') + '"]}')"#;
    }
    let status = cel::string(Annotation::Status.key());
    record += &format!("\n+ ({status} in variables.annotations ? ',\"status\":\"kept\"' : '')");
    record
        + r#"
+ (size(variables.created) == 0 ? '' : ',"created":[' + variables.created.join(',') + ']') + '}'"#
}

/// Returns the operations.
fn operations(agents: &RenderedAgents) -> String {
    let path =
        |annotation: Annotation| format!("/metadata/annotations/{}", escape(annotation.key()));
    let mut operations = vec![
        format!(
            "(has(object.metadata.annotations) ? [] : [{}])",
            add("/metadata/annotations", "{}")
        ),
        format!(
            "({} in variables.annotations ? [] : [{}])",
            cel::string(Annotation::Status.key()),
            add(&path(Annotation::Status), &cel::string(INJECTED))
        ),
        format!(
            "(variables.overridden ? [] : [{}])",
            add(&path(Annotation::Record), "variables.record")
        ),
        format!(
            "(!variables.native ? [{}]\n  : has(object.spec.initContainers) ? [{}]\n  : [{}])",
            add("/spec/containers/-", "variables.container"),
            add("/spec/initContainers/-", "variables.container"),
            add("/spec/initContainers", "[variables.container]")
        ),
        format!(
            "(has(object.spec.volumes) ? [] : [{}])",
            add("/spec/volumes", "[]")
        ),
        format!("variables.volumes.map(v, {})", add("/spec/volumes/-", "v")),
    ];
    if agents.may_have_pull_secrets() {
        let operation = add("/spec/imagePullSecrets/-", "s");
        operations.push(format!("variables.pullSecrets.map(s, {operation})"));
    }
    operations.join("\n+ ")
}

fn add(path: &str, value: &str) -> String {
    let path = cel::string(path);
    format!("JSONPatch{{op: 'add', path: {path}, value: {value}}}")
}
