//! The names of a mapping's keys, as Kubernetes reads them.

use crate::json::is_merge_key;
use crate::tree::{NodeId, Style, Tree};
use crate::value::{is_word, other_name, scalar_value};

/// Compares as the key's JSON name; the plain spelling of a string is compared as it is written.
pub(crate) fn is_key(tree: &Tree<'_>, key: NodeId, name: &str) -> bool {
    match word(tree, key) {
        Some(raw) => raw == name,
        None => name_of(tree, key).is_some_and(|found| found == name),
    }
}

/// The name that [`is_key`] compares with. A merge key is no member by itself, and null, a collection and the like are no names.
pub(crate) fn name_of(tree: &Tree<'_>, key: NodeId) -> Option<String> {
    let key = tree.alias_target(key);
    match word(tree, key) {
        Some(raw) => Some(raw.to_owned()),
        None if is_merge_key(tree, key) => None,
        None => scalar_value(tree, key).ok()?.into_name(),
    }
}

/// The plain spelling of a string.
fn word<'t>(tree: &Tree<'t>, key: NodeId) -> Option<&'t str> {
    let raw = tree.raw(key);
    (tree.is_plain_line(key) && !tree.has_properties(key) && is_word(raw)).then_some(raw)
}

/// The name of a key that is written like this, if it is read as another one and is among these: `true` for `on`.
pub(super) fn name_as_read(
    tree: &Tree<'_>,
    mut keys: impl Iterator<Item = NodeId>,
    written: &str,
) -> Option<String> {
    let name = other_name(written)?;
    keys.any(|key| tree.style(key) == Style::Plain && tree.raw(key) == written)
        .then_some(name)
}
