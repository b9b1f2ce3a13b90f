//! `record-lost`: an injected agent without its record.

use crate::agent::component_kind::WAIT_FOR_CONTAINER;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{CONTAINER, INJECTED, Volume};
use crate::manifest::pod_template::{PodTemplate, mounts};
use crate::report::{Class, Finding, Reason};
use yaml_json_patch::Tree;
use yaml_json_patch::pointer::escape;

/// Finds an injected agent in a template without a record; `at` is the JSON Pointer from the resource to the template, and `decision`
/// the decision about it.
pub fn finding(
    tree: &Tree<'_>,
    at: &str,
    template: &PodTemplate,
    decision: Reason,
) -> Option<Finding> {
    let mut containers = template.containers.iter();
    let agent = containers
        .find(|container| container.is_agent && mounts(tree, container, &Volume::Tmp.name()))?;
    let status = template.annotation(Annotation::Status.key());
    // The original injector sets the same status and has no such volume. Who deletes the record often deletes the status, too.
    let (offset, pointer) = match status.filter(|one| one.value.as_deref() == Some(INJECTED)) {
        Some(status) => {
            let pointer = format!("/metadata/annotations/{}", escape(&status.key));
            (status.offset, pointer)
        }
        None if agent.name.as_deref() == Some(CONTAINER) => {
            (tree.place(agent.node).start, agent.pointer())
        }
        None => return None,
    };
    let mut containers = template.containers.iter();
    let waits = containers.any(|container| container.name.as_deref() == Some(WAIT_FOR_CONTAINER));
    // `--adopt` takes over an agent, never an init container that waits.
    let first = match waits {
        true => "remove the container mackerel-wait-for and ",
        false => "",
    };
    let adopt =
        format!("restore the annotation, or {first}run `inject --adopt` to write a new one");
    let help = match (decision, decision.class()) {
        (Reason::NotInjected, _) => format!("{adopt}; then run `uninject` again"),
        (Reason::AgentPresent, _) | (_, Class::Refused) => adopt,
        _ => "restore the annotation, or remove the agent by hand".to_owned(),
    };
    let message = "the agent has no `record` annotation, so it is neither updated nor removed";
    let pointer = format!("{at}{pointer}");
    Some(Finding::new(Reason::RecordLost, message, offset, &pointer).with_help(help))
}
