//! `no-selector`: workloads that the API server rejects, because they do not say which pods are theirs.

use crate::decide::Evaluation;
use crate::manifest::resource::Resource;
use crate::report::{Finding, Reason};
use yaml_json_patch::{Kind, Tree};

impl Evaluation<'_, '_> {
    /// Warns about a workload of `apps/v1` without `spec.selector`. Before `apps/v1`, the API server filled it in.
    pub(super) fn warn_of_missing_selector(&mut self) {
        let resource = self.resource;
        let needs_selector = resource.identity.api_version == "apps/v1";
        if !needs_selector || has_selector(self.tree, resource) {
            return;
        }
        let message = format!(
            "the {} has no `spec.selector`, which the API server requires",
            resource.identity.kind
        );
        let help = "add `selector.matchLabels` with labels of its template, unless an overlay does; if this is a patch, inject the result instead";
        let start = self.tree.place(resource.node).start;
        let finding = Finding::new(Reason::NoSelector, message, start, "");
        self.warnings.push(finding.with_help(help));
    }
}

/// Returns true if the selector has an entry; the API server rejects an empty one too.
fn has_selector(tree: &Tree<'_>, resource: &Resource) -> bool {
    let Some(selector) = tree.member_at(resource.node, ["spec", "selector"]) else {
        return false;
    };
    let selector = tree.alias_target(selector);
    tree.kind(selector) == Kind::Mapping && tree.entries(selector).next().is_some()
}
