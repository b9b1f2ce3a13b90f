//! The rules: does a pod template get the agent, an init container that waits, both or nothing, and why? A pure function of the
//! template, its resource and the configuration.
//!
//! | | rule | file | reasons |
//! | --- | --- | --- | --- |
//! | 1 | can the resource ever be injected? | `scope` | `local-config`, `mirror-pod`, `disabled` |
//! | 2 | is it selected? | `scope` | `namespace-excluded`, `not-selected`, `hook` |
//! | 3 | are its annotations allowed, in the right place, and known? | `annotations` | `annotation-not-allowed`, `misplaced-annotation`, `unknown-annotation` |
//! | 4 | is an agent requested? | `opt_in` | `opted-out`, `not-requested` |
//! | 5 | is it a whole pod, for Linux? | `patches`, `windows` | `kustomize-patch`, `windows`, `no-containers`, `patch` |
//! | 6 | is there an agent already? | `existing_agent` | `agent-present` |
//! | 7 | are its annotations valid? | `annotations` | `invalid-annotation` |
//! | 8 | an ordinary container or a native sidecar? | `native_sidecar` | `native-unsupported`, `native-refused`, `never-completes` |
//! | 9 | may its permissions be generated? | `permissions` | `namespace-required`, `nodes-proxy-refused`, `nodes-proxy` |
//! | 10 | which of the pod's properties does the agent depend on? | `pod_warnings`, `plain_api_key`, `token`, `qos`, `pull_secrets`, `volume_mounts` | as the file |
//! | 11 | are the names free? | `name_conflicts` | `container-conflict`, `volume-conflict` |
//! | 12 | hosts to wait for? | `wait_for` | `wait-for-image` |
//! | 13 | does Knative accept the pod? | `knative` | `knative-features` |
//!
//! Users can turn rules off in this order: a template that is not selected or not requested is skipped before a later rule can
//! refuse it. Rules 4 and 6 to 11 are about the agent, rule 12 is about the init container; where both are requested, a
//! refusal of one is a refusal of both. `controller_owned`, `immutable_template`, `plain_api_key` and `record_lost` also look at
//! templates that exist already, whatever is decided.

mod annotations;
pub(crate) mod controller_owned;
mod existing_agent;
pub(crate) mod immutable_template;
mod knative;
mod name_conflicts;
mod native_sidecar;
mod opt_in;
mod patches;
mod permissions;
pub(crate) mod plain_api_key;
mod pod_warnings;
mod pull_secrets;
mod qos;
pub(crate) mod record_lost;
mod scope;
mod token;
mod volume_mounts;
mod wait_for;
mod windows;

use crate::agent::container::AgentShape;
use crate::agent::plan::Plan;
use crate::agent::{Agents, Component, ComponentKind, ComponentKinds};
use crate::annotations::ignored_warnings;
use crate::config::{AgentSettings, Config, Spec};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::Sidecar;
use crate::manifest::kustomization::NamedPatch;
use crate::manifest::pod_template::{self, ContainerList, PodTemplate};
use crate::manifest::resource::Resource;
use crate::report::{Cause, Finding, Reason, ReasonSet};
use std::rc::Rc;
use yaml_json_patch::Tree;

/// A decision about a template. It is made on the view without an existing injection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Add these components.
    Add(Plan),
    /// Add nothing; nothing more is requested.
    Skip(Finding),
    /// Add nothing although something is requested.
    Refuse(Finding),
}

impl Decision {
    /// Returns the components to add, if any.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Decision::Add(plan) => Some(plan),
            Decision::Skip(_) | Decision::Refuse(_) => None,
        }
    }

    /// Returns the agent to add, if any.
    pub(crate) fn agent(&self) -> Option<&Rc<Component>> {
        self.plan().and_then(Plan::agent)
    }
}

