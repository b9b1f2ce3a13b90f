//! The rules: does a pod template get the agent, an init container that waits, both or nothing, and why? A pure function of the
//! template, its resource and the configuration.
//!
//! | | rule | file | reasons |
//! | --- | --- | --- | --- |
//! | 1 | can the resource ever be injected? | `scope` | `local-config`, `mirror-pod`, `disabled` |
//! | 2 | is it selected? | `scope` | `namespace-excluded`, `not-selected`, `hook` |
//! | 3 | are its annotations allowed, in the right place, and known? | `annotations`, `misplaced_annotation` | `annotation-not-allowed`, `misplaced-annotation`, `unknown-annotation` |
//! | 4 | is an agent requested? | `opt_in` | `opted-out`, `not-requested` |
//! | 5 | is it a whole pod, for Linux, whose controller takes the agent? | `patches`, `windows` | `kustomize-patch`, `windows`, `no-containers`, `patch`, `webhook-only` |
//! | 6 | is there an agent already? | `existing_agent` | `agent-present` |
//! | 7 | are its annotations valid? | `annotations` | `invalid-annotation` |
//! | 8 | an ordinary container or a native sidecar? | `native_sidecar` | `native-unsupported`, `native-refused`, `never-completes` |
//! | 9 | which of the pod's properties does the agent depend on? | `pod_warnings`, `token`, `qos`, `pull_secrets`, `volume_mounts`, `labels` | as the file |
//! | 10 | are the names free? | `name_conflicts` | `container-conflict`, `volume-conflict` |
//! | 11 | hosts to wait for? | `wait_for` | `wait-for-image` |
//!
//! Users can turn rules off in this order: a template that is not selected or not requested is skipped before a later rule can
//! refuse it. Rules 4 and 6 to 10 are about the agent, rule 11 is about the init container; where both are requested, a
//! refusal of one is a refusal of both. `controller_owned`, `immutable_template`, `plain_api_key` and `record_lost` also look at
//! existing templates, whatever the decision is.

mod annotations;
pub mod controller_owned;
mod existing_agent;
pub mod immutable_template;
mod labels;
pub mod misplaced_annotation;
mod name_conflicts;
mod native_sidecar;
mod opt_in;
mod patches;
pub mod plain_api_key;
mod pod_warnings;
mod pull_secrets;
mod qos;
pub mod record_lost;
mod scope;
mod token;
mod volume_mounts;
mod wait_for;
mod windows;

use crate::agent::plan::Plan;
use crate::agent::shape::AgentShape;
use crate::agent::{Agents, Component, ComponentKind, ComponentKinds};
use config::annotations::ignored_warnings;
use config::{Config, Platform};
use mackerel::annotations::Annotation;
use mackerel::names::Sidecar;
use manifest::known_kinds::is_webhook_only;
use manifest::{ContainerList, NamedPatch, PodAnnotation, PodTemplate, Resource};
use report::{Cause, Finding, Reason, ReasonSet};
use std::borrow::Cow;
use std::sync::Arc;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, Tree};

/// A decision about a template. It is made on the view without an existing injection.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Add these components.
    Add(Plan),
    /// Add nothing; nothing more is requested.
    Skip(Finding),
    /// Add nothing although something is requested.
    Refuse(Finding),
}

impl Decision {
    /// Returns the components to add, if any.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Decision::Add(plan) => Some(plan),
            Decision::Skip(_) | Decision::Refuse(_) => None,
        }
    }

    /// Returns the agent to add, if any.
    pub fn agent(&self) -> Option<&Arc<Component>> {
        self.plan().and_then(Plan::agent)
    }
}

/// A decision with its cause and warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionReport {
    pub decision: Decision,
    pub warnings: Vec<Finding>,
    pub cause: Cause,
    /// The reason why a template that gets the init container gets no agent.
    pub no_agent: Option<Finding>,
    /// The annotation that requests the init container.
    pub(crate) wait_for_cause: Option<Cause>,
}

impl DecisionReport {
    /// Returns the finding about a foreign agent, the reason why no agent is added.
    pub(crate) fn foreign_agent(&self) -> Option<&Finding> {
        let skip = match &self.decision {
            Decision::Skip(skip) => Some(skip),
            Decision::Add(_) | Decision::Refuse(_) => self.no_agent.as_ref(),
        };
        skip.filter(|skip| skip.reason == Reason::AgentPresent)
    }
}

/// The inputs of a decision that are the same for all templates of a text.
#[derive(Debug, Clone, Copy)]
pub struct DecisionContext<'a> {
    pub config: &'a Config,
    /// Agents that were made before.
    pub agents: &'a Agents,
    /// The entry of a kustomization that names the text's file as a patch.
    pub patch: Option<&'a NamedPatch>,
}

/// The reason why a rule adds nothing.
#[derive(Debug, Clone, PartialEq)]
enum NoAgent {
    /// Nothing is requested, or nothing can be added.
    Skip(Box<CausedFinding>),
    /// The request cannot be fulfilled.
    Refuse(Box<CausedFinding>),
}

