//! The action for one template: what is removed or replaced first, and what goes in afterwards.

use crate::agent::plan::Plan;
use crate::agent::wait_for::WaitFor;
use crate::reconcile::patch::{ListPositions, TemplatePatch};
use crate::report::{Cause, Finding};
use std::rc::Rc;

/// The action for one template.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Action {
    /// Takes out or replaces what stands there.
    pub(crate) first: TemplatePatch,
    /// Goes in afterwards.
    pub(crate) then: Option<(Plan, ListPositions)>,
    /// Where nobody wants them any more: what is told if they cannot be taken out.
    pub(crate) unwanted: Option<Finding>,
}

/// An init container that waits, and what asked for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    /// It.
    pub(crate) wait_for: Rc<WaitFor>,
    /// The annotation.
    pub(crate) asked: Cause,
}
