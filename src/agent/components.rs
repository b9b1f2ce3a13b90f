//! The components of an injection: the agent, the init container that waits for hosts, or both.

use crate::options::Tense;

/// One component or both, never none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Components<A, W> {
    Agent(A),
    WaitFor(W),
    Both(A, W),
}

/// The components without their values.
pub(crate) type ComponentSet = Components<(), ()>;

impl<A, W> Components<A, W> {
    /// Returns none if both are absent.
    pub(crate) fn of(agent: Option<A>, wait_for: Option<W>) -> Option<Self> {
        match (agent, wait_for) {
            (Some(agent), Some(wait_for)) => Some(Components::Both(agent, wait_for)),
            (Some(agent), None) => Some(Components::Agent(agent)),
            (None, Some(wait_for)) => Some(Components::WaitFor(wait_for)),
            (None, None) => None,
        }
    }

    pub(crate) fn agent(&self) -> Option<&A> {
        match self {
            Components::Agent(agent) | Components::Both(agent, _) => Some(agent),
            Components::WaitFor(_) => None,
        }
    }

    pub(crate) fn agent_mut(&mut self) -> Option<&mut A> {
        match self {
            Components::Agent(agent) | Components::Both(agent, _) => Some(agent),
            Components::WaitFor(_) => None,
        }
    }

    pub(crate) fn wait_for(&self) -> Option<&W> {
        match self {
            Components::WaitFor(wait_for) | Components::Both(_, wait_for) => Some(wait_for),
            Components::Agent(_) => None,
        }
    }

    pub(crate) fn component_set(&self) -> ComponentSet {
        match self {
            Components::Agent(_) => Components::Agent(()),
            Components::WaitFor(_) => Components::WaitFor(()),
            Components::Both(..) => Components::Both((), ()),
        }
    }
}

impl ComponentSet {
    /// Returns the subject of a sentence, in the singular.
    pub(crate) fn subject(self) -> &'static str {
        match self {
            Components::Agent(()) => "the agent",
            Components::WaitFor(()) => "wait-for",
            Components::Both((), ()) => "the agent with wait-for",
        }
    }

    /// `the agent was added`, `wait-for would be removed`
    pub(crate) fn passive(self, tense: Tense, done: &str) -> String {
        format!("{} {} {done}", self.subject(), tense.auxiliary())
    }
}
