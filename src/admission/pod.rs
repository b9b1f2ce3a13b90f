//! `/mutate`: a pod that is being created.

use crate::admission::{Reviewer, Verdict, operations};
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::decide::{Decision, decide};
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::manifest::resource::{Resource, text};
use crate::reconcile::patch::{ListPositions, TemplatePatch, WrongKind, completion, insertion};
use crate::report::{Class, Finding, Reason};
use yaml_json_patch::{Kind, Tree};

/// The folder in which the ServiceAccount admission plugin mounts a pod's token.
const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Reviewer {
    /// Decides about a pod. An agent that it brings, injected into its manifest or by an earlier call, stays as it is.
    pub(super) fn pod(&self, tree: &Tree<'_>, resource: &Resource) -> Verdict {
        let mut pod = PodTemplate::view(tree, resource.node);
        if !mounts_token(tree, &pod) {
            pod.automount = Some(false);
        }
        let existing = ExistingInjection::take_from(&mut pod, tree);
        let finding = |reason: Reason| Finding::new(reason, reason.sentence(), 0, "");
        if existing.as_ref().is_some_and(|existing| existing.component_set().agent().is_some()) {
            return Verdict::Leave(finding(Reason::Unchanged));
        }
        let report = decide(tree, resource, "", &pod, self.context());
        let plan = match report.decision {
            Decision::Add(plan) => plan,
            Decision::Skip(skip) => return Verdict::Leave(skip),
            Decision::Refuse(refusal) => {
                let others = report.warnings.into_iter().filter(|warning| warning.reason.class() == Class::Refused);
                return Verdict::Refuse(std::iter::once(refusal).chain(others).collect());
            }
        };
        match self.additions(tree, &pod, existing.as_ref(), &plan) {
            Ok(None) => Verdict::Leave(finding(Reason::Unchanged)),
            Ok(Some(patch)) => operations::verdict(tree, finding(Reason::Injected), patch),
            Err(wrong) => Verdict::Refuse(vec![wrong_kind(&wrong)]),
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
        match (existing, plan.agent()) {
            (None, _) => insertion(tree, pod, "", plan, ListPositions::default(), &self.records).map(Some),
            (Some(existing), Some(agent)) => completion(tree, pod, existing, agent, &self.records).map(Some),
            // The init container came with the workload, and no agent is wanted beside it.
            (Some(_), None) => Ok(None),
        }
    }
}

/// True if a container mounts a token, as the ServiceAccount plugin has seen to before any webhook. Where the ServiceAccount turns
/// that off, the pod itself does not say so.
fn mounts_token(tree: &Tree<'_>, pod: &PodTemplate) -> bool {
    pod.containers.iter().filter(|container| container.list != ContainerList::EphemeralContainers).any(|container| {
        let mounts = tree.member(container.node, "volumeMounts");
        let mut mounts = mounts.into_iter().flat_map(|mounts| tree.items(mounts));
        mounts
            .any(|mount| text(tree, mount, "mountPath").is_some_and(|path| path.trim_end_matches('/') == TOKEN_FOLDER))
    })
}

/// The refusal of a pod in which a field is no list or mapping. The API server sends none.
#[cold]
pub(super) fn wrong_kind(wrong: &WrongKind) -> Finding {
    let wanted = if wrong.wanted == Kind::Sequence { "list" } else { "mapping" };
    Finding::new(Reason::Uneditable, format!("expected `{}` to be a {wanted}", wrong.parent), wrong.offset, "")
}
