//! `/mutate`: a pod that is being created.

use crate::operations;
use crate::reviewer::Reviewer;
use crate::verdict::Verdict;
use injector::{
    AgentPlace, ComponentKind, Decision, EarlierReadings, ExistingInjection, PatchTarget, Plan,
    TemplatePatch, UneditableChange, copied_record, decide,
};
use manifest::{PodTemplate, Resource};
use report::{Class, Finding, Reason};
use yaml_json_patch::Tree;

impl Reviewer {
    /// Decides about a pod. An agent that it brings, injected into its manifest or by an earlier call, stays as it is.
    pub(super) fn pod(&self, tree: &Tree<'_>, resource: &Resource) -> Verdict {
        let mut pod = PodTemplate::view(tree, resource.node);
        pod.see_token(tree);
        let existing = ExistingInjection::take_from(&mut pod, tree, &EarlierReadings::default());
        let finding = |reason: Reason| Finding::without_details(reason, 0, "");
        if let Some(existing) = &existing {
            if let Some(copied) = copied_record(tree, existing, "") {
                let findings = [copied.clone()].into_iter().collect();
                return Verdict::warn(copied, findings);
            }
            if existing.kinds().contains(ComponentKind::Agent) {
                return Verdict::leave(finding(Reason::Unchanged));
            }
        }
        let report = decide(tree, resource, "", &pod, self.context());
        let policy = self.severity_policy();
        let mut warnings = report.warnings;
        warnings.retain(|warning| {
            warning.reason.class() == Class::Refused
                || matches!(
                    warning.reason,
                    Reason::AnnotationNotAllowed | Reason::MisplacedAnnotation
                ) && !policy.is_acknowledged(warning)
        });
        let plan = match report.decision {
            Decision::Add(plan) => plan,
            Decision::Skip(skip) => return Verdict::warn(skip, warnings.into_iter().collect()),
            Decision::Refuse(refusal) => {
                warnings.insert(0, refusal);
                return Verdict::Refuse(warnings.into_iter().collect());
            }
        };
        let warnings = warnings.into_iter().collect();
        match self.additions(tree, &pod, existing.as_ref(), &plan) {
            Ok(None) => Verdict::warn(finding(Reason::Unchanged), warnings),
            Ok(Some(patch)) => {
                operations::verdict(tree, finding(Reason::Injected), patch, warnings)
            }
            Err(uneditable) => Verdict::refuse(uneditable.into()),
        }
    }

    /// Returns the operations that add what the pod lacks; none if it lacks nothing.
    fn additions(
        &self,
        tree: &Tree<'_>,
        pod: &PodTemplate,
        existing: Option<&ExistingInjection>,
        plan: &Plan,
    ) -> Result<Option<TemplatePatch>, UneditableChange> {
        let target = PatchTarget {
            tree,
            template: pod,
            path: "",
        };
        match (existing, plan.agent()) {
            (None, _) => target
                .insertion(plan, AgentPlace::Last, &self.records)
                .map(Some),
            (Some(existing), Some(agent)) => {
                target.completion(existing, agent, &self.records).map(Some)
            }
            // The init container came with the workload, and no agent is wanted beside it.
            (Some(_), None) => Ok(None),
        }
    }
}
