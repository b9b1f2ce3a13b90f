//! The state of one pod: the decision of the webhook about it, and the status of its agent.

use crate::cause::Cause;
use crate::container::{AgentStatus, agent_status};
use crate::owners::{PodOwner, Workload};
use crate::state::{Change, PodState};
use config::{Config, Platform, Qos};
use injector::{
    AgentResources, Agents, Component, ComponentKind, Decision, DecisionContext, DecisionReport,
    EarlierReadings, ExistingInjection, KubeletAccess, Plan, Record, RecordError, Token,
    copied_record, decide,
};
use kube_core::GroupVersionKind;
use mackerel::annotations::Annotation;
use mackerel::names::{FARGATE_PLATFORM, INJECTED, Volume};
use manifest::{Container, PodTemplate, Resource};
use report::{Finding, Reason};
use std::borrow::Cow;
use std::sync::Arc;
use yaml_json_patch::{NodeId, Tree};

/// Decides about pods under one configuration.
pub(super) struct PodReader<'c> {
    config: &'c Config,
    /// The configuration for pods with an agent. The QoS class of a pod may be another than that of its manifest, so none is refused
    /// for it.
    config_of_injected: Cow<'c, Config>,
    agents: Agents,
    readings: EarlierReadings,
}

/// Returns false for a pod that has ended or is being deleted, and for one that the API server cannot change.
pub(super) fn counts(tree: &Tree<'_>, pod: NodeId, view: &PodTemplate) -> bool {
    let text = |path: [&str; 2]| {
        tree.member_at(pod, path)
            .and_then(|node| tree.text_of(node))
    };
    let phase = text(["status", "phase"]).unwrap_or_default();
    !matches!(&*phase, "Succeeded" | "Failed")
        && text(["metadata", "deletionTimestamp"]).is_none()
        && view.annotation("kubernetes.io/config.mirror").is_none()
}

impl<'c> PodReader<'c> {
    pub(super) fn new(config: &'c Config) -> Self {
        let mut config_of_injected = Cow::Borrowed(config);
        if config.spec.qos == Qos::Refuse {
            config_of_injected.to_mut().spec.qos = Qos::Allow;
        }
        Self {
            config,
            config_of_injected,
            agents: Agents::default(),
            readings: EarlierReadings::default(),
        }
    }

    /// Returns the state of a pod; none if it has no agent, and is to have none.
    pub(super) fn state(
        &self,
        tree: &Tree<'_>,
        pod: &Resource,
        mut view: PodTemplate,
        owner: &PodOwner,
    ) -> Option<PodState> {
        if !owner.is_topmost && self.config.spec.select.names_workloads() {
            return Some(PodState::unknown(&owner.workload));
        }
        let is_marked = view
            .annotation(Annotation::Status.key())
            .is_some_and(|status| status.value.as_deref() == Some(INJECTED));
        let existing = ExistingInjection::take_from(&mut view, tree, &self.readings);
        let injected = existing
            .as_ref()
            .and_then(|existing| existing.container(ComponentKind::Agent));
        let context = DecisionContext {
            config: match injected {
                Some(_) => &self.config_of_injected,
                None => self.config,
            },
            agents: &self.agents,
            patch: None,
        };
        let resource = as_workload(pod, &owner.workload);
        let report = decide(tree, &resource, "", &view, context);
        let Some(agent) = injected.or_else(|| view.own_containers().find(|one| one.is_agent))
        else {
            let copied = existing.and_then(|existing| copied_record(tree, &existing, ""));
            return without_agent(&report, &view, copied, owner);
        };
        // An agent of others counts only where the configuration would give one. A policy writes no record.
        if let Decision::Skip(skip) = &report.decision
            && injected.is_none()
            && !is_marked
            && skip.reason != Reason::AgentPresent
        {
            return None;
        }
        let recorded = existing.as_ref().filter(|_| injected.is_some());
        let AgentStatus {
            not_ready,
            restarts,
        } = agent_status(tree, pod.node, agent);
        let state = if let Some(not_ready) = not_ready {
            PodState::not_ready(pod, agent, not_ready)
        } else if let Decision::Refuse(refusal) = &report.decision {
            PodState::refused(refusal)
        } else if let Some(existing) = recorded
            && let Some(difference) = self.difference(existing, &report)
        {
            let change = self.change(tree, agent, &report.decision);
            PodState::outdated(difference, &change, owner)
        } else {
            PodState::READY
        };
        Some(PodState { restarts, ..state })
    }

