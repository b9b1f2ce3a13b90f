//! The record of an agent that is absent.

use crate::agent::ComponentKind;
use crate::agent::existing::ExistingInjection;
use crate::reconcile::drift::{Drift, DriftDescription};
use mackerel::annotations::Annotation;
use report::{Finding, Reason};
use yaml_json_patch::Tree;

/// Returns the warning about a record whose agent is absent: it was copied, or the agent was removed by hand. Either way it is an
/// opt-out.
pub fn copied_record(tree: &Tree<'_>, existing: &ExistingInjection, at: &str) -> Option<Finding> {
    let is_absent = existing.kinds().contains(ComponentKind::Agent)
        && existing.container(ComponentKind::Agent).is_none();
    let drift = Drift::detect(existing).filter(|_| is_absent)?;
    let DriftDescription {
        message,
        offset,
        pointer,
    } = drift.describe(tree, existing, None);
    let pointer = format!("{at}{pointer}");
    let help = format!(
        "to get the agent, remove the annotation `{}`",
        Annotation::Record.key()
    );
    Some(Finding::new(Reason::HandEdited, message, offset, &pointer).with_help(help))
}
