//! The difference between an existing injection and the decision of today: it is up to date, updated, removed, or left as it is.

use crate::agent::canonical::Digest;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::replaceable_names::{Rename, ReplaceableName};
use crate::agent::{Component, ComponentKind};
use crate::decide::{Decision, DecisionReport};
use crate::reconcile::apply::{Action, Addition};
use crate::reconcile::differing::listed_in_short;
use crate::reconcile::drift::Drift;
use crate::reconcile::patch::AgentPlace;
use crate::reconcile::{Reconciled, Reconciler, place};
use config::OnError;
use mackerel::annotations::Annotation;
use report::{Class, Finding, Reason};
use std::sync::Arc;

impl Reconciler<'_, '_> {
    /// Reconciles a template with an existing injection. `protected` is the drift that must not be overwritten.
    pub(super) fn update(
        &self,
        existing: &ExistingInjection,
        protected: Option<Drift>,
        mut report: DecisionReport,
    ) -> Reconciled {
        if let Some(foreign) = report.foreign_agent()
            && protected.is_none()
            && existing.container(ComponentKind::Agent).is_some()
        {
            return self.keep_beside(foreign.clone(), report.warnings);
        }
        match (&report.decision, protected) {
            (Decision::Add(plan), Some(drift)) if !drift.is_wanted(existing, plan) => {
                let refusal = self.refuse_drift(drift, existing, Some(plan));
                Reconciled {
                    cause: place(&refusal),
                    ..self.refused(existing, refusal, report.warnings)
                }
            }
            (Decision::Add(plan), _) => {
                let plan = self.keep_names(existing, plan.clone(), &mut report.warnings);
                self.replace(existing, plan, report)
            }
            (Decision::Refuse(refusal), _) => {
                self.refused(existing, refusal.clone(), report.warnings)
            }
            (Decision::Skip(skip), protected) => {
                self.remove(existing, protected, skip.clone(), report.warnings)
            }
        }
    }

    /// Removes the existing components and adds those of the plan, unless they are the same.
    fn replace(
        &self,
        existing: &ExistingInjection,
        plan: Plan,
        report: DecisionReport,
    ) -> Reconciled {
        let mut warnings = report.warnings;
        // With `--force` there may be drift, which the record does not show.
        if existing.is_current(&plan) && Drift::detect(existing).is_none() {
            // Notes were reported at the injection.
            warnings.retain(|warning| warning.reason.class() != Class::Note);
            return self
                .report(Reason::Unchanged, existing.kinds(), warnings)
                .with_components(&plan, report.wait_for_cause);
        }
        if let Some(refusal) = self.refuse_mounted_volume(existing, Some(&plan)) {
            return self.refused(existing, refusal, warnings);
        }
        let tense = self.options.tense;
        let mut message = existing.describe_update(tense, &plan, report.no_agent.as_ref());
        let changed = existing.changed_fields(&plan);
        if !changed.is_empty() {
            message += &format!("; changed: {}", listed_in_short(&changed));
        }
        let decision = self.finding(Reason::Updated, message);
        let reconciled =
            Reconciled::of(decision, warnings).with_components(&plan, report.wait_for_cause);
        Reconciled {
            action: Some(Action {
                then: Some(Addition {
                    plan,
                    place: AgentPlace::Last,
                }),
                ..Action::remove(self.removal(existing))
            }),
            ..reconciled
        }
    }

    /// Removes components that are no longer wanted, or says why they stay.
    fn remove(
        &self,
        existing: &ExistingInjection,
        protected: Option<Drift>,
        skip: Finding,
        warnings: Vec<Finding>,
    ) -> Reconciled {
        let kinds = existing.kinds();
        // No reason to remove an agent: a container that has lost its `image` by mistake looks like a patch.
        if matches!(skip.reason, Reason::Disabled | Reason::Patch) {
            let message = format!(
                "{} of an earlier run was not removed; `uninject` removes it",
                kinds.subject()
            );
            return self.still_injected(skip, warnings, message);
        }
        let refusal = match protected {
            Some(drift) => Some(self.refuse_drift(drift, existing, None)),
            None => self.refuse_mounted_volume(existing, None),
        };
        match refusal {
            // The template is selected: the other agent may be the injected one under a new name.
            Some(refusal) if skip.reason == Reason::AgentPresent => {
                self.refused(existing, refusal, warnings)
            }
            Some(refusal) => {
                let message = format!(
                    "{} is no longer selected, but was not removed: {}",
                    kinds.subject(),
                    refusal.message
                );
                self.still_injected(skip, warnings, message)
            }
            None => {
                let removed = kinds.passive(self.options.tense, "removed");
                let message = format!("{removed}: {}", skip.message);
                Reconciled {
                    action: Some(Action {
                        unwanted: Some(skip),
                        ..Action::remove(self.removal(existing))
                    }),
                    ..Reconciled::of(self.finding(Reason::Removed, message), warnings)
                }
            }
        }
    }

