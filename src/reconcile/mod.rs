//! Desired against current: compares the decision about a template with an existing injection, and returns the action.
//!
//! An update removes the old components in memory and then adds the new ones. So a changed configuration gives, by
//! construction, the bytes that it would have given on the original template. Only components that are not at their default
//! position (a tool has printed the manifest again, a user has appended a container) are replaced in place.

mod adopt;
mod adopted_settings;
pub(crate) mod apply;
mod current_state;
pub(crate) mod drift;
mod edited_settings;
mod own_annotations;
pub(crate) mod patch;

use crate::agent::Agent;
use crate::agent::canonical::Digest;
use crate::agent::components::{ComponentSet, Components};
use crate::agent::container::ReplaceableName;
use crate::agent::existing::{ExistingInjection, is_agent};
use crate::agent::plan::Plan;
use crate::config::OnError;
use crate::decide::controller_owned::owned;
use crate::decide::immutable_template::immutable;
use crate::decide::{
    Decision, DecisionContext, DecisionReport, acknowledge, decide, plain_api_key, record_lost,
};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::CONTAINER;
use crate::manifest::pod_template::{PodTemplate, mounts};
use crate::manifest::resource::Resource;
use crate::options::{Direction, ForeignAgents, HandEdits, Options};
use crate::reconcile::adopt::Adoptable;
use crate::reconcile::current_state::{CurrentState, others};
use crate::reconcile::drift::{Drift, DriftDescription};
use crate::reconcile::patch::{
    AdoptedContainer, ListPositions, TemplatePatch, kept_annotations, removal, removal_beside,
    replacement,
};
use crate::report::{Cause, Class, Finding, Reason};
pub(crate) use apply::{Action, Waiting};
use std::rc::Rc;
use yaml_json_patch::{Kind, Tree};

/// The decision as it is reported, and the action that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reconciled {
    pub(crate) decision: Finding,
    pub(crate) warnings: Vec<Finding>,
    /// None if nothing changes.
    pub(crate) action: Option<Action>,
    pub(crate) cause: Option<Cause>,
    /// The agent that the template has afterwards.
    pub(crate) agent: Option<Rc<Agent>>,
    /// The init container that waits which the template has afterwards.
    pub(crate) wait_for: Option<Waiting>,
    /// The components that the decision is about; none if there are none and none are added.
    pub(crate) about: Option<ComponentSet>,
}

impl Reconciled {
    /// Changes nothing.
    fn of(decision: Finding, warnings: Vec<Finding>) -> Self {
        Self {
            decision,
            warnings,
            action: None,
            cause: None,
            agent: None,
            wait_for: None,
            about: None,
        }
    }

    /// Notes the components that the template has afterwards.
    fn with(self, plan: &Plan, wait_for_cause: Option<Cause>) -> Self {
        let waiting = plan.wait_for().zip(wait_for_cause);
        let wait_for = waiting.map(|(wait_for, asked)| Waiting {
            wait_for: Rc::clone(wait_for),
            asked,
        });
        Self {
            agent: plan.agent().map(Rc::clone),
            wait_for,
            ..self
        }
    }
}

