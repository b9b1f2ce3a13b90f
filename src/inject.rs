//! The way of the data in one place: read, find, decide, patch, splice, verify.

use crate::config::Config;
use crate::edit::Edit;
use crate::report::{Finding, Outcome};

/// Which way, and how far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Put the agent in, bring it up to date, or take it out where it is no longer wanted.
    #[default]
    Inject,
    /// Take out everything that carries our record.
    Uninject,
}

/// What the caller allows beyond the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Inject or uninject.
    pub direction: Direction,
    /// Overwrite what was edited by hand.
    pub force: bool,
    /// Refuse where a warning would be given.
    pub strict: bool,
}

/// What one text gives.
#[derive(Debug, Clone, Default)]
pub struct Injection {
    /// Sorted, without overlap; empty when nothing changes.
    pub edits: Vec<Edit>,
    /// One per pod template, in order of the text.
    pub outcomes: Vec<Outcome>,
    /// Findings that belong to no pod template: documents that cannot be read, lost namespaces.
    pub findings: Vec<Finding>,
    /// Resources without a pod template.
    pub without_template: usize,
}

/// Injects one text: a stream of documents, or a ResourceList.
#[must_use]
pub fn inject(_text: &str, _config: &Config, _options: Options) -> Injection {
    Injection::default()
}
