//! `controller-owned`: resources that a controller in the cluster creates and reconciles, as in `kubectl get pods -o yaml`.

use crate::manifest::resource::text;
use crate::report::{Finding, Reason};
use yaml_json_patch::{NodeId, ScalarValue, Tree, scalar_value};

/// Returns a warning about a resource that a controller owns: the controller or the API server rejects edits of it.
pub(crate) fn owned(tree: &Tree<'_>, resource: NodeId) -> Option<Finding> {
    let metadata = tree.member(resource, "metadata")?;
    let owners = tree.member(metadata, "ownerReferences").map(|owners| tree.alias_target(owners))?;
    let controls = |owner: NodeId| {
        let controller = tree.member(owner, "controller").map(|controller| tree.alias_target(controller));
        controller.is_some_and(|controller| scalar_value(tree, controller) == Ok(ScalarValue::Bool(true)))
    };
    let (index, owner) = tree.items(owners).enumerate().find(|(_, owner)| controls(*owner))?;
    let field = |key: &str| text(tree, owner, key).unwrap_or_default();
    let message =
        format!("the resource is owned by {} {}; its controller reverts changes", field("kind"), field("name"));
    let pointer = format!("/metadata/ownerReferences/{index}");
    let finding = Finding::new(Reason::ControllerOwned, message, tree.span(owner).start, &pointer);
    Some(finding.with_help("inject the topmost owner instead, for example the Deployment"))
}
