//! `/mutate`: a pod that is being created.

use crate::admission::{Reviewer, Verdict, operations};
use crate::agent::ComponentKind;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::decide::{Decision, decide};
use crate::inject::severity::SeverityPolicy;
use crate::mackerel::annotations::Annotation;
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::resource::Resource;
use crate::options::Options;
use crate::reconcile::drift::{Drift, DriftDescription};
use crate::reconcile::patch::{ListPositions, PatchTarget, TemplatePatch, WrongKind};
use crate::report::{Class, Finding, Reason};
use yaml_json_patch::{Kind, Tree};

impl Reviewer {
    /// Decides about a pod. An agent that it brings, injected into its manifest or by an earlier call, stays as it is.
    pub(super) fn pod(&self, tree: &Tree<'_>, resource: &Resource) -> Verdict {
        let mut pod = PodTemplate::view(tree, resource.node);
        pod.see_token(tree);
        let existing = ExistingInjection::take_from(&mut pod, tree);
        let finding = |reason: Reason| Finding::new(reason, reason.sentence(), 0, "");
        if let Some(copied) = existing
            .as_ref()
            .and_then(|existing| copied_record(tree, existing, ""))
        {
            return Verdict::Warn(copied.clone(), [copied].into_iter().collect());
        }
        if existing
            .as_ref()
            .is_some_and(|existing| existing.kinds().contains(ComponentKind::Agent))
        {
            return Verdict::Leave(finding(Reason::Unchanged));
        }
        let report = decide(tree, resource, "", &pod, self.context());
        let policy = SeverityPolicy::of(&self.config, Options::default());
        let told = |warning: &Finding| {
            warning.reason.class() == Class::Refused
                || (warning.reason == Reason::AnnotationNotAllowed
                    && !policy.is_acknowledged(warning))
        };
        let warnings = report.warnings.into_iter().filter(told);
        let plan = match report.decision {
            Decision::Add(plan) => plan,
            Decision::Skip(skip) => return Verdict::Warn(skip, warnings.collect()),
            Decision::Refuse(refusal) => {
                return Verdict::Refuse(std::iter::once(refusal).chain(warnings).collect());
            }
        };
        match self.additions(tree, &pod, existing.as_ref(), &plan) {
            Ok(None) => Verdict::Warn(finding(Reason::Unchanged), warnings.collect()),
            Ok(Some(patch)) => {
                operations::verdict(tree, finding(Reason::Injected), patch, warnings.collect())
            }
            Err(wrong) => Verdict::Refuse([wrong_kind(&wrong)].into_iter().collect()),
        }
    }

    /// Returns the operations that add what the pod lacks; none if it lacks nothing.
    fn additions(
        &self,
        tree: &Tree<'_>,
        pod: &PodTemplate,
        existing: Option<&ExistingInjection>,
        plan: &Plan,
    ) -> Result<Option<TemplatePatch>, WrongKind> {
        let target = PatchTarget {
            tree,
            template: pod,
            path: "",
        };
        match (existing, plan.agent()) {
            (None, _) => {
                let positions = ListPositions::default();
                target.insertion(plan, positions, &self.records).map(Some)
            }
            (Some(existing), Some(agent)) => {
                target.completion(existing, agent, &self.records).map(Some)
            }
            // The init container came with the workload, and no agent is wanted beside it.
            (Some(_), None) => Ok(None),
        }
    }
}

/// Returns the warning about a record whose agent is absent: it was copied, or the agent was removed by hand. Either way it is an
/// opt-out.
pub(super) fn copied_record(
    tree: &Tree<'_>,
    existing: &ExistingInjection,
    at: &str,
) -> Option<Finding> {
    let is_absent = existing.kinds().contains(ComponentKind::Agent)
        && existing.container(ComponentKind::Agent).is_none();
    let drift = Drift::of(existing).filter(|_| is_absent)?;
    let DriftDescription {
        message,
        offset,
        pointer,
        ..
    } = drift.describe(tree, existing, None);
    let help = format!(
        "to get the agent, remove the annotation `{}`",
        Annotation::Record.key()
    );
    Some(
        Finding::new(
            Reason::HandEdited,
            message,
            offset,
            &format!("{at}{pointer}"),
        )
        .with_help(help),
    )
}

/// The refusal of a pod in which a field is no list or mapping. The API server sends none.
pub(super) fn wrong_kind(wrong: &WrongKind) -> Finding {
    let wanted = if wrong.wanted == Kind::Sequence {
        "list"
    } else {
        "mapping"
    };
    Finding::new(
        Reason::Uneditable,
        format!("expected `{}` to be a {wanted}", wrong.parent),
        wrong.offset,
        "",
    )
}
