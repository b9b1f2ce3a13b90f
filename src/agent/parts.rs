//! The parts of an injection: the agent, the init container that waits for hosts, or both.

use crate::options::Tense;

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
