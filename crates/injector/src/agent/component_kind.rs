//! The kinds of components, and the words for them in sentences.

use crate::options::Tense;
use mackerel::names::CONTAINER;
use manifest::ContainerList;

/// Name of the init container that waits.
pub const WAIT_FOR_CONTAINER: &str = "mackerel-wait-for";

/// The kind of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentKind {
    Agent,
    /// The init container that waits for hosts.
    WaitFor,
}

impl ComponentKind {
    /// Every kind, in the order of insertion.
    pub const ALL: [ComponentKind; 2] = [ComponentKind::Agent, ComponentKind::WaitFor];

    /// Returns the name of the container.
    pub fn container(self) -> &'static str {
        match self {
            ComponentKind::Agent => CONTAINER,
            ComponentKind::WaitFor => WAIT_FOR_CONTAINER,
        }
    }

    /// Returns the lists of the PodSpec that may hold the container.
    pub fn lists(self) -> &'static [ContainerList] {
        match self {
            ComponentKind::Agent => &[ContainerList::Containers, ContainerList::InitContainers],
            ComponentKind::WaitFor => &[ContainerList::InitContainers],
        }
    }

    /// Returns true if volumes may be added with the container.
    pub(crate) fn has_volumes(self) -> bool {
        self == ComponentKind::Agent
    }
}

/// A set of components, as the subject of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComponentKinds {
    agent: bool,
    wait_for: bool,
}

impl FromIterator<ComponentKind> for ComponentKinds {
    fn from_iter<I: IntoIterator<Item = ComponentKind>>(kinds: I) -> Self {
        let mut set = Self::default();
        for kind in kinds {
            match kind {
                ComponentKind::Agent => set.agent = true,
                ComponentKind::WaitFor => set.wait_for = true,
            }
        }
        set
    }
}

impl From<ComponentKind> for ComponentKinds {
    fn from(kind: ComponentKind) -> Self {
        Self::from_iter([kind])
    }
}

impl ComponentKinds {
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub fn contains(self, kind: ComponentKind) -> bool {
        match kind {
            ComponentKind::Agent => self.agent,
            ComponentKind::WaitFor => self.wait_for,
        }
    }

    /// Returns the subject of a sentence, in the singular.
    pub fn subject(self) -> &'static str {
        match (self.agent, self.wait_for) {
            (true, true) => "the agent with wait-for",
            (false, true) => "wait-for",
            (_, false) => "the agent",
        }
    }

    /// `the agent was added`, `wait-for would be removed`
    pub(crate) fn passive(self, tense: Tense, done: &str) -> String {
        format!("{} {} {done}", self.subject(), tense.auxiliary())
    }
}
