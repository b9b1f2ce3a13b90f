//! Options of a run that are not part of the configuration.

/// The direction of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Add the agent, update it, or remove it if it is no longer wanted.
    #[default]
    Inject,
    /// Remove everything that an earlier injection added, whatever the configuration says.
    Uninject,
}

/// Treatment of an injected agent that was edited by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandEdits {
    /// Refuse the template (`hand-edited`).
    #[default]
    Respect,
    /// Overwrite or remove it.
    Overwrite,
}

/// Treatment of an agent that the injector did not add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForeignAgents {
    /// Skip the template (`agent-present`).
    #[default]
    Respect,
    /// Replace it in place. Uninjection does not restore it. Refuse the template (`adopt-refused`) if a field would be lost.
    Adopt,
    /// Replace it in place, whatever is lost.
    AdoptLossy,
}

/// Treatment of warnings. It changes neither their severity nor the edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Warnings {
    /// Report them.
    #[default]
    Tell,
    /// Nothing is to be written beside them.
    Refuse,
}

/// Retention of patches in outcomes: they take more memory than the edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patches {
    /// Drop them.
    #[default]
    Drop,
    /// Keep them.
    Keep,
}

/// Retention of agents with their settings in outcomes: they take more memory than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Explanations {
    #[default]
    Drop,
    Keep,
}

/// Tense of messages, so that users do not read the log of a dry run as that of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tense {
    /// The output is written: the agent was added.
    #[default]
    Past,
    /// A dry run: the agent would be added.
    Conditional,
}

impl Tense {
    /// Returns the auxiliary verb of a participle.
    pub(crate) fn auxiliary(self) -> &'static str {
        match self {
            Tense::Past => "was",
            Tense::Conditional => "would be",
        }
    }
}

/// Options of a run that are not part of the configuration. Default: inject, and respect the edits and agents of others.
///
/// ```
/// use injector::{Direction, HandEdits, Options};
///
/// let mut options = Options::new(Direction::Uninject);
/// options.hand_edits = HandEdits::Overwrite;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Inject or uninject. Default: inject.
    pub direction: Direction,
    /// Agents that were edited by hand; the command line's `--force` overwrites. Default: respect.
    pub hand_edits: HandEdits,
    /// Agents that the injector did not add; the command line's `--adopt` adopts. Default: respect.
    pub foreign_agents: ForeignAgents,
    /// Warnings; the command line's `--strict` refuses. Default: tell.
    pub warnings: Warnings,
    /// Patches in outcomes. Default: dropped.
    pub patches: Patches,
    /// Agents with their settings in outcomes, for `explain`. Default: dropped.
    pub explanations: Explanations,
    /// Tense of messages. Default: past.
    pub tense: Tense,
    /// Threads beside the caller's that may work on one text. The result does not depend on their number. Default: none.
    pub further_threads: usize,
}

impl Options {
    /// Returns the default options with a direction.
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
            further_threads: 0,
        }
    }
}
