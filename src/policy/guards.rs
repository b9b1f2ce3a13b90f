//! The pods that should have the agent and that the policy leaves alone: it cannot decide about them, or the engine refuses them.

use crate::config::{Config, Qos};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::qos;
use crate::policy::agent::RenderedAgents;
use crate::policy::annotations::{self, LongValue};
use crate::policy::cel::{self, Named};
use crate::policy::conditions::{ANNOTATIONS, CONTAINERS, GUARANTEED};

/// A condition on the pods that should have the agent. The policy leaves alone those that do not meet it, and reports them.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) condition: Named,
    /// The message about a pod that does not meet it.
    pub(super) message: String,
    /// The condition that the engine does not refuse the pod for it; none if the engine may take a pod that the policy does not.
    pub(super) refusal: Option<String>,
}

/// The name of the condition that the pod does not request to wait for hosts.
pub(super) const WAITS_FOR_NOTHING: &str = "waitsForNothing";

/// The advice about a pod that the policy cannot decide about.
const ELSEWHERE: &str = "inject its manifest, or use the webhook";

/// Returns the conditions on the pods that the policy injects.
pub(super) fn guards(config: &Config, agents: &RenderedAgents) -> Vec<Guard> {
    let mut guards = Vec::new();
    let mut push = |condition: Named, message: String, refusal: Option<String>| {
        guards.push(Guard {
            condition,
            message,
            refusal,
        });
    };
    let [inject, record] =
        [Annotation::Inject, Annotation::Record].map(|annotation| cel::string(annotation.key()));
    let boolean =
        format!("{ANNOTATIONS}[?{inject}].orValue('true').lowerAscii() in ['true', 'false']");
    push(
        Named::new("injectIsBoolean", &*boolean),
        "invalid-annotation: `inject` must be \"true\" or \"false\"".to_owned(),
        Some(boolean),
    );
    push(
        Named::new(WAITS_FOR_NOTHING, annotations::waits_for_nothing(config)),
        format!(
            "undecided: the pod requests wait-for, whose init container the policy cannot add; {ELSEWHERE}"
        ),
        None,
    );
    push(
        Named::new("notInjectedBefore", format!("!({record} in {ANNOTATIONS})")),
        format!(
            "hand-edited: the pod has the annotation `record` of an earlier injection, but no agent; remove it, {ELSEWHERE}"
        ),
        None,
    );
    push(
        Named::new("knownAnnotations", annotations::known(config, &agents.rows)),
        format!(
            "undecided: the pod has an annotation {PREFIX}... that the policy does not read; {ELSEWHERE}"
        ),
        None,
    );
    push(
        Named::new("status", annotations::status()),
        "undecided: the annotation `status` is too long".to_owned(),
        None,
    );
    push(
        Named::new(
            "ignoreWarnings",
            annotations::ignored_warnings(LongValue::Fails),
        ),
        "invalid-annotation: `ignore-warnings` has an unknown id, or is too long".to_owned(),
        Some(annotations::ignored_warnings(LongValue::Passes)),
    );
    for row in &agents.rows {
        let name = row.annotation.name();
        let mut message =
            format!("invalid-annotation: `{name}` has an invalid value, or one that is too long");
        let mut refusal = Some(row.condition(LongValue::Passes).expression);
        if !row.is_exact {
            message = format!(
                "undecided: the policy does not read this value of `{name}`; correct or simplify it, {ELSEWHERE}"
            );
            refusal = None;
        }
        push(row.condition(LongValue::Fails), message, refusal);
    }
    let name = cel::string(CONTAINER);
    let is_free = format!("{CONTAINERS}.all(c, c.name != {name})");
    push(
        Named::new("freeContainerName", &*is_free),
        format!("container-conflict: another container has the name {CONTAINER}; rename it"),
        Some(is_free),
    );
    let volumes = agents.volume_names();
    let are_free = |names: &[&str]| {
        let names = cel::strings(names);
        format!("object.spec.?volumes.orValue([]).all(v, !(v.name in {names}))")
    };
    push(
        Named::new("freeVolumeNames", are_free(&volumes)),
        format!(
            "volume-conflict: another volume has the name {}; rename it",
            volumes.join(" or ")
        ),
        // The token's volume is not in every agent.
        Some(are_free(&[Volume::Tmp.name()])),
    );
    if config.spec.qos == Qos::Refuse && !qos::keeps_guaranteed(&config.spec.agent.resources) {
        let keeps_class = format!("!({GUARANTEED})");
        push(
            Named::new("keepsQosClass", &*keeps_class),
            "qos-refused: the agent would change the QoS class of the pod from Guaranteed to Burstable".to_owned(),
            Some(keeps_class),
        );
    }
    guards
}