/// A decision with its cause and warnings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecisionReport {
    pub(crate) decision: Decision,
    pub(crate) warnings: Vec<Finding>,
    pub(crate) cause: Cause,
    /// The reason why a template that gets the init container gets no agent.
    pub(crate) no_agent: Option<Finding>,
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
pub(crate) struct DecisionContext<'a> {
    pub(crate) config: &'a Config,
    /// Agents that were made before.
    pub(crate) agents: &'a Agents,
    /// The entry of a kustomization that names the text's file as a patch.
    pub(crate) patch: Option<&'a NamedPatch>,
}

/// Decides about one template; `at` is the JSON Pointer from the resource to it.
pub(crate) fn decide(
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
        agents: context.agents,
        patch: context.patch,
        warnings: Vec::new(),
        cause: None,
        no_agent: None,
        wait_for_cause: None,
    };
    let decision = evaluation.decide();
    if let Decision::Add(plan) = &decision {
        evaluation.warn_of_knative(plan);
    }
    let cause = evaluation
        .cause
        .take()
        .unwrap_or_else(|| evaluation.cause_of(&decision));
    let Evaluation {
        mut warnings,
        no_agent,
        wait_for_cause,
        ..
    } = evaluation;
    acknowledge(template, &mut warnings);
    DecisionReport {
        decision,
        warnings,
        cause,
        no_agent,
        wait_for_cause,
    }
}

/// Marks the warnings that the template's annotation acknowledges.
pub(crate) fn acknowledge(template: &PodTemplate, warnings: &mut [Finding]) {
    if !warnings.is_empty() {
        let ignored = acknowledged(template);
        warnings
            .iter_mut()
            .for_each(|warning| warning.acknowledged |= ignored.contains(warning.reason));
    }
}

/// Returns the warnings that the template's annotation acknowledges.
pub(crate) fn acknowledged(template: &PodTemplate) -> ReasonSet {
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
    agents: &'a Agents,
    patch: Option<&'a NamedPatch>,
    warnings: Vec<Finding>,
    /// The cause, unless it is at the place of the decision's finding.
    cause: Option<Cause>,
    no_agent: Option<Finding>,
    wait_for_cause: Option<Cause>,
}

