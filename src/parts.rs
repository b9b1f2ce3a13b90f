//! What we add to a pod template: the agent, the init container that waits for hosts, or both. Each is asked for by
//! itself.

use crate::agent::Agent;
use crate::inject::Tense;
use crate::wait_for::WaitFor;
use serde_json::Value;
use std::rc::Rc;

/// One of the two, or both; never nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts<A, W> {
    /// The agent.
    Agent(A),
    /// The init container that waits.
    WaitFor(W),
    /// Both.
    Both(A, W),
}

/// What is to go in.
pub(crate) type Plan = Parts<Rc<Agent>, Rc<WaitFor>>;

/// Which of the two.
pub(crate) type Kinds = Parts<(), ()>;

impl<A, W> Parts<A, W> {
    /// None where there is neither.
    #[must_use]
    pub(crate) fn of(agent: Option<A>, wait_for: Option<W>) -> Option<Self> {
        match (agent, wait_for) {
            (Some(agent), Some(wait_for)) => Some(Parts::Both(agent, wait_for)),
            (Some(agent), None) => Some(Parts::Agent(agent)),
            (None, Some(wait_for)) => Some(Parts::WaitFor(wait_for)),
            (None, None) => None,
        }
    }

    /// The agent, if it is among them.
    #[must_use]
    pub(crate) fn agent(&self) -> Option<&A> {
        match self {
            Parts::Agent(agent) | Parts::Both(agent, _) => Some(agent),
            Parts::WaitFor(_) => None,
        }
    }

    /// As [`Parts::agent`], to be changed.
    pub(crate) fn agent_mut(&mut self) -> Option<&mut A> {
        match self {
            Parts::Agent(agent) | Parts::Both(agent, _) => Some(agent),
            Parts::WaitFor(_) => None,
        }
    }

    /// The init container, if it is among them.
    #[must_use]
    pub(crate) fn wait_for(&self) -> Option<&W> {
        match self {
            Parts::WaitFor(wait_for) | Parts::Both(_, wait_for) => Some(wait_for),
            Parts::Agent(_) => None,
        }
    }

    /// Which of the two it is.
    #[must_use]
    pub(crate) fn kinds(&self) -> Kinds {
        match self {
            Parts::Agent(_) => Parts::Agent(()),
            Parts::WaitFor(_) => Parts::WaitFor(()),
            Parts::Both(..) => Parts::Both((), ()),
        }
    }
}

impl Kinds {
    /// As the subject of a sentence, in the singular.
    #[must_use]
    pub(crate) fn subject(self) -> &'static str {
        match self {
            Parts::Agent(()) => "the agent",
            Parts::WaitFor(()) => "wait-for",
            Parts::Both((), ()) => "the agent with wait-for",
        }
    }

    /// `the agent was added`, `wait-for would be taken out`
    #[must_use]
    pub(crate) fn passive(self, tense: Tense, done: &str) -> String {
        format!("{} {} {done}", self.subject(), tense.auxiliary())
    }
}

impl Plan {
    /// Names of the pull secrets that the pod lacks.
    #[must_use]
    pub(crate) fn pull_secrets(&self) -> &[String] {
        match self {
            Parts::Agent(agent) | Parts::Both(agent, _) => &agent.pull_secrets,
            Parts::WaitFor(wait_for) => &wait_for.pull_secrets,
        }
    }

    /// What goes into a list of containers, in its order there.
    pub(crate) fn containers(&self, field: &str) -> Vec<Rc<Value>> {
        let agent = self.agent().filter(|agent| agent.sidecar.field() == field).map(|agent| &agent.container);
        let wait_for = self.wait_for().filter(|_| field == WaitFor::FIELD).map(|wait_for| &wait_for.container);
        agent.into_iter().chain(wait_for).map(Rc::clone).collect()
    }
}
