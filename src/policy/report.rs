//! The ValidatingAdmissionPolicies about pods that should have the agent and have none.

use crate::config::{Config, OnError, Spec};
use crate::mackerel::annotations::Annotation;
use crate::policy::agent::RenderedAgents;
use crate::policy::annotations;
use crate::policy::cel::{self, Named};
use crate::policy::conditions::{ANNOTATIONS, has_agent, requested, scope};
use crate::policy::error::PolicyError;
use crate::policy::guards::{Guard, WAITS_FOR_NOTHING, guards};
use crate::policy::manifest::{BoundPolicy, expression};
use serde_json::{Value, json};

/// The message about a pod that meets every guard.
const NO_AGENT: &str = "no-agent: the pod should have the Mackerel agent and has none: the policy was not applied, or failed";

/// Returns the policy that reports, and under `onError: fail` one that refuses what the webhook refuses. As in the chart, that is not
/// the default.
pub(super) fn policies(
    config: &Config,
    agents: &RenderedAgents,
) -> Result<Vec<BoundPolicy>, PolicyError> {
    let guards = guards(config, agents);
    let mut refusals = Vec::new();
    for guard in &guards {
        if let Some(refusal) = &guard.refusal {
            refusals.push(Named::new(&guard.condition.name, &**refusal));
        }
    }
    let conditions: Vec<Named> = guards.iter().map(|guard| guard.condition.clone()).collect();
    let record = cel::string(Annotation::Record.key());
    let condition = format!(
        "variables.hasAgent && ({record} in {ANNOTATIONS} || variables.{WAITS_FOR_NOTHING})"
    );
    let reporting = BoundPolicy {
        match_conditions: scope(config, requested_anything(config)),
        fields: validation(&condition, &message(&guards, &conditions))?,
        ..policy("Ignore", "Warn", conditions)
    };
    let is_explicit = config.is_explicit(Spec::on_error().path);
    if !is_explicit || config.spec.on_error == OnError::Skip {
        return Ok(vec![reporting]);
    }
    let names: Vec<String> = refusals
        .iter()
        .map(|refusal| format!("variables.{}", refusal.name))
        .collect();
    let condition = format!(
        "variables.hasAgent || {record} in {ANNOTATIONS}\n|| {}",
        names.join(" && ")
    );
    let refusing = BoundPolicy {
        suffix: "-refusals",
        match_conditions: scope(config, requested(config)),
        fields: validation(&condition, &message(&guards, &refusals))?,
        ..policy("Fail", "Deny", refusals)
    };
    Ok(vec![reporting, refusing])
}

fn policy(failure_policy: &'static str, action: &str, conditions: Vec<Named>) -> BoundPolicy {
    let mut variables = vec![Named::new("hasAgent", has_agent())];
    variables.extend(conditions);
    BoundPolicy {
        kind: "ValidatingAdmissionPolicy",
        suffix: "",
        failure_policy,
        match_conditions: Vec::new(),
        variables,
        fields: Value::Null,
        binding_fields: json!({"validationActions": [action, "Audit"]}),
    }
}

fn validation(condition: &str, message: &str) -> Result<Value, PolicyError> {
    Ok(json!({"validations": [{
        "expression": condition,
        "messageExpression": expression("message", message)?,
        "reason": "Invalid",
    }]}))
}

/// Returns the message of the first condition that the pod does not meet.
fn message(guards: &[Guard], conditions: &[Named]) -> String {
    let mut text = String::new();
    for Guard {
        condition, message, ..
    } in guards
    {
        let name = &condition.name;
        if conditions.iter().any(|other| other.name == *name) {
            text += &format!("!variables.{name} ? {}\n: ", cel::string(message));
        }
    }
    text + &cel::string(NO_AGENT)
}

/// Returns the condition that the pod requests the agent, or an init container that waits and that it did not get before.
fn requested_anything(config: &Config) -> String {
    let requested = requested(config);
    let record = cel::string(Annotation::Record.key());
    let waits_for_nothing = annotations::waits_for_nothing(config);
    format!("{requested}\n|| !({record} in {ANNOTATIONS}) && !({waits_for_nothing})")
}
