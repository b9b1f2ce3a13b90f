//! `misplaced-annotation` on a Namespace, where the injectors of service meshes are switched on and off.

use crate::config::Select;
use crate::mackerel::annotations::PREFIX;
use crate::manifest::resource::Resource;
use crate::report::{Finding, Reason};
use yaml_json_patch::{Tree, pointer};

/// Returns the warning about the first of our annotations, or of labels with their names, on a Namespace.
pub(crate) fn on_namespace(tree: &Tree<'_>, resource: &Resource) -> Option<Finding> {
    let metadata = tree
        .member(resource.node, "metadata")
        .filter(|_| resource.identity.kind == "Namespace")?;
    ["annotations", "labels"].into_iter().find_map(|within| {
        let entries = tree.entries(tree.alias_target(tree.member(metadata, within)?));
        let (key, name) = entries
            .filter_map(|(key, _)| Some((key, tree.scalar(tree.alias_target(key))?)))
            .find(|(_, name)| name.starts_with(PREFIX))?;
        let message = format!("`{name}` has no effect on a Namespace");
        let at = format!("/metadata/{within}/{}", pointer::escape(&name));
        let finding = Finding::new(
            Reason::MisplacedAnnotation,
            message,
            tree.place(key).start,
            &at,
        );
        Some(finding.with_help(format!(
            "to choose namespaces, set `{}` or `{}`",
            Select::namespaces(),
            Select::exclude_namespaces()
        )))
    })
}
