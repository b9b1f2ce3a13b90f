//! `/warn` and `/wait-for`: a workload that is applied.

use crate::findings::Findings;
use crate::operations;
use crate::review::AdmissionRequest;
use crate::reviewer::Reviewer;
use crate::verdict::Verdict;
use injector::{
    AgentPlace, Decision, DecisionReport, EarlierReadings, ExistingInjection, PatchTarget, Plan,
    TemplatePatch, copied_record, decide,
};
use manifest::{PodTemplate, Resource, Templates};
use report::{Class, Finding, Reason};
use std::sync::Arc;
use yaml_json_patch::Tree;

/// Templates that get the init container in one answer, which has more than a kilobyte for each. A Deployment has one template.
const MAX_WAITING_TEMPLATES: usize = 1000;
/// Bytes of a JSON Pointer to a template: each finding about it has a copy. YAML takes no key above 1,024 characters.
const MAX_POINTER: usize = 4 << 10;

/// A template of the workload.
struct WorkloadTemplate {
    /// JSON Pointer from the workload.
    pointer: String,
    /// The template without an existing injection.
    view: PodTemplate,
    existing: Option<ExistingInjection>,
    report: DecisionReport,
}

impl Reviewer {
    /// Warns about annotations without effect, and about refusals that the workload's pods will meet.
    pub(super) fn warn(&self, tree: &Tree<'_>, resource: &Resource) -> Verdict {
        let mut decision = None;
        let mut findings = Findings::default();
        let policy = self.severity_policy();
        for template in self.templates(tree, resource) {
            match (&template.existing, template.report.decision) {
                (Some(existing), _) => {
                    findings.extend(copied_record(tree, existing, &template.pointer));
                }
                (None, Decision::Add(_)) => {}
                (None, Decision::Skip(skip)) => _ = decision.get_or_insert(skip),
                (None, Decision::Refuse(refusal)) => {
                    decision.get_or_insert_with(|| refusal.clone());
                    findings.extend([refusal]);
                }
            }
            for warning in template.report.warnings {
                if concerns_the_author(&warning) && !policy.is_acknowledged(&warning) {
                    findings.extend([warning]);
                }
            }
        }
        let decision = decision
            .or_else(|| findings.first().cloned())
            .unwrap_or_else(|| Finding::new(Reason::Unchanged, "nothing to warn about", 0, ""));
        Verdict::warn(decision, findings)
    }

    /// Adds the init container that waits to templates that ask for it and do not have it. One that is there stays as it is.
    pub(super) fn wait_for(
        &self,
        tree: &Tree<'_>,
        resource: &Resource,
        request: &AdmissionRequest<'_>,
    ) -> Verdict {
        let mut patch = TemplatePatch::default();
        let mut waiting = 0;
        for template in self.templates(tree, resource) {
            let Decision::Add(plan) = &template.report.decision else {
                continue;
            };
            let Some(wait_for) = plan.wait_for().filter(|_| template.existing.is_none()) else {
                continue;
            };
            waiting += 1;
            if waiting > MAX_WAITING_TEMPLATES {
                let message =
                    format!("more than {MAX_WAITING_TEMPLATES} pod templates ask for wait-for");
                return Verdict::refuse(Finding::new(Reason::Uneditable, message, 0, ""));
            }
            let alone = Plan {
                components: vec![Arc::clone(wait_for)],
            };
            let target = PatchTarget {
                tree,
                template: &template.view,
                path: &template.pointer,
            };
            match target.insertion(&alone, AgentPlace::Last, &self.records) {
                Ok(insertion) => patch.operations.extend(insertion.operations),
                Err(uneditable) => return Verdict::refuse(uneditable.into()),
            }
        }
        if patch.operations.is_empty() {
            return Verdict::leave(request.not_selected());
        }
        let message = "the wait-for init container was added";
        let finding = Finding::new(Reason::Injected, message, 0, "");
        operations::verdict(tree, finding, patch, Findings::default())
    }

    /// Returns the templates, one after the other: their warnings may be many.
    fn templates(
        &self,
        tree: &Tree<'_>,
        resource: &Resource,
    ) -> impl Iterator<Item = WorkloadTemplate> {
        let gvk = resource.gvk.as_ref();
        let table = self.config.workloads();
        let Templates { mut found, .. } = table.templates(tree, resource.node, |kind| {
            gvk.is_some_and(|gvk| kind.matches(gvk))
        });
        found.retain(|found| found.pointer.len() <= MAX_POINTER);
        found.into_iter().map(move |found| {
            let pointer = found.pointer.clone();
            let mut view = PodTemplate::of_found(tree, found);
            let existing =
                ExistingInjection::take_from(&mut view, tree, &EarlierReadings::default());
            let report = decide(tree, resource, &pointer, &view, self.context());
            WorkloadTemplate {
                pointer,
                view,
                existing,
                report,
            }
        })
    }
}

/// Returns true for warnings that the author of the manifest can act upon, and that no pod will show.
fn concerns_the_author(finding: &Finding) -> bool {
    use Reason::{AnnotationNotAllowed, IdleAnnotation, MisplacedAnnotation, UnknownAnnotation};
    matches!(
        finding.reason,
        AnnotationNotAllowed | IdleAnnotation | MisplacedAnnotation | UnknownAnnotation
    ) || finding.reason.class() == Class::Refused
}