/// A finding with the cause of the decision that it makes.
#[derive(Debug, Clone, PartialEq)]
struct CausedFinding {
    finding: Finding,
    cause: Cause,
}

impl NoAgent {
    /// Skips the template. The cause is the field that the finding is about.
    fn skip(finding: Finding) -> Self {
        NoAgent::Skip(Box::new(CausedFinding::at_its_field(finding)))
    }

    /// Refuses the template. The cause is the field that the finding is about.
    fn refuse(finding: Finding) -> Self {
        NoAgent::Refuse(Box::new(CausedFinding::at_its_field(finding)))
    }

    fn caused_by(mut self, cause: Cause) -> Self {
        let (NoAgent::Skip(caused) | NoAgent::Refuse(caused)) = &mut self;
        caused.cause = cause;
        self
    }

    fn caused_by_setting(self, path: impl Into<Cow<'static, str>>) -> Self {
        self.caused_by(Cause::Setting(path.into()))
    }
}

impl CausedFinding {
    fn at_its_field(finding: Finding) -> Self {
        let cause = Cause::Manifest {
            offset: finding.offset.unwrap_or_default(),
            pointer: finding.pointer.clone(),
        };
        Self { finding, cause }
    }
}

/// The components to add, with their causes.
struct Additions {
    plan: Plan,
    cause: Cause,
    wait_for_cause: Option<Cause>,
}

/// Decides about one template; `at` is the JSON Pointer from the resource to it.
pub fn decide(
    tree: &Tree<'_>,
    resource: &Resource,
    at: &str,
    template: &PodTemplate,
    context: DecisionContext<'_>,
) -> DecisionReport {
    let allowed = annotations::allowed(template, context.config);
    let mut evaluation = Evaluation {
        tree,
        resource,
        at,
        template: &allowed,
        written: template,
        config: context.config,
        context,
        warnings: Vec::new(),
        no_agent: None,
    };
    let mut wait_for_cause = None;
    let (decision, cause) = match evaluation.additions() {
        Ok(additions) => {
            evaluation.note_pod_resources();
            wait_for_cause = additions.wait_for_cause;
            (Decision::Add(additions.plan), additions.cause)
        }
        Err(NoAgent::Skip(skip)) => (Decision::Skip(skip.finding), skip.cause),
        Err(NoAgent::Refuse(refusal)) => (Decision::Refuse(refusal.finding), refusal.cause),
    };
    let mut warnings = evaluation.warnings;
    acknowledge(template, &mut warnings);
    DecisionReport {
        decision,
        warnings,
        cause,
        no_agent: evaluation.no_agent,
        wait_for_cause,
    }
}

/// Marks the warnings that the template's annotation acknowledges.
pub fn acknowledge(template: &PodTemplate, warnings: &mut [Finding]) {
    if warnings.is_empty() {
        return;
    }
    let ignored = acknowledged(template);
    for warning in warnings {
        warning.acknowledged |= ignored.contains(warning.reason);
    }
}

/// Returns the warnings that the template's annotation acknowledges.
pub fn acknowledged(template: &PodTemplate) -> ReasonSet {
    match template.annotation(Annotation::IgnoreWarnings.key()) {
        Some(_) => ignored_warnings(&annotations::given(template)).unwrap_or_default(),
        None => ReasonSet::default(),
    }
}

struct Evaluation<'a, 't> {
    tree: &'a Tree<'t>,
    resource: &'a Resource,
    /// JSON Pointer from the resource to the template.
    at: &'a str,
    /// The template without annotations that are not allowed.
    template: &'a PodTemplate,
    written: &'a PodTemplate,
    config: &'a Config,
    context: DecisionContext<'a>,
    warnings: Vec<Finding>,
    /// The reason why a template that requests the init container gets no agent.
    no_agent: Option<Finding>,
}