/// Reconciles one template; `at` points to it from its resource, `path` from the root of the tree.
pub(crate) fn reconcile(
    tree: &Tree<'_>,
    resource: &Resource,
    (at, path): (&str, &str),
    template: &PodTemplate,
    existing: Option<&ExistingInjection>,
    context: DecisionContext<'_>,
    options: Options,
) -> Reconciled {
    let reconciler = Reconciler {
        tree,
        resource,
        at,
        path,
        template,
        existing,
        context,
        options,
    };
    let edited = existing.and_then(|existing| reconciler.drift(existing));
    let mut reconciled = match (options.direction, existing) {
        (Direction::Uninject, None) => reconciler.report(Reason::NotInjected, None, Vec::new()),
        (Direction::Uninject, Some(existing)) => {
            let refuse_drift = |drift: Drift| {
                // The plan of today shows which field was edited, unless the configuration has changed too.
                let decision = reconciler.decide(template, context).decision;
                let wanted = if let Decision::Add(plan) = &decision {
                    Some(plan)
                } else {
                    None
                };
                reconciler.refuse_drift(drift, existing, wanted)
            };
            let refusal = edited
                .map(refuse_drift)
                .or_else(|| reconciler.refuse_mounted_volume(existing, None));
            match refusal {
                Some(refusal) => Reconciled::of(refusal, Vec::new()),
                None => Reconciled {
                    action: Some(reconciler.removal(existing)),
                    ..reconciler.report(Reason::Removed, Some(existing.component_set()), Vec::new())
                },
            }
        }
        (Direction::Inject, existing) => {
            let adopts = options.foreign_agents == ForeignAgents::Adopt;
            let mut adoption = if adopts {
                adopt::candidate(tree, template, existing)
            } else {
                None
            };
            let without = adoption
                .as_ref()
                .map_or(template, |adoption| &adoption.without);
            let mut report = reconciler.decide(without, context);
            if let Some(adoption) = adoption.as_mut().filter(|_| edited.is_none()) {
                let kept = reconciler.kept_settings(adoption, &report.decision);
                let with_them = reconciler.decide(&adoption.with_annotations(tree, &kept), context);
                if !kept.is_empty() && adds_agent(&with_them.decision) {
                    adoption.kept = kept;
                    report = with_them;
                }
            }
            let report = if adopts {
                reconciler.refuse_foreign_agent(report)
            } else {
                report
            };
            let cause = report.cause.clone();
            let reconciled = match (existing, adoption) {
                (existing, Some(adoption)) if edited.is_none() && adds_agent(&report.decision) => {
                    reconciler.adopt(existing, &adoption, report)
                }
                (Some(existing), _) => reconciler.update_existing(existing, edited, report),
                (None, _) => reconciler.insert(report),
            };
            Reconciled {
                cause: reconciled.cause.or(Some(cause)),
                ..reconciled
            }
        }
    };
    if options.direction == Direction::Inject {
        let adopted = (reconciled.decision.reason == Reason::Adopted).then_some(options.tense);
        reconciled
            .warnings
            .extend(plain_api_key::findings(tree, at, template, adopted));
    }
    if existing.is_none() && reconciled.action.is_none() {
        reconciled.warnings.extend(record_lost::finding(
            tree,
            at,
            template,
            reconciled.decision.reason,
        ));
    }
    if reconciled.action.is_some() {
        // The owner says more than that the template is immutable.
        let owned = owned(tree, resource).filter(|_| options.direction == Direction::Inject);
        reconciled.warnings.extend(
            owned.or_else(|| immutable(tree, resource, at, tree.place(template.node).start)),
        );
    } else if reconciled.decision.reason.class() == Class::Refused {
        reconciled
            .warnings
            .retain(|warning| !warning.reason.is_about_change());
    }
    acknowledge(template, &mut reconciled.warnings);
    reconciled
}

struct Reconciler<'a, 't> {
    tree: &'a Tree<'t>,
    resource: &'a Resource,
    at: &'a str,
    path: &'a str,
    template: &'a PodTemplate,
    existing: Option<&'a ExistingInjection>,
    context: DecisionContext<'a>,
    options: Options,
}

