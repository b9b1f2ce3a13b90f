//! The desired state: the decision about a template without its injection, with what is kept of an agent to adopt.

use crate::agent::ComponentKind;
use crate::decide::{Decision, DecisionReport};
use crate::options::ForeignAgents;
use crate::reconcile::adopt::Adoptable;
use crate::reconcile::drift::Drift;
use crate::reconcile::{Reconciler, place};
use report::{Finding, Reason};

/// The decision, and the foreign agent that the plan replaces, if any.
pub(super) struct Desired {
    pub(super) report: DecisionReport,
    pub(super) adoption: Option<Adoptable>,
}

impl Reconciler<'_, '_> {
    /// Decides about the template. With `--adopt`, a foreign agent is taken out first, and its settings become annotations, which
    /// the decision then reads. A template with protected drift adopts nothing.
    pub(super) fn desired(&self, protected: Option<Drift>) -> Desired {
        if self.options.foreign_agents == ForeignAgents::Respect {
            return Desired {
                report: self.decide(self.template),
                adoption: None,
            };
        }
        let Some(mut adoption) = Adoptable::find(self.tree, self.template, self.existing) else {
            return Desired {
                report: self.refuse_foreign_agent(self.decide(self.template)),
                adoption: None,
            };
        };
        let mut report = self.decide(&adoption.without);
        if protected.is_none()
            && let Some(agent) = report.decision.agent()
        {
            adoption.kept = self.replacement(&adoption, agent).annotations();
            if !adoption.kept.is_empty() {
                report = self.decide(&adoption.with_annotations(self.tree));
            }
        }
        let report = self.refuse_foreign_agent(report);
        let adopts = protected.is_none() && report.decision.agent().is_some();
        Desired {
            report,
            adoption: adopts.then_some(adoption),
        }
    }

    /// Refuses a template that still has a foreign agent although one was to be adopted.
    fn refuse_foreign_agent(&self, report: DecisionReport) -> DecisionReport {
        let Some(skip) = report.foreign_agent() else {
            return report;
        };
        let existing = self.existing;
        // An injected agent under a new name is a hand edit.
        if existing.is_some_and(|existing| self.renamed_agent(existing).is_some()) {
            return report;
        }
        let agents = self
            .template
            .containers
            .iter()
            .filter(|container| container.is_agent)
            .count();
        let is_injected =
            existing.is_some_and(|existing| existing.kinds().contains(ComponentKind::Agent));
        let (message, help) = if is_injected {
            (
                "the template also has an injected agent".to_owned(),
                "remove one of the agents",
            )
        } else if agents == 1 {
            (
                "the agent is an ephemeral container, which cannot be adopted".to_owned(),
                "remove it",
            )
        } else {
            (
                format!("found {agents} agent containers; only one can be adopted"),
                "remove all but one",
            )
        };
        let refusal = Finding {
            message,
            help: Some(help.to_owned()),
            reason: Reason::AdoptRefused,
            ..skip.clone()
        };
        DecisionReport {
            cause: place(&refusal).unwrap_or(report.cause),
            decision: Decision::Refuse(refusal),
            ..report
        }
    }
}
