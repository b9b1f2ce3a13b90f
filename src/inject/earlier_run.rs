//! Agents of an earlier run in kinds that `podTemplates` no longer has. Their record shows them.
//!
//! `uninject` removes them. `inject` does not change them, and warns.

use crate::inject::template_form::{Formed, recorded};
use crate::inject::unknown_kind::{GroupKind, line, places};
use crate::manifest::duplicate_keys::second_key;
use crate::manifest::field_path::field_path;
use crate::manifest::resource::Resource;
use crate::manifest::workloads::containers;
use crate::report::{Finding, Reason};
use std::collections::HashSet;
use yaml_json_patch::pointer::unescape;
use yaml_json_patch::{NodeId, Tree};

/// Returns the templates of a resource that carry a record, but for the `known` ones.
pub(crate) fn earlier_templates(
    tree: &Tree<'_>,
    resource: &Resource,
    known: &HashSet<NodeId>,
) -> Vec<Formed> {
    let mut found = recorded(tree, resource.node);
    found.retain(|formed| !known.contains(&formed.node));
    found
}

/// Returns the first duplicate key on the path to a template: its pointer would not lead to it.
pub(crate) fn duplicate(tree: &Tree<'_>, formed: &Formed) -> Option<NodeId> {
    let tokens = formed.pointer.split('/').skip(1);
    tokens
        .zip(&formed.ancestors)
        .find_map(|(token, holder)| second_key(tree, *holder, &unescape(token)))
}

/// Returns the warning of `inject` about agents that it does not update.
pub(crate) fn warning(tree: &Tree<'_>, resource: &Resource, earlier: &[Formed]) -> Option<Finding> {
    let gvk = resource.gvk.as_ref()?;
    let kind: GroupKind = (gvk.group.clone(), gvk.kind.clone());
    let with_agent: Vec<&Formed> = earlier
        .iter()
        .filter(|formed| containers(tree, formed.node).is_some())
        .collect();
    let first = with_agent.first()?;
    let with_path = with_agent
        .iter()
        .copied()
        .filter(|formed| !formed.path.steps.is_empty());
    let places = places(tree, &kind, with_path);
    let place = match field_path(&first.pointer) {
        place if place.is_empty() => String::new(),
        place => format!(" at {place}"),
    };
    let message = format!(
        "the agent of an earlier run was not removed: the kind {} has no known pod template{place}",
        kind.1
    );
    let help = match (places.is_empty(), kind.0.is_empty()) {
        (false, false) => format!(
            "add to the configuration: `{}`, or run `uninject`",
            line(&kind, &places)
        ),
        _ => "to remove it, run `uninject`".to_owned(),
    };
    let offset = tree.place(first.node).start;
    Some(Finding::new(Reason::StillInjected, message, offset, &first.pointer).with_help(help))
}
