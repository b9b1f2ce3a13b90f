//! Warns about a Secret or ConfigMap without the key that the pods need.

use crate::agent::prerequisites::{Presence, Requirement};
use crate::checks::Objects;
use crate::inject::outcome::Remark;
use report::{Finding, Reason};

pub(super) fn remarks(objects: &Objects<'_>, requirements: &[Requirement]) -> Vec<(usize, Remark)> {
    requirements
        .iter()
        .filter(|requirement| requirement.presence == Presence::WithoutKey)
        .filter_map(|requirement| remark(objects, requirement))
        .collect()
}

fn remark(objects: &Objects<'_>, requirement: &Requirement) -> Option<(usize, Remark)> {
    let object = objects.required(requirement).last()?;
    let message = format!(
        "the key {} is missing, which the agent needs",
        requirement.need.key.as_deref()?
    );
    let help = "add the key, or set another one in `apiKey`, `agent.config` or `agent.env`";
    Some(
        object.remark(Finding::new(Reason::MissingKey, message, object.offset, "").with_help(help)),
    )
}
