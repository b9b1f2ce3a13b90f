//! Current against desired: compares an existing injection with the decision about its template, and returns the action.
//!
//! | since the injection | the action | file |
//! | --- | --- | --- |
//! | nothing has changed | none: `unchanged`, wherever the agent stands | `current.rs` |
//! | the configuration or an annotation has changed | `updated`: the old components are removed, then the new ones are added last; the message names the fields | `update.rs`, `current.rs` |
//! | the agent is no longer wanted | `removed` | `update.rs` |
//! | a user has changed a field, such as the memory limit | `hand-edited`, refused: the message names the fields that differ from the plan. If none does (an annotation or setting has the same value now), or with `--force`, it is an update | `drift.rs`, `hand_edits.rs` |
//! | a user has removed or renamed a part | `hand-edited`; `--force` adds it anew | `drift.rs`, `hand_edits.rs` |
//! | Renovate has changed the image, or kustomize the name of the Secret or ConfigMap | the plan keeps that name (`value-kept`), unless the configuration or an annotation sets it; then as above | `update.rs` (`keep_names`) |
//! | there is no injection, but a foreign agent | `agent-present`; with `--adopt` the new agent replaces it, and annotations keep its settings | `desired.rs`, `adopt.rs`, `kept_settings.rs` |
//!
//! There is one decision, on the template without the injection (`agent/existing.rs` takes it out of the view by its record), so that a
//! changed configuration gives the bytes that it would have given on the original template. Whatever is compared, `differing.rs` names
//! the fields. `removal.rs` and `insertion.rs` write the operations, `apply.rs` makes them the edits of the text.

mod adopt;
pub mod apply;
pub mod copied_record;
mod current;
mod desired;
pub mod differing;
pub mod drift;
mod hand_edits;
mod insertion;
mod kept_settings;
pub mod own_annotations;
pub mod patch;
mod removal;
mod update;

use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::{Component, ComponentKinds};
use crate::decide::controller_owned::owned;
use crate::decide::immutable_template::immutable;
use crate::decide::{
    Decision, DecisionContext, DecisionReport, acknowledge, decide, plain_api_key, record_lost,
};
use crate::options::{Direction, Options};
use crate::reconcile::desired::Desired;
use crate::reconcile::patch::{AgentPlace, PatchTarget, TemplatePatch};
pub use apply::{Action, Addition};
use manifest::{PodTemplate, Resource};
use report::{Cause, Class, Finding, Reason};
use std::sync::Arc;
use yaml_json_patch::Tree;

/// The decision as it is reported, and the action that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconciled {
    pub decision: Finding,
    pub warnings: Vec<Finding>,
    /// None if nothing changes.
    pub action: Option<Action>,
    pub cause: Option<Cause>,
    /// The agent that the template has afterwards.
    pub agent: Option<Arc<Component>>,
    /// The init container that waits which the template has afterwards.
    pub wait_for: Option<Waiting>,
}

/// An init container that waits, and the annotation that requests it.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub wait_for: Arc<Component>,
    pub cause: Cause,
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
        }
    }

    /// Adds the components that the template has afterwards.
    fn with_components(mut self, plan: &Plan, wait_for_cause: Option<Cause>) -> Self {
        self.agent = plan.agent().cloned();
        if let (Some(wait_for), Some(cause)) = (plan.wait_for(), wait_for_cause) {
            let wait_for = Arc::clone(wait_for);
            self.wait_for = Some(Waiting { wait_for, cause });
        }
        self
    }
}

/// One template, and what it is reconciled with.
pub struct Reconciler<'a, 't> {
    pub tree: &'a Tree<'t>,
    pub resource: &'a Resource,
    /// JSON Pointer from the resource to the template.
    pub at: &'a str,
    /// JSON Pointer from the root of the tree to the template.
    pub path: &'a str,
    /// The template without the existing injection.
    pub template: &'a PodTemplate,
    pub existing: Option<&'a ExistingInjection>,
    pub context: DecisionContext<'a>,
    pub options: Options,
}

impl Reconciler<'_, '_> {
    pub fn reconcile(&self) -> Reconciled {
        let mut reconciled = match self.options.direction {
            Direction::Inject => self.inject(),
            Direction::Uninject => self.uninject(),
        };
        self.add_warnings(&mut reconciled);
        acknowledge(self.template, &mut reconciled.warnings);
        reconciled
    }

