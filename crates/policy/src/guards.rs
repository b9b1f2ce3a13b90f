//! The pods that should have the agent and that the policy leaves alone: it cannot decide about them, or the engine refuses them.

use crate::agent::RenderedAgents;
use crate::annotations;
use crate::cel::{self, Named};
use crate::conditions::{FEW_ITEMS, GUARANTEED, requires_nodes};
use config::{Config, Platform, Qos, Role};
use mackerel::annotations::{Annotation, PREFIX};
use mackerel::names::{CONTAINER, FARGATE_LABEL, FARGATE_SCHEDULER, Volume};
use manifest::{FARGATE_NODES, qos};
use std::collections::BTreeSet;

/// A condition on the pods that should have the agent. The policy leaves alone those that do not meet it, and reports them.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) condition: Named,
    /// The message about a pod that does not meet it.
    pub(super) message: String,
    /// True if the engine refuses a pod that does not meet it, unless the pod is too large for the policy.
    pub(super) is_refusal: bool,
}

/// The name of the condition that a pod is not too large for the others.
pub(super) const FEW_ITEMS_NAME: &str = "hasFewItems";

/// The name of the condition that the pod does not request to wait for hosts.
pub(super) const WAITS_FOR_NOTHING: &str = "waitsForNothing";

/// The advice about a pod that the policy cannot decide about.
const ELSEWHERE: &str = "inject its manifest, or use the webhook";

impl Guard {
    fn undecided(name: &str, condition: impl Into<String>, message: &str) -> Self {
        Self {
            condition: Named::new(name, condition),
            message: format!("undecided: {message}; {ELSEWHERE}"),
            is_refusal: false,
        }
    }

    fn refusal(name: &str, condition: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            condition: Named::new(name, condition),
            message: message.into(),
            is_refusal: true,
        }
    }
}

/// Returns the conditions on the pods that the policy injects, in the order in which the API server evaluates them.
pub(super) fn guards(config: &Config, agents: &RenderedAgents) -> Vec<Guard> {
    let mut guards = vec![Guard::undecided(
        FEW_ITEMS_NAME,
        FEW_ITEMS,
        "a list of the pod, such as its annotations or the variables of a container, has more than 1000 items, or the containers have more than 50000 variables",
    )];
    guards.extend(about_annotations(config));
    guards.extend(about_the_rest(config, agents));
    guards
}

fn about_annotations(config: &Config) -> [Guard; 5] {
    let [inject, record] =
        [Annotation::Inject, Annotation::Record].map(|annotation| cel::string(annotation.key()));
    [
        Guard::refusal(
            "injectIsBoolean",
            format!(
                "variables.annotations[?{inject}].orValue('true').lowerAscii() in ['true', 'false']"
            ),
            "invalid-annotation: `inject` must be \"true\" or \"false\"",
        ),
        Guard::undecided(
            WAITS_FOR_NOTHING,
            annotations::waits_for_nothing(config),
            "the pod requests wait-for, whose init container the policy cannot add",
        ),
        Guard {
            condition: Named::new(
                "wasNotInjected",
                format!("!({record} in variables.annotations)"),
            ),
            message: format!(
                "hand-edited: the pod has the annotation `record` of an earlier injection, but no agent; remove it, {ELSEWHERE}"
            ),
            is_refusal: false,
        },
        Guard::undecided(
            "hasNoOverride",
            annotations::no_override(config),
            &format!("the pod has an annotation {PREFIX}... that may change the agent"),
        ),
        Guard::undecided(
            "ignoresWarnings",
            annotations::ignored_warnings(),
            "`ignore-warnings` is too long, or has an unknown id",
        ),
    ]
}

