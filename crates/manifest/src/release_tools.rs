//! Annotations by which Helm, Argo CD and Flux treat a resource apart: hooks, and replacement by force.

use crate::resource::Resource;
use yaml_json_patch::Tree;

const HELM_HOOK: &str = "helm.sh/hook";
const ARGO_HOOK: &str = "argocd.argoproj.io/hook";

/// Returns the hook that a resource is, such as `a Helm hook (pre-install)`.
pub fn hook(tree: &Tree<'_>, resource: &Resource) -> Option<String> {
    if let Some(phase) = resource.annotation_text(tree, HELM_HOOK) {
        return Some(format!("a Helm hook ({phase})"));
    }
    let phase = resource.annotation_text(tree, ARGO_HOOK)?;
    Some(format!("an Argo CD hook ({phase})"))
}

/// Returns true if a tool deletes the object before it creates the next one. Argo CD does so with a hook unless its policy
/// says otherwise.
pub fn is_replaced(tree: &Tree<'_>, resource: &Resource) -> bool {
    let annotation = |key: &str| resource.annotation_text(tree, key);
    if annotation(HELM_HOOK).is_some() {
        return true;
    }
    if annotation(ARGO_HOOK).is_some()
        && annotation("argocd.argoproj.io/hook-delete-policy").is_none_or(|policy| {
            lists(&policy, "BeforeHookCreation") || lists(&policy, "HookSucceeded")
        })
    {
        return true;
    }
    annotation("argocd.argoproj.io/sync-options")
        .is_some_and(|options| lists(&options, "Force=true"))
        || annotation("kustomize.toolkit.fluxcd.io/force")
            .is_some_and(|force| force.eq_ignore_ascii_case("enabled"))
}

/// Returns true if a list with commas has the item.
fn lists(list: &str, item: &str) -> bool {
    list.split(',').any(|part| part.trim() == item)
}
