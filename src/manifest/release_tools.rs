//! Annotations by which Helm, Argo CD and Flux treat a resource apart: hooks, and replacement by force.

use crate::manifest::resource::Resource;
use yaml_json_patch::Tree;

const HELM_HOOK: &str = "helm.sh/hook";
const ARGO_HOOK: &str = "argocd.argoproj.io/hook";

/// Returns the hook that a resource is, such as `a Helm hook (pre-install)`.
pub(crate) fn hook(tree: &Tree<'_>, resource: &Resource) -> Option<String> {
    let annotation = |key: &str| resource.annotation_text(tree, key);
    let helm = annotation(HELM_HOOK).map(|phase| format!("a Helm hook ({phase})"));
    helm.or_else(|| annotation(ARGO_HOOK).map(|phase| format!("an Argo CD hook ({phase})")))
}

/// Returns true if a tool deletes the object before it creates the next one. Argo CD does so with a hook unless its policy
/// says otherwise.
pub(crate) fn is_replaced(tree: &Tree<'_>, resource: &Resource) -> bool {
    let annotation = |key: &str| resource.annotation_text(tree, key);
    let has = |list: &str, wanted: &str| list.split(',').any(|part| part.trim() == wanted);
    let is_deleted =
        |policy: String| has(&policy, "BeforeHookCreation") || has(&policy, "HookSucceeded");
    let of_argo = || annotation("argocd.argoproj.io/hook-delete-policy").is_none_or(is_deleted);
    annotation(HELM_HOOK).is_some()
        || annotation(ARGO_HOOK).is_some() && of_argo()
        || annotation("argocd.argoproj.io/sync-options")
            .is_some_and(|options| has(&options, "Force=true"))
        || annotation("kustomize.toolkit.fluxcd.io/force")
            .is_some_and(|force| force.eq_ignore_ascii_case("enabled"))
}