impl<'a> Evaluation<'a, '_> {
    /// Applies the rules in their order.
    fn additions(&mut self) -> Result<Additions, NoAgent> {
        self.eligible()?;
        self.selected()?;
        self.warn_of_annotations_that_are_not_allowed();
        self.warn_of_misplaced_annotations();
        self.warn_of_unknown_annotations();
        let wait_for = self.wait_for_request();
        let requested = match self.requested() {
            // Annotations of a named patch are for its target: rule 5 skips the patch itself.
            Err(NoAgent::Skip(skip)) if wait_for.is_some() || self.context.patch.is_some() => {
                Err(NoAgent::Skip(skip))
            }
            requested => Ok(requested?),
        };
        let wanted = match (&requested, &wait_for) {
            (Err(_), Some(_)) => ComponentKind::WaitFor.into(),
            (_, None) => ComponentKind::Agent.into(),
            (Ok(_), Some(_)) => ComponentKinds::from_iter(ComponentKind::ALL),
        };
        self.supported(wanted)?;
        let agent = requested.and_then(|cause| Ok((self.agent()?, cause)));
        let Some(request) = wait_for else {
            let (agent, cause) = agent?;
            return Ok(Additions {
                plan: Plan {
                    components: vec![agent],
                },
                cause,
                wait_for_cause: None,
            });
        };
        let mut components = Vec::new();
        let mut cause = request.cause();
        match agent {
            Ok((agent, agent_cause)) => {
                components.push(agent);
                cause = agent_cause;
            }
            Err(NoAgent::Skip(skip)) => self.no_agent = Some(skip.finding),
            Err(refusal) => return Err(refusal),
        }
        let agent = components.first().map(|agent| &**agent);
        let wait_for = self.wait_for(&request, agent).map_err(NoAgent::refuse)?;
        components.push(wait_for);
        Ok(Additions {
            plan: Plan { components },
            cause,
            wait_for_cause: Some(request.cause()),
        })
    }

    /// Returns the agent that fits the pod.
    fn agent(&mut self) -> Result<Arc<Component>, NoAgent> {
        if let Some(present) = self.existing_agent() {
            return Err(NoAgent::skip(present));
        }
        let mut config = self.annotated_config().map_err(NoAgent::refuse)?;
        // Settings of the kubelet are for the nodes.
        if config.spec.platform == Platform::Auto && self.template.is_for_fargate {
            config.to_mut().spec.platform = Platform::EksFargate;
        }
        if let Err(invalid) = ignored_warnings(&self.given()) {
            return Err(NoAgent::refuse(self.invalid(invalid)));
        }
        let sidecar = self.native_sidecar(&config)?;
        let shape = self.shape(&config, sidecar)?;
        let agent = self.context.agents.agent(config, shape);
        match self.name_conflict(&agent) {
            Some(conflict) => Err(NoAgent::refuse(conflict)),
            None => Ok(agent),
        }
    }

    /// Returns `config` and the pod's own fields as the shape of its agent, with warnings about the latter.
    fn shape(&mut self, config: &Config, sidecar: Sidecar) -> Result<AgentShape, NoAgent> {
        self.warn_of_pod(config, sidecar);
        let token = self.token(config);
        self.warn_of_insecure_tls(config);
        let amounts = self.resources(config)?;
        let pull_secrets = self.pull_secrets(config);
        let volume_mounts = self.volume_mounts(config)?;
        let roles = self.roles(config);
        self.warn_of_missing_labels(config);
        Ok(AgentShape {
            sidecar,
            token,
            amounts,
            pull_secrets,
            volume_mounts,
            roles,
        })
    }

    /// Skips a template that cannot run the wanted components.
    fn supported(&mut self, wanted: ComponentKinds) -> Result<(), NoAgent> {
        self.not_a_named_patch()?;
        if let Some(windows) = self.windows(wanted) {
            return Err(NoAgent::skip(windows));
        }
        let has_containers = self
            .template
            .containers
            .iter()
            .any(|one| one.list == ContainerList::Containers);
        // The value of a duplicate key that is not used may have them.
        if !has_containers && self.template.second_key(self.tree).is_none() {
            let finding = self.finding_without_details(Reason::NoContainers);
            return Err(NoAgent::skip(finding));
        }
        match self.looks_like_a_patch() {
            Some(patch) => Err(NoAgent::skip(patch)),
            None if is_webhook_only(self.group()) && !self.is_configured() => {
                let finding = self.finding_without_details(Reason::WebhookOnly);
                Err(NoAgent::skip(finding))
            }
            None => Ok(()),
        }
    }

    fn cause_at_annotation(&self, annotation: &PodAnnotation) -> Cause {
        Cause::Manifest {
            offset: annotation.value_offset,
            pointer: self.annotation_pointer(&annotation.key),
        }
    }

    /// Moves a finding to the annotation that requests the setting, if there is one.
    fn at_request(&self, finding: Finding, annotation: Annotation) -> Finding {
        match self.template.annotation(annotation.key()) {
            Some(given) => Finding {
                offset: Some(given.value_offset),
                pointer: self.annotation_pointer(&given.key),
                ..finding
            },
            None => finding,
        }
    }

    fn annotation_pointer(&self, key: &str) -> String {
        format!("{}/metadata/annotations/{}", self.at, escape(key))
    }

    /// Returns a finding about the template.
    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        self.finding_at(reason, message, self.template.node, "")
    }

    /// Returns a finding about the template whose message is the sentence of its reason.
    fn finding_without_details(&self, reason: Reason) -> Finding {
        let start = self.tree.place(self.template.node).start;
        Finding::without_details(reason, start, self.at)
    }

    /// Returns a finding about a node; `pointer` is the JSON Pointer from the template to it.
    fn finding_at(
        &self,
        reason: Reason,
        message: impl Into<String>,
        node: NodeId,
        pointer: &str,
    ) -> Finding {
        let start = self.tree.place(node).start;
        Finding::new(reason, message, start, &format!("{}{pointer}", self.at))
    }
}