    /// Returns the difference between the record of a pod and the decision of today. The containers of the pod are not compared: other
    /// webhooks may have changed them.
    fn difference(&self, existing: &ExistingInjection, report: &DecisionReport) -> Option<Cause> {
        let difference = |id, message: &str| Some(Cause::new(id, message));
        let plan = match &report.decision {
            // An agent of others beside the injected one says nothing about the latter.
            Decision::Skip(skip) if skip.reason == Reason::AgentPresent => return None,
            Decision::Skip(skip) => return difference("no-longer-wanted", &skip.message),
            Decision::Refuse(_) => return None,
            Decision::Add(plan) => plan,
        };
        if let (None, Some(skip)) = (plan.agent(), &report.no_agent) {
            return difference("no-longer-wanted", &skip.message);
        }
        let record = match &existing.record {
            Ok(record) => record,
            Err(RecordError::Newer) => {
                let message = "a newer version of mackerel-agent-injector added the agent";
                return difference("newer-record", message);
            }
            Err(RecordError::Broken) => {
                let message = "the `record` annotation cannot be read";
                return difference("broken-record", message);
            }
        };
        let is_up_to_date = self
            .earlier_plans(record, plan)
            .iter()
            .any(|plan| is_current(record, plan));
        if is_up_to_date {
            None
        } else {
            difference("settings-changed", "")
        }
    }

    /// Returns the change of a manifest that brings the decision of today.
    fn change(&self, tree: &Tree<'_>, agent: &Container, decision: &Decision) -> Change {
        let is_on_fargate = |plan: &Plan| {
            let access = plan.agent().and_then(|agent| agent.access);
            self.config.spec.platform == Platform::Auto && access == Some(KubeletAccess::ApiServer)
        };
        let is_for_fargate = || {
            tree.member_items(agent.node, "env").any(|variable| {
                tree.member_text(variable, "value").as_deref() == Some(FARGATE_PLATFORM)
            })
        };
        match decision {
            Decision::Skip(skip) if skip.reason == Reason::Disabled => Change::Uninject,
            Decision::Add(plan) if is_on_fargate(plan) && !is_for_fargate() => Change::SetPlatform,
            _ => Change::Inject,
        }
    }

    /// Returns the plans for a pod as it may have been when its agent was injected. Later, its ServiceAccount may have given it pull
    /// secrets or turned its token off, and a LimitRange or the container of another webhook may have changed its QoS class.
    fn earlier_plans(&self, record: &Record, plan: &Plan) -> Vec<Plan> {
        let (Some(recorded), Some(agent)) = (&record.agent, plan.agent()) else {
            return vec![plan.clone()];
        };
        let Some(mut shape) = agent.shape.clone() else {
            return vec![plan.clone()];
        };
        let config = match &agent.annotated {
            Some(annotated) => Cow::Owned(Config::clone(annotated)),
            None => Cow::Borrowed(self.config),
        };
        if record.pull_secrets.is_none() {
            shape.pull_secrets.clear();
        }
        if !recorded.volumes.contains(&Volume::Token)
            && !config.spec.agent.token.is_always_mounted()
        {
            shape.token = Token::Mounted;
        }
        let other_amounts = match (config.spec.qos, shape.amounts) {
            (Qos::Keep, AgentResources::Configured) => Some(AgentResources::Guaranteed),
            (Qos::Keep, AgentResources::Guaranteed) => Some(AgentResources::Configured),
            _ => None,
        };
        let mut plans = Vec::new();
        for amounts in [Some(shape.amounts), other_amounts].into_iter().flatten() {
            shape.amounts = amounts;
            let agent = self.agents.agent(config.clone(), shape.clone());
            plans.push(with_agent(plan, &agent));
        }
        plans
    }
}

/// Returns a pod as a resource of the kind and name of its workload, to which rules about them apply.
fn as_workload(pod: &Resource, workload: &Workload) -> Resource {
    let mut resource = pod.clone();
    let types = workload.types();
    resource.gvk = GroupVersionKind::try_from(&types).ok();
    resource.identity.api_version = types.api_version;
    resource.identity.kind = types.kind;
    resource.identity.name.clone_from(&workload.name);
    resource
}

fn with_agent(plan: &Plan, agent: &Arc<Component>) -> Plan {
    let mut plan = plan.clone();
    for component in &mut plan.components {
        if component.kind == ComponentKind::Agent {
            *component = Arc::clone(agent);
        }
    }
    plan
}

/// Returns the state of a pod without an agent; none if it is to have none. The webhook injects none beside a `copied` record, and
/// leaves out its own pods.
fn without_agent(
    report: &DecisionReport,
    view: &PodTemplate,
    copied: Option<Finding>,
    owner: &PodOwner,
) -> Option<PodState> {
    match &report.decision {
        Decision::Refuse(refusal) => Some(PodState::refused(refusal)),
        Decision::Add(plan) if plan.agent().is_some() && !is_server(view) => Some(match copied {
            Some(copied) => PodState::refused(&copied),
            None => PodState::missed(owner),
        }),
        Decision::Skip(_) | Decision::Add(_) => None,
    }
}

/// Returns true for a pod of the webhook, by the label in the selector of its chart.
fn is_server(view: &PodTemplate) -> bool {
    view.labels
        .iter()
        .any(|(key, value)| key == "app.kubernetes.io/name" && value == "mackerel-agent-injector")
}

/// Returns true if the record has the components of the plan. One that only the record or the plan has came with the workload.
fn is_current(record: &Record, plan: &Plan) -> bool {
    plan.components.iter().all(|new| {
        record
            .component(new.kind)
            .is_none_or(|old| old.plan == new.record.plan)
    })
}
