//! Duplicate keys in a workload's identity or on the path to its pod template. Kubernetes reads the last one, so that a
//! workload may be lost silently; most often a `---` is missing:
//!
//! ```yaml
//! kind: Deployment
//! spec: {template: …}
//! kind: Service         # Kubernetes sees only this one
//! spec: {ports: …}
//! ```
//!
//! A resource with such a key is refused if any of the occurrences leads to a pod template that is wanted. A list with one in
//! its envelope is refused with all of its items. Duplicate keys elsewhere matter only where an edit meets them.

use crate::identity::Identity;
use crate::known_kinds::WorkloadKind;
use std::borrow::Cow;
use yaml_json_patch::{NodeId, Tree};

/// Returns the first key that a mapping has for the second time, without those that it merges.
pub fn second_key(tree: &Tree<'_>, mapping: NodeId) -> Option<NodeId> {
    let mut keys: Vec<(Cow<'_, str>, NodeId)> = tree
        .entries(tree.alias_target(mapping))
        .filter_map(|(key, _)| Some((tree.scalar(tree.alias_target(key))?, key)))
        .collect();
    keys.sort_unstable();
    keys.chunk_by(|(one, _), (next, _)| one == next)
        .filter_map(|alike| alike.get(1))
        .map(|(_, key)| *key)
        .min()
}

/// Returns the second occurrence of a key in a mapping, without those that it merges.
pub fn second_of(tree: &Tree<'_>, mapping: NodeId, name: &str) -> Option<NodeId> {
    occurrences(tree, mapping, name).nth(1).map(|(key, _)| key)
}

/// Returns all occurrences of a key in a mapping with their values, without those that it merges, in order of the text.
pub(crate) fn occurrences<'t>(
    tree: &'t Tree<'_>,
    mapping: NodeId,
    name: &'t str,
) -> impl Iterator<Item = (NodeId, NodeId)> + 't {
    tree.entries(tree.alias_target(mapping))
        .filter(move |(key, _)| tree.is_key(*key, name))
}

/// Returns true if one `apiVersion` and one `kind` of a resource that has them twice match.
pub fn may_be(
    tree: &Tree<'_>,
    mapping: NodeId,
    identity: &Identity,
    workload: &WorkloadKind<'_>,
) -> bool {
    let has_group = |api_version: &str| {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        group == workload.group
    };
    (identity.kind == workload.kind
        || texts(tree, mapping, "kind").any(|kind| kind == workload.kind))
        && (has_group(&identity.api_version)
            || texts(tree, mapping, "apiVersion").any(|text| has_group(&text)))
}

/// Returns the texts of all scalars that a mapping has as values of a key, without those that it merges.
pub fn texts<'t>(
    tree: &'t Tree<'_>,
    mapping: NodeId,
    name: &'t str,
) -> impl Iterator<Item = Cow<'t, str>> {
    occurrences(tree, mapping, name).filter_map(|(_, value)| tree.scalar(tree.alias_target(value)))
}

#[cfg(test)]
mod tests {
    use super::second_key;

    #[test]
    fn finds_the_first_key_that_is_there_twice() {
        for (text, expected) in [
            ("{kind: A, spec: 1, kind: B}", Some("kind: B")),
            (
                "{b: 1, a: 1, spec: 1, spec: 2, a: 2, b: 2}",
                Some("spec: 2, a: 2, b: 2"),
            ),
            ("{'items': [], \"items\": []}", Some("\"items\": []")),
            ("{spec: 1, template: 2}", None),
            ("{name: a, <<: {name: b}}", None),
            ("{spec: {a: 1, a: 2}}", None),
            ("text", None),
        ] {
            let tree = yaml_json_patch::read(text).unwrap();
            let found = second_key(&tree, tree.root().unwrap());
            let rest = found.map(|key| text[tree.place(key).start..].trim_end_matches('}'));
            assert_eq!(rest, expected, "{text}");
        }
    }
}