/// Returns the conditions on the namespace and the labels to which roles refer.
fn about_roles(roles: &[Role]) -> Vec<Guard> {
    let mut guards = Vec::new();
    if roles.iter().any(Role::names_namespace) {
        let condition = "size(request.namespace) > 1".to_owned();
        let message = "Mackerel does not take the namespace of `agent.roles`";
        guards.push(Guard::undecided("hasNamespaceOfRoles", condition, message));
    }
    let labels: BTreeSet<String> = roles.iter().flat_map(Role::labels).collect();
    if !labels.is_empty() {
        let labels = cel::strings(&Vec::from_iter(labels));
        let condition = format!(
            "{labels}.all(l, object.metadata.?labels[?l].orValue('').matches('^[A-Za-z0-9][A-Za-z0-9_-]{{1,62}}$'))"
        );
        let message = "the pod lacks a label of `agent.roles`, or Mackerel does not take its value";
        guards.push(Guard::undecided("hasLabelsOfRoles", condition, message));
    }
    guards
}

/// Returns the conditions on names, on the lists to which the engine may add more than the agent, and on the class of the pod.
fn about_the_rest(config: &Config, agents: &RenderedAgents) -> Vec<Guard> {
    let name = cel::string(CONTAINER);
    let mut guards = vec![Guard::refusal(
        "freeContainerName",
        format!("variables.containers.all(c, c.name != {name})"),
        format!("container-conflict: another container has the name {CONTAINER}; rename it"),
    )];
    for volume in agents.volumes() {
        let name = volume.name();
        let variable = match &volume {
            Volume::Configured(name) => format!("freeVolume_{}", name.replace('-', "_")),
            known => format!("free{known:?}Volume"),
        };
        guards.push(Guard {
            condition: Named::new(&variable, has_no_volume(&[&name])),
            message: format!("volume-conflict: another volume has the name {name}; rename it"),
            // The others are not in every agent.
            is_refusal: !matches!(volume, Volume::Token | Volume::Config),
        });
    }
    if config.spec.platform == Platform::Auto {
        let label = cel::string(FARGATE_LABEL);
        let nodes = requires_nodes(&FARGATE_NODES);
        let condition = format!(
            "!({label} in object.metadata.?labels.orValue({{}})) && object.spec.?schedulerName.orValue('') != '{FARGATE_SCHEDULER}'\n&& !({nodes})"
        );
        let message = "the pod is for EKS Fargate";
        guards.push(Guard::undecided("notOnFargate", condition, message));
    }
    let agent = &config.spec.agent;
    guards.extend(about_roles(&agent.roles));
    let names: Vec<&str> = agent
        .volume_mounts
        .iter()
        .map(|mount| &*mount.name)
        .filter(|name| !agent.has_volume(name))
        .collect();
    if !names.is_empty() {
        guards.push(Guard::undecided(
            "hasNoVolumeToMount",
            has_no_volume(&names),
            "the pod has a volume of `agent.volumeMounts`",
        ));
    }
    if !agent.image_pull_secrets.is_empty() {
        let secrets = "object.spec.?imagePullSecrets.orValue([])";
        let names = cel::strings(&agent.image_pull_secrets);
        // A pod without pull secrets gets those of its ServiceAccount.
        let condition = format!(
            "size({secrets}) == 0 || {names}.all(n, n in {secrets}.map(s, s.?name.orValue('')))"
        );
        guards.push(Guard::undecided(
            "hasPullSecrets",
            condition,
            "the pod lacks a pull secret of `agent.imagePullSecrets`; add it",
        ));
    }
    if config.spec.qos == Qos::Refuse && !qos::keeps_guaranteed(&agent.resources) {
        guards.push(Guard::refusal(
            "keepsQosClass",
            format!("!({GUARANTEED})"),
            "qos-refused: the agent would change the QoS class of the pod from Guaranteed to Burstable",
        ));
    }
    guards
}

fn has_no_volume(names: &[&str]) -> String {
    let names = cel::strings(names);
    format!("object.spec.?volumes.orValue([]).all(v, !(v.name in {names}))")
}
