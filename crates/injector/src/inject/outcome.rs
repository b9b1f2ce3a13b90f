//! The outcome of one pod template, and remarks about resources without one.

use crate::agent::Component;
use crate::agent::kubelet_access::{PodServiceAccount, RbacSubject};
use crate::agent::prerequisites::Prerequisites;
use crate::reconcile::Waiting;
use json_patch::Patch;
use manifest::Identity;
use report::{Cause, Finding, ReasonSet};
use std::sync::Arc;

/// The outcome of one pod template of one resource.
#[derive(Debug, Clone, PartialEq)]
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
    /// The decision. Its reason's class is neither [`Class::Warning`](report::Class::Warning) nor [`Class::Note`](report::Class::Note).
    pub decision: Finding,
    /// The cause of the decision; none where there was nothing to decide.
    pub cause: Option<Cause>,
    /// Warnings and notes beside the decision. A template that is refused for several reasons has the first one as decision, and
    /// the others here.
    pub warnings: Vec<Finding>,
    /// The warnings that the template's annotation acknowledges. It also decides about warnings because of other files, which are added later.
    pub acknowledged: ReasonSet,
    /// True if the template has an agent of an earlier run that is not known to be outdated; false for `uninject`.
    pub has_wanted_agent: bool,
    /// The components that the template has after the run.
    pub components: InjectedComponents,
    /// RFC 6902, pointers from the resource's root; empty when nothing changes, or unless
    /// [`Patches::Keep`](crate::options::Patches::Keep) asks for patches.
    pub patch: Patch,
}

/// The components that a template has after a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InjectedComponents {
    pub agent: Option<InjectedAgent>,
    /// The init container that waits, if explanations are asked for.
    pub wait_for: Option<Waiting>,
}

/// The agent that a template has after a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectedAgent {
    pub needs: Arc<Prerequisites>,
    /// The owner of its token.
    pub rbac_subject: RbacSubject,
    /// True if the automount setting of its ServiceAccount decides about its token; false where the pod decides or no token is needed.
    pub(crate) is_account_asked: bool,
    /// The agent with its settings, if explanations are asked for.
    pub component: Option<Arc<Component>>,
}

/// A finding about a resource in which no pod template is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// Its resource.
    pub identity: Identity,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// The same as [`Outcome::file`].
    pub file: Option<(String, Option<i64>)>,
    /// A warning or a note.
    pub finding: Finding,
    /// The workloads that a finding about another object concerns.
    pub workloads: Vec<Identity>,
}

/// The resource that a finding is about.
#[derive(Debug, Clone, Copy)]
pub struct ResourceRef<'r> {
    /// Kind and name.
    pub identity: &'r Identity,
    /// JSON Pointer to its pod template; empty where none is known.
    pub template: &'r str,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// The same as [`Outcome::file`].
    pub file: Option<&'r (String, Option<i64>)>,
}

impl Outcome {
    /// Returns the agent that the template has after the run.
    pub fn agent(&self) -> Option<&InjectedAgent> {
        self.components.agent.as_ref()
    }

    /// Returns the prerequisites of that agent.
    pub fn needs(&self) -> Option<&Prerequisites> {
        Some(&self.agent()?.needs)
    }

    /// Returns the owner of that agent's token.
    pub fn rbac_subject(&self) -> Option<&RbacSubject> {
        Some(&self.agent()?.rbac_subject)
    }

    /// Returns the ServiceAccount whose automount setting decides about that agent's token.
    pub(crate) fn token_of(&self) -> Option<&PodServiceAccount> {
        let agent = self.agent()?;
        agent
            .is_account_asked
            .then_some(&agent.rbac_subject.account)
    }

    /// Returns the resource.
    pub fn resource(&self) -> ResourceRef<'_> {
        ResourceRef {
            identity: &self.identity,
            template: &self.template,
            offset: self.offset,
            file: self.file.as_ref(),
        }
    }
}

impl Remark {
    /// Returns the resource.
    pub fn resource(&self) -> ResourceRef<'_> {
        ResourceRef {
            identity: &self.identity,
            template: "",
            offset: self.offset,
            file: self.file.as_ref(),
        }
    }
}