    fn inject(&self) -> Reconciled {
        let protected = self
            .existing
            .and_then(|existing| self.protected_drift(existing));
        let Desired { report, adoption } = self.desired(protected);
        let cause = report.cause.clone();
        let mut reconciled = match (self.existing, adoption) {
            (_, Some(adoption)) => self.adopt(&adoption, report),
            (Some(existing), None) => self.update(existing, protected, report),
            (None, None) => self.insert(report),
        };
        reconciled.cause.get_or_insert(cause);
        reconciled
    }

    fn uninject(&self) -> Reconciled {
        let Some(existing) = self.existing else {
            let offset = self.tree.place(self.template.node).start;
            let decision = Finding::without_details(Reason::NotInjected, offset, self.at);
            return Reconciled::of(decision, Vec::new());
        };
        let refusal = match self.protected_drift(existing) {
            Some(drift) => Some(self.refuse_drift(drift, existing, None)),
            None => self.refuse_mounted_volume(existing, None),
        };
        if let Some(refusal) = refusal {
            return Reconciled::of(refusal, Vec::new());
        }
        Reconciled {
            action: Some(Action::remove(self.removal(existing))),
            ..self.report(Reason::Removed, existing.kinds(), Vec::new())
        }
    }

    /// Reconciles a template without an existing injection.
    fn insert(&self, report: DecisionReport) -> Reconciled {
        let plan = match report.decision {
            Decision::Add(plan) => plan,
            Decision::Skip(finding) | Decision::Refuse(finding) => {
                return Reconciled::of(finding, report.warnings);
            }
        };
        let mut reconciled = self
            .report(Reason::Injected, plan.kinds(), report.warnings)
            .with_components(&plan, report.wait_for_cause);
        if let Some(skip) = report.no_agent {
            reconciled.decision.message += &format!("; no agent: {}", skip.message);
        }
        reconciled.action = Some(Action {
            then: Some(Addition {
                plan,
                place: AgentPlace::Last,
            }),
            ..Action::default()
        });
        reconciled
    }

    /// Adds the warnings that depend on the outcome.
    fn add_warnings(&self, reconciled: &mut Reconciled) {
        let (tree, at, template) = (self.tree, self.at, self.template);
        let reason = reconciled.decision.reason;
        let warnings = &mut reconciled.warnings;
        if self.options.direction == Direction::Inject {
            let adopted = (reason == Reason::Adopted).then_some(self.options.tense);
            warnings.extend(plain_api_key::findings(tree, at, template, adopted));
        }
        if reconciled.action.is_none() {
            if self.existing.is_none() {
                warnings.extend(record_lost::finding(tree, at, template, reason));
            }
            if reason.class() == Class::Refused {
                warnings.retain(|warning| !warning.reason.is_about_change());
            }
            return;
        }
        let mut about_change = None;
        if self.options.direction == Direction::Inject {
            about_change = owned(tree, self.resource);
        }
        // The owner says more than that the template is immutable.
        if about_change.is_none() {
            let offset = tree.place(template.node).start;
            // An object with an injected agent is probably in the cluster.
            let is_injected = matches!(reason, Reason::Updated | Reason::Removed);
            about_change = immutable(tree, self.resource, at, offset)
                .map(|finding| finding.note_if(!is_injected));
        }
        warnings.extend(about_change);
    }

    /// Decides about the template as it is, or as it would be.
    fn decide(&self, template: &PodTemplate) -> DecisionReport {
        decide(self.tree, self.resource, self.at, template, self.context)
    }

    fn finding(&self, reason: Reason, message: impl Into<String>) -> Finding {
        let offset = self.tree.place(self.template.node).start;
        Finding::new(reason, message, offset, self.at)
    }

    /// Reports a decision in the words of its reason, about these components.
    fn report(&self, reason: Reason, kinds: ComponentKinds, warnings: Vec<Finding>) -> Reconciled {
        let message = match reason.done() {
            Some(done) => kinds.passive(self.options.tense, done),
            None => format!("{} is up to date", kinds.subject()),
        };
        Reconciled::of(self.finding(reason, message), warnings)
    }

    fn patch_target(&self) -> PatchTarget<'_, '_> {
        PatchTarget {
            tree: self.tree,
            template: self.template,
            path: self.path,
        }
    }

    fn removal(&self, existing: &ExistingInjection) -> TemplatePatch {
        self.patch_target().removal(existing, &[])
    }
}

/// Returns the place of a finding as the cause of a decision.
pub fn place(finding: &Finding) -> Option<Cause> {
    let offset = finding.offset?;
    let pointer = finding.pointer.clone();
    Some(Cause::Manifest { offset, pointer })
}
