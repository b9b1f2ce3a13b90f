//! The outcome of one pod template, and remarks about resources without one.

use crate::agent::kubelet_access::{PodServiceAccount, RbacSubject};
use crate::agent::prerequisites::Prerequisites;
use crate::agent::{Component, ComponentKinds};
use crate::inject::unknown_kind::{GroupKind, UnknownTemplates};
use crate::manifest::identity::Identity;
use crate::reconcile::Waiting;
use crate::report::{Cause, Finding, ReasonSet};
use json_patch::Patch;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

/// The outcome of one pod template of one resource.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Its resource.
    pub identity: Identity,
    /// JSON Pointer from the resource to the pod template.
    pub template: String,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// The annotations `config.kubernetes.io/path` and `index`, when the resource carries them: the file that an orchestrator
    /// read it from, and which document of it.
    pub file: Option<(String, Option<i64>)>,
    /// The decision. Its reason's class is neither [`Class::Warning`](crate::report::Class::Warning) nor [`Class::Note`](crate::report::Class::Note).
    pub decision: Finding,
    /// The cause of the decision; none where there was nothing to decide.
    pub cause: Option<Cause>,
    /// Subject of the decision: the agent, the init container that waits, or both; none where nothing changes.
    pub(crate) about: Option<ComponentKinds>,
    /// Warnings and notes beside the decision. A template that is refused for several reasons has the first one as decision, and
    /// the others here.
    pub warnings: Vec<Finding>,
    /// The warnings that the template's annotation acknowledges, for those that other files bring.
    pub(crate) acknowledged: ReasonSet,
    /// True if an agent of an earlier run stands in the template and is not known to be outdated. `uninject` wants none.
    pub(crate) has_wanted_agent: bool,
    /// Prerequisites of the agent that the template has after the run; none where it has no agent of this program.
    pub(crate) needs: Option<Rc<Prerequisites>>,
    /// The list of the PodSpec that holds that agent.
    pub(crate) agent_list: Option<&'static str>,
    /// The agent of the template after the run, if explanations are asked for.
    pub(crate) agent: Option<Rc<Component>>,
    /// The init container that waits which the template has after the run, where explanations are asked for.
    pub(crate) wait_for: Option<Waiting>,
    /// The ServiceAccount that the agent relies on for its token, since the pod does not say; none where it needs none of it.
    pub(crate) token_of: Option<PodServiceAccount>,
    /// Number of pods that the resource asks for, if explanations are asked for; none if the manifest does not have it.
    pub(crate) replicas: Option<u64>,
    /// Owner of the agent's token; none without an agent.
    pub(crate) rbac_subject: Option<RbacSubject>,
    /// RFC 6902, pointers from the resource's root; empty when nothing changes, or unless
    /// [`Patches::Keep`](crate::options::Patches::Keep) asks for patches.
    pub patch: Patch,
}

/// A finding about a resource in which no pod template is known.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Remark {
    /// Its resource.
    pub identity: Identity,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// As of an [`Outcome`].
    pub file: Option<(String, Option<i64>)>,
    /// A warning or a note.
    pub finding: Finding,
    /// The resources that a note `unknown-template` counts.
    pub(crate) unknown: Option<UnknownTemplates>,
}

/// The resource that a finding is about.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ResourceRef<'r> {
    /// Kind and name.
    pub identity: &'r Identity,
    /// JSON Pointer to its pod template; empty where none is known.
    pub template: &'r str,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// As of an [`Outcome`].
    pub file: Option<&'r (String, Option<i64>)>,
}

impl Outcome {
    /// Returns the resource.
    pub(crate) fn subject(&self) -> ResourceRef<'_> {
        let Self {
            identity,
            template,
            offset,
            file,
            ..
        } = self;
        ResourceRef {
            identity,
            template,
            offset: *offset,
            file: file.as_ref(),
        }
    }
}

/// Notes `unknown-template`, one per kind.
pub(crate) type Notes = BTreeMap<GroupKind, Remark>;

impl Remark {
    /// Adds a note to those about earlier resources.
    pub(crate) fn gather(self, notes: &mut Notes) {
        let Some(unknown) = &self.unknown else { return };
        match notes.entry(unknown.kind.clone()) {
            Entry::Occupied(mut first) => first.get_mut().absorb(unknown.clone()),
            Entry::Vacant(vacant) => _ = vacant.insert(self),
        }
    }

    /// Adds the resources of a later note about the same kind.
    pub(crate) fn absorb(&mut self, later: UnknownTemplates) {
        if let Some(unknown) = &mut self.unknown {
            unknown.absorb(later);
            self.finding.message = unknown.message();
            self.finding.help = Some(unknown.help());
        }
    }

    /// Returns the resource.
    pub(crate) fn subject(&self) -> ResourceRef<'_> {
        let Self {
            identity,
            offset,
            file,
            ..
        } = self;
        ResourceRef {
            identity,
            template: "",
            offset: *offset,
            file: file.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::{ComponentKind, ComponentKinds};
    use crate::options::Tense;
    use crate::report::Reason;

    #[test]
    fn what_is_done_to_the_agent_is_said_as_the_reason_has_it() {
        for reason in [Reason::Injected, Reason::Updated, Reason::Removed] {
            let said = reason
                .done()
                .map(|done| ComponentKinds::from(ComponentKind::Agent).passive(Tense::Past, done));
            assert_eq!(said.as_deref(), Some(reason.sentence()));
        }
    }
}