impl Reconciler<'_, '_> {
    /// Decides about the template as it is, or as it would be.
    fn decide(&self, template: &PodTemplate, context: DecisionContext<'_>) -> DecisionReport {
        decide(self.tree, self.resource, self.at, template, context)
    }

    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        Finding::new(
            reason,
            message,
            self.tree.place(self.template.node).start,
            self.at,
        )
    }

    /// Reports a decision in the words of its reason, with `about` in place of the agent.
    fn report(
        &self,
        reason: Reason,
        about: Option<ComponentSet>,
        warnings: Vec<Finding>,
    ) -> Reconciled {
        let message = match (about, reason.done()) {
            (None, _) => reason.sentence().to_owned(),
            (Some(components), Some(done)) => components.passive(self.options.tense, done),
            (Some(components), None) => format!("{} is up to date", components.subject()),
        };
        Reconciled {
            about,
            ..Reconciled::of(self.finding(reason, message), warnings)
        }
    }

    fn removal(&self, existing: &ExistingInjection) -> Action {
        Action {
            first: removal(self.tree, self.template, self.path, existing),
            then: None,
            unwanted: None,
        }
    }

    /// Reconciles a template without an existing injection.
    fn insert(
        &self,
        DecisionReport {
            decision,
            warnings,
            no_agent,
            wait_for_cause,
            ..
        }: DecisionReport,
    ) -> Reconciled {
        match decision {
            Decision::Add(plan) => {
                let mut reconciled = self
                    .report(Reason::Injected, Some(plan.component_set()), warnings)
                    .with(&plan, wait_for_cause);
                if let Some(skip) = no_agent {
                    reconciled.decision.message += &format!("; no agent: {}", skip.message);
                }
                let then = Some((plan, ListPositions::default()));
                let action = Action {
                    first: TemplatePatch::default(),
                    then,
                    unwanted: None,
                };
                Reconciled {
                    action: Some(action),
                    ..reconciled
                }
            }
            Decision::Skip(finding) | Decision::Refuse(finding) => {
                Reconciled::of(finding, warnings)
            }
        }
    }

    /// Returns the annotations that keep the settings of an agent to adopt.
    fn kept_settings(
        &self,
        adoption: &Adoptable,
        decision: &Decision,
    ) -> Vec<(Annotation, String)> {
        let Decision::Add(plan) = decision else {
            return Vec::new();
        };
        let Some(agent) = plan.agent() else {
            return Vec::new();
        };
        adopt::kept_settings(
            self.tree,
            self.template,
            adoption,
            (agent, self.context.config),
        )
    }

    /// Reconciles a template with a foreign agent. An existing injection, of an init container alone, is added anew.
    fn adopt(
        &self,
        existing: Option<&ExistingInjection>,
        adoption: &Adoptable,
        report: DecisionReport,
    ) -> Reconciled {
        let Decision::Add(plan) = &report.decision else {
            return self.insert(report);
        };
        let Some(agent) = plan.agent() else {
            return self.insert(report);
        };
        let old = &adoption.old;
        let pointer = format!("{}/spec/{}/{}", self.at, old.list.field(), old.index);
        let at_old = |reason, message| {
            Finding::new(reason, message, self.tree.place(old.node).start, &pointer)
        };
        if self.tree.kind(old.node) == Kind::Alias {
            let refusal = at_old(
                Reason::AdoptRefused,
                "the agent is an alias; an edit would change every alias of its anchor".to_owned(),
            );
            let decision = refusal.with_help("replace the alias `*name` with the container");
            return Reconciled::of(decision, report.warnings);
        }
        let (message, lost) = adopt::describe(
            self.tree,
            self.template,
            adoption,
            (agent, self.context.config),
            self.options.tense,
        );
        let mut decision = at_old(Reason::Adopted, message);
        let mut warnings = report.warnings;
        warnings.extend(lost.map(|lost| {
            let help = match lost.contains("(`") {
                true => "to keep a setting, set the field in parentheses after it; settings without one are lost",
                false => "if the agent needs them, do not adopt it",
            };
            at_old(Reason::AdoptLosesSettings, lost).with_help(help)
        }));
        for volume in adopt::left_behind(self.tree, self.template, adoption, agent) {
            let name = volume.name.as_deref().unwrap_or_default();
            decision.message += &format!("; the volume {name} is kept but no longer mounted");
        }
        if plan.wait_for().is_some() && existing.is_none() {
            decision.message += &format!(
                "; {}",
                ComponentSet::WaitFor(()).passive(self.options.tense, "added")
            );
        }
        let kept = kept_annotations(self.tree, self.template, self.path, &adoption.kept);
        let removed = existing.map(|existing| {
            removal_beside(
                self.tree,
                self.template,
                self.path,
                existing,
                &adoption.kept,
            )
        });
        let first = kept.then(&removed.unwrap_or_default());
        // The existing injection is removed before.
        let index = others(self.template, old.list)
            .filter(|other| *other < old.index)
            .count();
        let then = Some((
            plan.clone(),
            ListPositions {
                adopted: Some(AdoptedContainer {
                    list: old.list,
                    index,
                }),
                ..ListPositions::default()
            },
        ));
        let action = Some(Action {
            first,
            then,
            unwanted: None,
        });
        let about = Some(Components::Agent(()));
        Reconciled {
            action,
            about,
            ..Reconciled::of(decision, warnings).with(plan, report.wait_for_cause)
        }
    }

    /// Refuses a template that still has a foreign agent although one was to be adopted.
    fn refuse_foreign_agent(&self, report: DecisionReport) -> DecisionReport {
        let Some(skip) = report.foreign_agent() else {
            return report;
        };
        // An injected agent under a new name is a hand edit.
        if self
            .existing
            .and_then(|existing| self.renamed_agent(existing))
            .is_some()
        {
            return report;
        }
        let agents = self
            .template
            .containers
            .iter()
            .filter(|container| is_agent(self.tree, container))
            .count();
        let existing = self
            .existing
            .filter(|existing| existing.component_set().agent().is_some());
        let (message, help) = match (existing, agents) {
            (Some(_), _) => (
                "the template also has an injected agent".to_owned(),
                "remove one of the agents",
            ),
            (None, 1) => (
                "the agent is an ephemeral container, which cannot be adopted".to_owned(),
                "remove it",
            ),
            (None, agents) => (
                format!("found {agents} agent containers; only one can be adopted"),
                "remove all but one",
            ),
        };
        let refusal = Finding {
            message,
            help: Some(help.to_owned()),
            reason: Reason::AdoptRefused,
            ..skip.clone()
        };
        let place = refusal.offset.map(|offset| Cause::Manifest {
            offset,
            pointer: refusal.pointer.clone(),
        });
        let cause = place.unwrap_or(report.cause);
        DecisionReport {
            decision: Decision::Refuse(refusal),
            cause,
            ..report
        }
    }

    /// Reconciles a template with an existing injection.
    fn update_existing(
        &self,
        existing: &ExistingInjection,
        edited: Option<Drift>,
        report: DecisionReport,
    ) -> Reconciled {
        if let (Some(foreign), None, Some(_)) = (report.foreign_agent(), edited, &existing.agent) {
            return self.keep_beside(foreign.clone(), report.warnings);
        }
        let DecisionReport {
            decision,
            mut warnings,
            no_agent,
            wait_for_cause,
            ..
        } = report;
        let components = existing.component_set();
        let is_wanted = |edit: Drift| matches!(&decision, Decision::Add(plan) if edit.is_wanted(existing, plan));
        let edited = edited.filter(|edit| !is_wanted(*edit));
        let stays = |finding: Finding, mut warnings: Vec<Finding>, message: &str| {
            warnings.push(self.finding(Reason::StillInjected, message));
            Reconciled::of(finding, warnings)
        };
        match (decision, edited) {
            (Decision::Add(mut plan), None) => {
                warnings.extend(self.keep_names(existing, &mut plan));
                // With `--force` there may be drift, which the record does not show.
                let state = CurrentState {
                    template: self.template,
                    existing,
                };
                if state.is_current(&plan) && Drift::of(existing).is_none() {
                    // Notes were reported at the injection.
                    warnings.retain(|warning| warning.reason.class() != Class::Note);
                    return self
                        .report(Reason::Unchanged, Some(components), warnings)
                        .with(&plan, wait_for_cause);
                }
                if let Some(refusal) = self.refuse_mounted_volume(existing, Some(&plan)) {
                    return self.refused(existing, refusal, warnings);
                }
                let decision = self.finding(
                    Reason::Updated,
                    state.describe_update(self.options.tense, &plan, no_agent.as_ref()),
                );
                let is = plan.component_set();
                let about = Components::of(
                    components.agent().or(is.agent()).copied(),
                    components.wait_for().or(is.wait_for()).copied(),
                );
                let reconciled = Reconciled::of(decision, warnings).with(&plan, wait_for_cause);
                Reconciled {
                    action: Some(self.update(existing, plan)),
                    about,
                    ..reconciled
                }
            }
            (Decision::Add(plan), Some(edit)) => {
                let refusal = self.refuse_drift(edit, existing, Some(&plan));
                let pointer = refusal.pointer.clone();
                let cause = refusal
                    .offset
                    .map(|offset| Cause::Manifest { offset, pointer });
                Reconciled {
                    cause,
                    ..self.refused(existing, refusal, warnings)
                }
            }
            (Decision::Refuse(refusal), _) => self.refused(existing, refusal, warnings),
            // No reason to remove an agent: a container that has lost its `image` by mistake looks like a patch.
            (Decision::Skip(skip), _)
                if matches!(skip.reason, Reason::Disabled | Reason::Patch) =>
            {
                let message = format!(
                    "{} of an earlier run was not removed; `uninject` removes it",
                    components.subject()
                );
                stays(skip, warnings, &message)
            }
            (Decision::Skip(skip), edit) => {
                let held = edit.map(|edit| self.refuse_drift(edit, existing, None));
                if let Some(refusal) = held.or_else(|| self.refuse_mounted_volume(existing, None)) {
                    // The template is selected: the other agent may be the injected one under a new name.
                    if skip.reason == Reason::AgentPresent {
                        return self.refused(existing, refusal, warnings);
                    }
                    let (subject, why) = (components.subject(), refusal.message);
                    let message =
                        format!("{subject} is no longer selected, but was not removed: {why}");
                    return stays(skip, warnings, &message);
                }
                let message = format!(
                    "{}: {}",
                    components.passive(self.options.tense, "removed"),
                    skip.message
                );
                let decision = self.finding(Reason::Removed, message);
                let action = Action {
                    unwanted: Some(skip),
                    ..self.removal(existing)
                };
                Reconciled {
                    action: Some(action),
                    about: Some(components),
                    ..Reconciled::of(decision, warnings)
                }
            }
        }
    }

    /// Keeps an injected agent beside a foreign one, which may have been added by mistake.
    fn keep_beside(&self, foreign: Finding, mut warnings: Vec<Finding>) -> Reconciled {
        let message = format!(
            "{}; the injected agent beside it was neither updated nor removed",
            foreign.message
        );
        let help =
            "remove that container, or run `uninject` to remove the injected agent".to_owned();
        warnings.push(Finding {
            reason: Reason::StillInjected,
            message,
            help: Some(help),
            ..foreign.clone()
        });
        // `--adopt` refuses it.
        Reconciled::of(
            Finding {
                help: None,
                ..foreign
            },
            warnings,
        )
    }

    /// Refuses a template with an existing injection.
    fn refused(
        &self,
        existing: &ExistingInjection,
        refusal: Finding,
        mut warnings: Vec<Finding>,
    ) -> Reconciled {
        if self.context.config.spec.on_error == OnError::Skip {
            let message = format!(
                "{} of an earlier run is unchanged",
                existing.component_set().subject()
            );
            warnings.push(self.finding(Reason::StillInjected, message));
        }
        Reconciled::of(refusal, warnings)
    }

    /// Returns the drift of an existing injection, unless `--force` overwrites it.
    fn drift(&self, existing: &ExistingInjection) -> Option<Drift> {
        let edit = Drift::of(existing)?;
        let overwritten =
            self.options.hand_edits == HandEdits::Overwrite && edit != Drift::NewerRecord;
        (!overwritten).then_some(edit)
    }

    /// Refuses to remove a volume that a foreign container mounts, even with `--force`: the API server refuses a pod that mounts
    /// a missing volume.
    fn refuse_mounted_volume(
        &self,
        existing: &ExistingInjection,
        plan: Option<&Plan>,
    ) -> Option<Finding> {
        let stays = |name: &str| {
            let agent = plan.and_then(Plan::agent);
            agent.is_some_and(|agent| {
                agent
                    .volumes
                    .iter()
                    .any(|(volume, _)| volume.name() == name)
            })
        };
        let mut goes = existing
            .volumes
            .iter()
            .filter(|(volume, there)| there.is_some() && !stays(volume.name()));
        let (volume, container) = goes.find_map(|(volume, _)| {
            let mut containers = self.template.containers.iter();
            Some((
                volume.name(),
                containers.find(|container| mounts(self.tree, container, volume.name()))?,
            ))
        })?;
        let name = container.name.as_deref().unwrap_or("without a name");
        let message = format!("the container {name} mounts the volume {volume} of the agent");
        let pointer = format!(
            "{}/spec/{}/{}",
            self.at,
            container.list.field(),
            container.index
        );
        let finding = Finding::new(
            Reason::HandEdited,
            message,
            self.tree.place(container.node).start,
            &pointer,
        );
        let separate = "add a separate volume for the container";
        let help = self
            .renamed_agent(existing)
            .map(|renamed| format!("{renamed}; otherwise, {separate}"));
        Some(finding.with_help(help.unwrap_or_else(|| separate.to_owned())))
    }

    /// Returns the advice to undo a new name or list of the injected agent, if it is absent and another agent is there.
    fn renamed_agent(&self, existing: &ExistingInjection) -> Option<String> {
        if existing.component_set().agent().is_none() || existing.agent.is_some() {
            return None;
        }
        let other = self
            .template
            .containers
            .iter()
            .find(|container| is_agent(self.tree, container))?;
        Some(match other.name.as_deref() {
            Some(CONTAINER) => format!(
                "if the container in `{}` is it, move it back",
                other.list.field()
            ),
            name => {
                let name = name.unwrap_or("without a name");
                format!("if the container `{name}` is it, rename it to `{CONTAINER}`")
            }
        })
    }

    fn refuse_drift(
        &self,
        edit: Drift,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> Finding {
        let description = edit.describe(self.tree, existing, wanted);
        let mut settings = Vec::new();
        for setting in &description.settings {
            settings.push(setting.name(self.template, self.context.config));
        }
        let renamed = self.renamed_agent(existing).filter(|_| edit == Drift::Gone);
        let help = match (renamed, self.options.direction) {
            (None, direction) => edit.help(direction, &settings),
            (Some(renamed), Direction::Inject) => {
                format!(
                    "{renamed}; otherwise, remove that container and run `inject --force` on the file"
                )
            }
            (Some(renamed), Direction::Uninject) => {
                format!("{renamed}; otherwise, run `uninject --force` on the file")
            }
        };
        let DriftDescription {
            message,
            offset,
            pointer,
            ..
        } = description;
        Finding::new(
            Reason::HandEdited,
            message,
            offset,
            &format!("{}{pointer}", self.at),
        )
        .with_help(help)
    }

    /// Keeps names that Renovate or kustomize have changed since, unless the configuration sets them. The init container's image
    /// is always set by the configuration.
    fn keep_names(&self, existing: &ExistingInjection, plan: &mut Plan) -> Vec<Finding> {
        let record = existing
            .record
            .as_ref()
            .ok()
            .and_then(|record| record.components.agent());
        let (Some(record), Some(agent)) = (record, plan.agent_mut()) else {
            return Vec::new();
        };
        let configured = agent.names();
        let mut kept = Vec::new();
        for name in ReplaceableName::ALL {
            let (recorded, current, wanted) = match name {
                ReplaceableName::Image => {
                    (Some(record.image), &existing.names.image, &configured.image)
                }
                ReplaceableName::Secret => (
                    Some(record.secret),
                    &existing.names.secret,
                    &configured.secret,
                ),
                ReplaceableName::ConfigMap => (
                    record.config,
                    &existing.names.config_map,
                    &configured.config_map,
                ),
            };
            let (Some(recorded), Some(current), Some(wanted)) = (recorded, current, wanted) else {
                continue;
            };
            let changed = Digest::of(current) != recorded && current != wanted;
            if changed && !self.is_explicit(name) {
                *agent = Rc::new(agent.with(name, current));
                let message = format!(
                    "keeping `{}` at {current}, which was changed after injection",
                    name.setting()
                );
                let help = format!("set `{}` to override it", name.setting());
                kept.push(Finding {
                    help: Some(help),
                    ..self.finding(Reason::ValueKept, message)
                });
            }
        }
        kept
    }

    fn is_explicit(&self, name: ReplaceableName) -> bool {
        let annotation = name.setting().annotation();
        let is_it = |given: &crate::manifest::pod_template::PodAnnotation| {
            Annotation::of(&given.key) == annotation
        };
        let config = self.context.config;
        config.is_explicit(name.setting().path)
            || (annotation.is_some_and(|annotation| config.allows(annotation))
                && self.template.annotations.iter().any(is_it))
    }

    fn update(&self, existing: &ExistingInjection, plan: Plan) -> Action {
        let state = CurrentState {
            template: self.template,
            existing,
        };
        if let Some(record) = state.replaceable(&plan)
            && !state.is_at_default_position()
        {
            return Action {
                first: replacement(self.path, existing, record, &plan),
                then: None,
                unwanted: None,
            };
        }
        let positions = state.positions(&plan);
        Action {
            then: Some((plan, positions)),
            ..self.removal(existing)
        }
    }
}

fn adds_agent(decision: &Decision) -> bool {
    matches!(decision, Decision::Add(plan) if plan.agent().is_some())
}
