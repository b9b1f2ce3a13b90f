//! `invalid-containers`: mistakes by which a pod template has no containers. The API server rejects it.

use crate::decide::Evaluation;
use crate::report::Reason;
use yaml_json_patch::Kind;

impl Evaluation<'_, '_> {
    /// Warns about `container:` for `containers:`, and about a mapping for the list.
    pub(super) fn warn_of_invalid_containers(&mut self) {
        let Some(spec) = self.template.spec else {
            return;
        };
        let mapping = self.tree.member(spec, "containers").filter(|containers| {
            self.tree.kind(self.tree.alias_target(*containers)) == Kind::Mapping
        });
        let misspelled = self.tree.member(spec, "container");
        let (message, help, field, node) = match (mapping, misspelled) {
            (Some(node), _) => (
                "`containers` is a mapping instead of a list, so the API server rejects the pod",
                "write each container as an item: `- name: …`",
                "containers",
                node,
            ),
            (None, Some(node)) => (
                "the pod has `container` instead of `containers`, so the API server rejects it",
                "rename it to `containers`",
                "container",
                node,
            ),
            (None, None) => return,
        };
        let pointer = format!("/spec/{field}");
        let finding = self.finding_at(Reason::InvalidContainers, message, node, &pointer);
        self.warnings.push(finding.with_help(help));
    }
}
