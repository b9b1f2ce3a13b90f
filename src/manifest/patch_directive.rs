//! Directives of strategic merge patches, such as `$patch: delete`.

use yaml_json_patch::{Kind, NodeId, Tree};

/// Names of directives. After the slash follows the name of a field.
const DIRECTIVES: [&str; 4] = [
    "$patch",
    "$retainKeys",
    "$setElementOrder/",
    "$deleteFromPrimitiveList/",
];

/// Returns the key of the first directive in a resource.
pub(crate) fn patch_directive(tree: &Tree<'_>, resource: NodeId) -> Option<NodeId> {
    // Most resources have none: a search of their bytes takes less time than one of their keys.
    let text = tree.raw(resource);
    let mut dollars = memchr::memchr_iter(b'$', text.as_bytes());
    dollars.find(|at| DIRECTIVES.iter().any(|name| text[*at..].starts_with(name)))?;
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

/// Returns true for a directive of strategic merge patches.
fn is_directive(key: &str) -> bool {
    let mut names = DIRECTIVES.iter();
    names.any(|name| key == *name || (name.ends_with('/') && key.starts_with(name)))
}
