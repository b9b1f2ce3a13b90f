//! The action for one template: a removal or replacement, and then an insertion.

use crate::agent::plan::Plan;
use crate::agent::wait_for::WaitFor;
use crate::reconcile::patch::{ListPositions, TemplatePatch};
use crate::report::{Cause, Finding};
use std::rc::Rc;

/// The action for one template, in two steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Action {
    /// Removes or replaces the existing injection.
    pub(crate) first: TemplatePatch,
    /// Is added afterwards.
    pub(crate) then: Option<(Plan, ListPositions)>,
    /// The finding of the decision if the existing injection is no longer wanted: reported when it cannot be removed.
    pub(crate) unwanted: Option<Finding>,
}

/// An init container that waits, and its cause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    pub(crate) wait_for: Rc<WaitFor>,
    /// The annotation that requests it.
    pub(crate) asked: Cause,
}
