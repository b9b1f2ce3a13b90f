//! `misplaced-annotation` on a Namespace, where the injectors of service meshes are switched on and off.

use crate::mackerel::annotations::PREFIX;
use crate::manifest::resource::Resource;
use crate::report::{Finding, Reason};
use yaml_json_patch::{Tree, pointer};

/// Returns the warning about the first of our annotations on a Namespace.
pub(crate) fn on_namespace(tree: &Tree<'_>, resource: &Resource) -> Option<Finding> {
    if resource.identity.kind != "Namespace" {
        return None;
    }
    let annotations = tree.alias_target(resource.annotations(tree)?);
    for (key, _) in tree.entries(annotations) {
        let name = tree.scalar(tree.alias_target(key)).unwrap_or_default();
        if name.starts_with(PREFIX) {
            let message = format!("`{name}` has no effect on a Namespace");
            let help =
                "to choose namespaces, set `select.namespaces` or `select.excludeNamespaces`";
            let pointer = format!("/metadata/annotations/{}", pointer::escape(&name));
            let start = tree.place(key).start;
            let finding = Finding::new(Reason::MisplacedAnnotation, message, start, &pointer);
            return Some(finding.with_help(help));
        }
    }
    None
}