    /// Reports a skip, with a warning that the injection stays.
    fn still_injected(
        &self,
        skip: Finding,
        mut warnings: Vec<Finding>,
        message: String,
    ) -> Reconciled {
        warnings.push(self.finding(Reason::StillInjected, message));
        Reconciled::of(skip, warnings)
    }

    /// Keeps an injected agent beside a foreign one, which may have been added by mistake.
    fn keep_beside(&self, foreign: Finding, mut warnings: Vec<Finding>) -> Reconciled {
        let help =
            "remove that container, or run `uninject` to remove the injected agent".to_owned();
        warnings.push(Finding {
            reason: Reason::StillInjected,
            message: format!(
                "{}; the injected agent beside it was neither updated nor removed",
                foreign.message
            ),
            help: Some(help),
            ..foreign.clone()
        });
        // `--adopt` refuses it.
        let skip = Finding {
            help: None,
            ..foreign
        };
        Reconciled::of(skip, warnings)
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
                existing.kinds().subject()
            );
            warnings.push(self.finding(Reason::StillInjected, message));
        }
        Reconciled::of(refusal, warnings)
    }

    /// Keeps names of the agent that Renovate or kustomize have changed since. A name that the configuration sets explicitly wins,
    /// unless kustomize has only added to it. The init container's image is always set by the configuration.
    fn keep_names(
        &self,
        existing: &ExistingInjection,
        mut plan: Plan,
        warnings: &mut Vec<Finding>,
    ) -> Plan {
        let old = existing.component(ComponentKind::Agent);
        let new = plan
            .components
            .iter_mut()
            .find(|component| component.kind == ComponentKind::Agent);
        let (Some(old), Some(new)) = (old, new) else {
            return plan;
        };
        let Some(record) = &old.record else {
            return plan;
        };
        for (name, current) in old.names() {
            let (Some(configured), Some(recorded)) = (new.names.get(name), record.names.get(name))
            else {
                continue;
            };
            if current == configured || *recorded == Digest::of(current) {
                continue;
            }
            // Without the recorded name, the configuration has changed too.
            let is_recorded = *recorded == Digest::of(configured);
            let rename = match name {
                ReplaceableName::Image => Rename::Other,
                _ if is_recorded => Rename::of(configured, current),
                _ => Rename::Other,
            };
            if rename == Rename::Other && self.is_explicit(name) {
                continue;
            }
            *new = Arc::new(Component::with(new, name, current));
            if rename != Rename::Generated {
                warnings.push(self.value_kept(name, current));
            }
        }
        plan
    }

    fn value_kept(&self, name: &ReplaceableName, current: &str) -> Finding {
        let setting = name.setting();
        let message =
            format!("keeping `{setting}` at {current}, which was changed after injection");
        let help = if self.is_explicit(name) {
            "if kustomize has not added the prefix or suffix, restore the configured name"
                .to_owned()
        } else {
            format!(
                "set `{setting}` in the configuration: to this value to accept it, to another one to override it"
            )
        };
        self.finding(Reason::ValueKept, message).with_help(help)
    }

    /// Returns true if the configuration or an annotation sets the name.
    fn is_explicit(&self, name: &ReplaceableName) -> bool {
        let config = self.context.config;
        config.is_explicit(name.setting())
            || name.annotation().is_some_and(|annotation| {
                config.allows(annotation)
                    && self
                        .template
                        .annotations
                        .iter()
                        .any(|given| Annotation::of(&given.key) == Some(annotation))
            })
    }
}
