//! The ValidatingAdmissionPolicies about pods that should have the agent and have none.

use crate::annotations;
use crate::cel::{self, Named};
use crate::conditions::{ANNOTATIONS, requested, scope};
use crate::error::PolicyError;
use crate::guards::{FEW_ITEMS_NAME, Guard, WAITS_FOR_NOTHING};
use crate::manifest::{BoundPolicy, expression};
use config::{Config, OnError};
use mackerel::annotations::Annotation;
use serde_json::{Value, json};

/// The message about a pod that meets every guard.
const NO_AGENT: &str = "no-agent: the pod should have the Mackerel agent and has none: the policy was not applied, or failed";

/// Returns the policy that reports, and under `onError: fail` one that refuses what the webhook refuses. As in the chart, that is not
/// the default.
pub(super) fn policies(
    config: &Config,
    mut guards: Vec<Guard>,
    variables: Vec<Named>,
) -> Result<Vec<BoundPolicy>, PolicyError> {
    let record = cel::string(Annotation::Record.key());
    let condition = format!(
        "variables.{FEW_ITEMS_NAME} && (variables.isForWindows
|| variables.hasAgent && ({record} in variables.annotations || variables.{WAITS_FOR_NOTHING}))"
    );
    let reporting = BoundPolicy {
        kind: "ValidatingAdmissionPolicy",
        component: "report",
        suffix: "",
        failure_policy: "Ignore",
        match_conditions: scope(config, requested_anything(config)),
        variables,
        fields: validation(condition, &guards)?,
        binding_fields: json!({"validationActions": ["Warn", "Audit"]}),
    };
    if !config.is_explicit("onError") || config.spec.on_error == OnError::Skip {
        return Ok(vec![reporting]);
    }
    guards.retain(|guard| guard.is_refusal);
    let meets_all = guards
        .iter()
        .map(|guard| format!("variables.{}", guard.condition.name))
        .collect::<Vec<_>>()
        .join(" && ");
    let condition = format!(
        "!variables.{FEW_ITEMS_NAME} || variables.isForWindows
|| variables.hasAgent || {record} in variables.annotations\n|| {meets_all}"
    );
    let refusing = BoundPolicy {
        component: "refuse",
        suffix: "-refusals",
        failure_policy: "Fail",
        match_conditions: scope(config, requested(config)),
        fields: validation(condition, &guards)?,
        binding_fields: json!({"validationActions": ["Deny", "Audit"]}),
        ..reporting.clone()
    };
    Ok(vec![reporting, refusing])
}

/// Returns a validation, whose message is about the first guard that the pod does not meet.
fn validation(condition: String, guards: &[Guard]) -> Result<Value, PolicyError> {
    let mut message = String::new();
    for guard in guards {
        let text = cel::string(&guard.message);
        message += &format!("!variables.{} ? {text}\n: ", guard.condition.name);
    }
    message += &cel::string(NO_AGENT);
    Ok(json!({"validations": [{
        "expression": condition,
        "messageExpression": expression("message", &message)?,
        "reason": "Invalid",
    }]}))
}

/// Returns the condition that the pod requests the agent, or an init container that waits and that it did not get before.
fn requested_anything(config: &Config) -> String {
    let requested = requested(config);
    let record = cel::string(Annotation::Record.key());
    let waits_for_nothing = annotations::waits_for_nothing(config);
    format!("{requested}\n|| !({record} in {ANNOTATIONS}) && !({waits_for_nothing})")
}
