//! Directives of strategic merge patches, such as `$patch: delete`.

use yaml_json_patch::{Kind, NodeId, Tree};

/// The first directive in a resource.
pub(crate) fn patch_directive(tree: &Tree<'_>, resource: NodeId) -> Option<NodeId> {
    let text = tree.raw(resource);
    memchr::memchr(b'$', text.as_bytes())?;
    first_directive(tree, resource)
}

/// Returns true for a directive of strategic merge patches. The last two have the name of a field behind the slash.
fn is_directive(key: &str) -> bool {
    matches!(key, "$patch" | "$retainKeys")
        || ["$setElementOrder/", "$deleteFromPrimitiveList/"]
            .iter()
            .any(|word| key.starts_with(word))
}

fn first_directive(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    match tree.kind(node) {
        Kind::Mapping => tree.entries(node).find_map(|(key, value)| {
            let speaks = tree.scalar(key).is_some_and(|key| is_directive(&key));
            if speaks {
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
