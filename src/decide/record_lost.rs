//! `record-lost`: an injected agent without its record.

use crate::agent::component_kind::WAIT_FOR_CONTAINER;
use crate::agent::existing::is_agent;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{INJECTED, Volume};
use crate::manifest::pod_template::{PodTemplate, mounts};
use crate::report::{Class, Finding, Reason};
use yaml_json_patch::Tree;
use yaml_json_patch::pointer::escape;

/// Finds an injected agent in a template without a record; `at` is the JSON Pointer from the resource to the template, and `decision`
/// the decision about it.
pub(crate) fn finding(
    tree: &Tree<'_>,
    at: &str,
    template: &PodTemplate,
    decision: Reason,
) -> Option<Finding> {
    let status = template.annotation(Annotation::Status.key())?;
    // The original injector sets the same status, but has no such volume.
    let is_injected = status.value.as_deref() == Some(INJECTED)
        && template.containers.iter().any(|container| {
            is_agent(tree, container) && mounts(tree, container, Volume::Tmp.name())
        });
    if !is_injected {
        return None;
    }
    let is_wait_for = |name: &String| name == WAIT_FOR_CONTAINER;
    let names = template
        .containers
        .iter()
        .filter_map(|container| container.name.as_ref());
    // `--adopt` takes over an agent, never an init container that waits.
    let first = if names.into_iter().any(is_wait_for) {
        "remove the container mackerel-wait-for and "
    } else {
        ""
    };
    let adopt =
        format!("restore the annotation, or {first}run `inject --adopt` to write a new one");
    let help = match (decision, decision.class()) {
        (Reason::NotInjected, _) => format!("{adopt}; then run `uninject` again"),
        (Reason::AgentPresent, _) | (_, Class::Refused) => adopt,
        _ => "restore the annotation, or remove the agent by hand".to_owned(),
    };
    let message = "the agent has no `record` annotation, so it is neither updated nor removed";
    let pointer = format!("{at}/metadata/annotations/{}", escape(&status.key));
    Some(Finding::new(Reason::RecordLost, message, status.offset, &pointer).with_help(help))
}
