//! `immutable-template`: kinds whose containers the API server, or the webhook of their project, does not let users change after creation.

use manifest::Resource;
use manifest::release_tools::is_replaced;
use report::{Finding, Reason};
use yaml_json_patch::Tree;

/// Returns a warning about a change to a resource with an immutable template. With `generateName` every object is new, and a
/// tool may delete the old object first: no warning.
pub fn immutable(tree: &Tree<'_>, resource: &Resource, at: &str, offset: usize) -> Option<Finding> {
    let gvk = resource.gvk.as_ref()?;
    let is_immutable = matches!(
        (gvk.group.as_str(), gvk.kind.as_str()),
        ("", "Pod")
            | ("batch" | "batch.volcano.sh", "Job")
            | ("apps.kruise.io", "AdvancedCronJob")
            | ("jobset.x-k8s.io", "JobSet")
            | ("serving.knative.dev", "Revision")
    );
    let is_named = !resource.identity.is_generated && !resource.identity.name.is_empty();
    if !is_immutable || !is_named || is_replaced(tree, resource) {
        return None;
    }
    let message = format!(
        "the containers of an existing {} cannot be changed",
        gvk.kind
    );
    let help = "delete the existing object first, for example with `kubectl replace --force`, or use a new name";
    Some(Finding::new(Reason::ImmutableTemplate, message, offset, at).with_help(help))
}