impl<'a> Evaluation<'a, '_> {
    fn decide(&mut self) -> Decision {
        if let Some(skip) = self.ineligible().or_else(|| self.not_selected()) {
            return Decision::Skip(skip);
        }
        self.warn_of_annotations_that_are_not_allowed();
        self.warn_of_misplaced_annotations();
        self.warn_of_unknown_annotations();
        let wait_for = self.wait_for_request();
        let requested = match self.requested() {
            Err(refusal @ Decision::Refuse(_)) => return refusal,
            // Annotations of a named patch are for its target: rule 5 skips the patch itself.
            Err(skip) if wait_for.is_none() && self.patch.is_none() => return skip,
            requested => requested,
        };
        // Findings of the rules from here on have causes of their own.
        let cause = self.cause.take();
        let wanted = match (&requested, &wait_for) {
            (Err(_), Some(_)) => ComponentKind::WaitFor.into(),
            (_, None) => ComponentKind::Agent.into(),
            (Ok(()), Some(_)) => ComponentKinds::from_iter(ComponentKind::ALL),
        };
        if let Some(skip) = self.unsupported(wanted) {
            return Decision::Skip(skip);
        }
        let (agent, request) = match (requested.and_then(|()| self.agent()), wait_for) {
            (Ok(agent), None) => {
                self.cause = cause;
                let components = vec![agent];
                return Decision::Add(Plan { components });
            }
            (Ok(agent), Some(request)) => (Some(agent), request),
            (Err(Decision::Skip(skip)), Some(request)) => {
                self.no_agent = Some(skip);
                (None, request)
            }
            (Err(decision), _) => return decision,
        };
        self.wait_for_cause = Some(request.cause());
        match (self.wait_for(request, agent.as_deref()), agent) {
            (Ok(wait_for), Some(agent)) => {
                self.cause = cause;
                let components = vec![agent, wait_for];
                Decision::Add(Plan { components })
            }
            (Ok(wait_for), None) => {
                self.cause.clone_from(&self.wait_for_cause);
                let components = vec![wait_for];
                Decision::Add(Plan { components })
            }
            (Err(refusal), _) => Decision::Refuse(refusal),
        }
    }

    /// Returns the agent that fits the pod.
    fn agent(&mut self) -> Result<Rc<Component>, Decision> {
        if let Some(skip) = self.existing_agent() {
            return Err(Decision::Skip(skip));
        }
        let config = self.annotated_config().map_err(Decision::Refuse)?;
        ignored_warnings(&self.given())
            .map_err(|invalid| Decision::Refuse(self.invalid(invalid)))?;
        let sidecar = self.native_sidecar(&config)?;
        self.permissions(&config).map_err(Decision::Refuse)?;
        let shape = self.shape(&config, sidecar).map_err(Decision::Refuse)?;
        let agent = self.agents.agent(config, shape);
        match self.name_conflict(&agent) {
            Some(refusal) => Err(Decision::Refuse(refusal)),
            None => Ok(agent),
        }
    }

    /// Returns `config` and the pod's own fields as the shape of its agent, with warnings about the latter.
    fn shape(&mut self, config: &Config, sidecar: Sidecar) -> Result<AgentShape, Finding> {
        self.warn_of_host_network();
        self.warn_of_shared_processes();
        self.warn_of_short_termination();
        self.warn_of_plain_api_key(config);
        let token = self.token(config);
        self.warn_of_insecure_tls(config);
        let amounts = self.resources(config)?;
        let pull_secrets = self.pull_secrets(config);
        let volume_mounts = self.volume_mounts(config)?;
        Ok(AgentShape {
            sidecar,
            token,
            amounts,
            pull_secrets,
            volume_mounts,
        })
    }

    /// Returns the first finding about a template that cannot run what it requests.
    fn unsupported(&self, wanted: ComponentKinds) -> Option<Finding> {
        let template = self.template;
        // A duplicate key may hide them.
        let has_containers = || {
            template
                .containers
                .iter()
                .any(|container| container.list == ContainerList::Containers)
                || template.second_key(self.tree).is_some()
        };
        let no_containers = || self.finding(Reason::NoContainers, "the template has no containers");
        self.named_patch()
            .or_else(|| self.windows(wanted))
            .or_else(|| (!has_containers()).then(no_containers))
            .or_else(|| self.looks_like_a_patch())
    }

    /// Returns the setting that caused a decision, or else the place of its finding.
    fn cause_of(&self, decision: &Decision) -> Cause {
        let at = |offset: Option<usize>, pointer: &str| {
            let offset = offset.unwrap_or_else(|| self.tree.place(self.template.node).start);
            Cause::Manifest {
                offset,
                pointer: pointer.to_owned(),
            }
        };
        match (decision, self.patch) {
            (
                Decision::Skip(Finding {
                    reason: Reason::KustomizePatch,
                    ..
                }),
                Some(patch),
            ) => Cause::Kustomization {
                place: patch.place.clone(),
                pointer: patch.pointer.clone(),
            },
            (Decision::Add(_), _) => at(None, self.at),
            (Decision::Skip(finding) | Decision::Refuse(finding), _) => match finding.reason {
                Reason::NativeUnsupported => Cause::Setting(Spec::kubernetes_version().path.into()),
                Reason::NativeRefused if finding.pointer == self.at => {
                    Cause::Setting(Spec::sidecar().path.into())
                }
                Reason::VolumeConflict if finding.pointer == self.at => {
                    Cause::Setting(AgentSettings::volume_mounts().path.into())
                }
                Reason::QosRefused => Cause::Setting(Spec::qos().path.into()),
                _ => at(finding.offset, &finding.pointer),
            },
        }
    }

    fn cause_at_annotation(&self, annotation: &pod_template::PodAnnotation) -> Cause {
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
        format!(
            "{}/metadata/annotations/{}",
            self.at,
            yaml_json_patch::pointer::escape(key)
        )
    }

    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        Finding::new(
            reason,
            message,
            self.tree.place(self.template.node).start,
            self.at,
        )
    }
}
