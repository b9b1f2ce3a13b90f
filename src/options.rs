//! What the caller asks for beside the configuration.

use crate::report::Reason;

/// Whether agents go in or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Direction {
    /// Put the agent in, bring it up to date, or take it out where it is no longer wanted.
    #[default]
    Inject,
    /// Take out everything that an earlier injection put in, whatever the configuration says.
    Uninject,
}

/// What happens to an agent that was edited by hand since it was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HandEdits {
    /// The template is refused (`hand-edited`).
    #[default]
    Respect,
    /// It is overwritten, or taken out all the same.
    Overwrite,
}

/// What happens to an agent that somebody else put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ForeignAgents {
    /// It is left alone, and so is its template (`agent-present`).
    #[default]
    Respect,
    /// It gives way to ours, where it stands. It does not come back when ours is taken out.
    Adopt,
}

/// What a warning does to the run. An injection is the same either way, but for what it counts among its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Warnings {
    /// It is told.
    #[default]
    Tell,
    /// It holds everything back, as a refusal does.
    Refuse,
}

/// Whether outcomes carry their patches, which take more memory than the edits do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Patches {
    /// They do not.
    #[default]
    Drop,
    /// They do.
    Keep,
}

/// Whether outcomes carry their agents, with the settings that each came from, which take more memory than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Explanations {
    /// They do not.
    #[default]
    Drop,
    /// They do.
    Keep,
}

/// Whether what is decided comes to pass. The edits are the same either way, but nobody should read the log of a check as that
/// of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tense {
    /// It is written: the agent was added.
    #[default]
    Past,
    /// It is only shown: the agent would be added.
    Conditional,
}

impl Tense {
    /// The verb in front of a participle.
    #[must_use]
    pub(crate) fn auxiliary(self) -> &'static str {
        match self {
            Tense::Past => "was",
            Tense::Conditional => "would be",
        }
    }

    /// `2 injected`, `2 would be injected`; of what changes nothing always `2 unchanged`.
    #[must_use]
    pub(crate) fn decided(self, count: usize, reason: Reason) -> String {
        match reason.done() {
            Some(_) => self.counted(count, reason.id()),
            None => format!("{count} {}", reason.id()),
        }
    }

    /// `2 added`, `2 would be added`
    #[must_use]
    pub(crate) fn counted(self, count: usize, done: &str) -> String {
        match self {
            Tense::Past => format!("{count} {done}"),
            Tense::Conditional => format!("{count} would be {done}"),
        }
    }
}

/// Where the setting `rbac.generate` has a place to write ClusterRoles and bindings to. What it wrote is taken out by
/// [`Direction::Uninject`] whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Permissions {
    /// Nowhere: what an earlier run wrote stays as it is.
    #[default]
    Leave,
    /// Documents of their own, in front of the others.
    Documents,
    /// Items of the ResourceList, which the text must be.
    Items,
}

/// What the caller asks for beside the configuration. By default: inject, and respect what others did.
///
/// ```
/// use mackerel_agent_injector::options::{Direction, HandEdits, Options};
///
/// let mut options = Options::new(Direction::Uninject);
/// options.hand_edits = HandEdits::Overwrite;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Options {
    /// Inject or uninject. Default: inject.
    pub direction: Direction,
    /// Agents that were edited by hand; the command line's `--force`. Default: respect, which refuses them.
    pub hand_edits: HandEdits,
    /// Agents that are not ours; the command line's `--adopt`. Default: respect, which skips them.
    pub foreign_agents: ForeignAgents,
    /// Whether warnings are errors; the command line's `--strict`. Default: they are told.
    pub warnings: Warnings,
    /// Whether outcomes carry their patches. Default: they do not.
    pub patches: Patches,
    /// What `explain` needs.
    pub(crate) explanations: Explanations,
    /// How decisions are worded. Default: as done.
    pub(crate) tense: Tense,
    /// Where `rbac.generate` may write. Default: nowhere.
    pub permissions: Permissions,
}

impl Options {
    /// The default ones, in a direction.
    #[must_use]
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            hand_edits: HandEdits::Respect,
            foreign_agents: ForeignAgents::Respect,
            warnings: Warnings::Tell,
            patches: Patches::Drop,
            explanations: Explanations::Drop,
            tense: Tense::Past,
            permissions: Permissions::Leave,
        }
    }
}
