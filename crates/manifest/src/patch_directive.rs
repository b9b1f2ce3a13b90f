//! Directives of strategic merge patches, such as `$patch: delete`.

use yaml_json_patch::{Kind, NodeId, Tree};

/// Returns the key of the first directive in a resource.
pub fn patch_directive(tree: &Tree<'_>, resource: NodeId) -> Option<NodeId> {
    // Most resources have none: a search of their bytes takes less time than one of their keys.
    let text = tree.raw(resource);
    memchr::memchr_iter(b'$', text.as_bytes()).find(|at| is_directive(&text[*at..]))?;
    first_directive(tree, resource)
}

fn first_directive(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    match tree.kind(node) {
        Kind::Mapping => tree.entries(node).find_map(|(key, value)| {
            if tree.scalar(key).is_some_and(|name| is_directive(&name)) {
                Some(key)
            } else {
                first_directive(tree, value)
            }
        }),
        Kind::Sequence => tree
            .items(node)
            .find_map(|item| first_directive(tree, item)),
        Kind::Scalar | Kind::Alias => None,
    }
}

/// Returns true for a text that begins with a directive of strategic merge patches. After the slash follows the name of a field.
fn is_directive(text: &str) -> bool {
    [
        "$patch",
        "$retainKeys",
        "$setElementOrder/",
        "$deleteFromPrimitiveList/",
    ]
    .iter()
    .any(|name| text.starts_with(name))
}
