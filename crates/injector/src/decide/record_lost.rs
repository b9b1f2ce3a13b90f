//! `record-lost`: an injected agent without its record.

use crate::agent::component_kind::WAIT_FOR_CONTAINER;
use mackerel::annotations::Annotation;
use mackerel::names::{CONTAINER, INJECTED};
use manifest::PodTemplate;
use report::{Class, Finding, Reason};
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
    // The original injector, which sets the same status, gives no pattern.
    let pattern = format!("^{CONTAINER}$");
    let is_ours = |variable| {
        tree.member_text(variable, "value")
            .is_some_and(|value| value.starts_with(&pattern))
    };
    let containers = &template.containers;
    let agent = containers
        .iter()
        .find(|one| one.is_agent && tree.member_items(one.node, "env").any(is_ours))?;
    let status = template.annotation(Annotation::Status.key());
    // Users who delete the record often delete the status, too.
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
    let waits = containers
        .iter()
        .any(|container| container.name.as_deref() == Some(WAIT_FOR_CONTAINER));
    // `--adopt` takes over an agent, never an init container that waits.
    let first = if waits {
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
    let pointer = format!("{at}{pointer}");
    Some(Finding::new(Reason::RecordLost, message, offset, &pointer).with_help(help))
}
