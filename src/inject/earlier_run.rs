//! Agents of an earlier run in kinds that `podTemplates` no longer has. Their record shows them.
//!
//! `uninject` removes them. `inject` does not change them, and warns.

use crate::inject::template_form::PossibleTemplate;
use crate::inject::unknown_kind::{GroupKind, places};
use crate::manifest::duplicate_keys::second_key;
use crate::manifest::field_path::field_path;
use crate::manifest::resource::Resource;
use crate::manifest::workloads::containers;
use crate::report::{Finding, Reason};
use yaml_json_patch::pointer::unescape;
use yaml_json_patch::{NodeId, Tree};

/// Returns the first duplicate key on the path to a template: its pointer would not lead to it.
pub(crate) fn duplicate(tree: &Tree<'_>, template: &PossibleTemplate) -> Option<NodeId> {
    let tokens = template.pointer.split('/').skip(1);
    tokens
        .zip(&template.ancestors)
        .find_map(|(token, holder)| second_key(tree, *holder, &unescape(token)))
}

/// Returns the warning of `inject` about agents that it does not update.
pub(crate) fn warning(
    tree: &Tree<'_>,
    resource: &Resource,
    earlier: &[PossibleTemplate],
) -> Option<Finding> {
    let kind = GroupKind::of(resource)?;
    let mut first = None;
    let mut at_a_path = Vec::new();
    for template in earlier {
        if containers(tree, template.node).is_some() {
            first.get_or_insert(template);
            if !template.path.steps.is_empty() {
                at_a_path.push(template);
            }
        }
    }
    let first = first?;
    let place = match field_path(&first.pointer) {
        place if place.is_empty() => place,
        place => format!(" at {place}"),
    };
    let message = format!(
        "the agent of an earlier run was not removed: the kind {} has no known pod template{place}",
        kind.kind
    );
    let mut help = "to remove it, run `uninject`".to_owned();
    if !at_a_path.is_empty() && !kind.group.is_empty() {
        let setting = kind.setting(&places(tree, &kind, at_a_path));
        help = format!("add to the configuration: `{setting}`, or run `uninject`");
    }
    let start = tree.place(first.node).start;
    Some(Finding::new(Reason::StillInjected, message, start, &first.pointer).with_help(help))
}
