//! `controller-owned`: resources that a controller in the cluster creates and reconciles, as in `kubectl get pods -o yaml`.

use manifest::Resource;
use report::{Finding, Reason};
use yaml_json_patch::Tree;

/// Returns a warning about a resource that a controller owns: the controller or the API server rejects edits of it.
pub fn owned(tree: &Tree<'_>, resource: &Resource) -> Option<Finding> {
    let (index, owner) = resource.controller(tree)?;
    let field = |key: &str| tree.member_text(owner, key).unwrap_or_default();
    let message = format!(
        "the resource is owned by {} {}; its controller reverts changes",
        field("kind"),
        field("name")
    );
    let pointer = format!("/metadata/ownerReferences/{index}");
    let offset = tree.place(owner).start;
    Some(
        Finding::new(Reason::ControllerOwned, message, offset, &pointer)
            .with_help("inject the topmost owner instead, for example the Deployment"),
    )
}
