//! Directives of strategic merge patches, such as `$patch: delete`.

use yaml_json_patch::{Kind, NodeId, Tree};

/// Returns the key of the first directive in a resource.
pub(crate) fn patch_directive(tree: &Tree<'_>, resource: NodeId) -> Option<NodeId> {
    // Most resources have no `$`: a search of their bytes takes less time than one of their keys.
    memchr::memchr(b'$', tree.raw(resource).as_bytes())?;
    first_directive(tree, resource)
}

fn first_directive(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    match tree.kind(node) {
        Kind::Mapping => {
            for (key, value) in tree.entries(node) {
                if tree.scalar(key).is_some_and(|name| is_directive(&name)) {
                    return Some(key);
                }
                if let Some(found) = first_directive(tree, value) {
                    return Some(found);
                }
            }
            None
        }
        Kind::Sequence => tree
            .items(node)
            .find_map(|item| first_directive(tree, item)),
        Kind::Scalar | Kind::Alias => None,
    }
}

/// Returns true for a directive of strategic merge patches. The last two have the name of a field behind the slash.
fn is_directive(key: &str) -> bool {
    matches!(key, "$patch" | "$retainKeys")
        || key.starts_with("$setElementOrder/")
        || key.starts_with("$deleteFromPrimitiveList/")
}
