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
//! its envelope is refused with all of its items. Other duplicate keys matter only where an edit meets them.

use crate::manifest::identity::Identity;
use crate::manifest::known_kinds::WorkloadKind;
use std::borrow::Cow;
use std::fmt;
use yaml_json_patch::lookup::MAX_MERGES;
use yaml_json_patch::{Kind, NodeId, Tree, is_merge_key};

/// The keys that are refused as duplicates, in addition to the steps of the path to a pod template.
const NAMES: [&str; 11] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "items",
    "containers",
    "initContainers",
    "volumes",
];

/// Returns the second occurrence of `step` or one of [`NAMES`] in a mapping or in those that it merges.
pub(crate) fn second_key(tree: &Tree<'_>, mapping: NodeId, step: &str) -> Option<NodeId> {
    let mut merges = MAX_MERGES;
    second_key_of(tree, mapping, step, &mut merges)
}

/// `merges` is the number of merge keys that may still be followed.
fn second_key_of(
    tree: &Tree<'_>,
    mapping: NodeId,
    step: &str,
    merges: &mut usize,
) -> Option<NodeId> {
    let mapping = tree.alias_target(mapping);
    let mut seen = [false; NAMES.len() + 1];
    let mut merged = None;
    for (key, value) in tree.entries(mapping) {
        let Some(text) = tree.scalar(key) else {
            continue;
        };
        let name = NAMES.iter().position(|name| *name == text);
        let Some(name) = name.or_else(|| (step == text).then_some(NAMES.len())) else {
            if is_merge_key(tree, key) {
                merged = Some(value);
            }
            continue;
        };
        if std::mem::replace(&mut seen[name], true) {
            return Some(key);
        }
    }
    let source = tree.alias_target(merged?);
    *merges = merges.checked_sub(1)?;
    match tree.kind(source) {
        Kind::Sequence => tree
            .items(source)
            .find_map(|item| second_key_of(tree, item, step, merges)),
        _ => second_key_of(tree, source, step, merges),
    }
}

/// Returns all values that a mapping has for a key, without those that it merges, in order of the text.
pub(crate) fn occurrences(tree: &Tree<'_>, mapping: NodeId, name: &str) -> Vec<NodeId> {
    tree.entries(tree.alias_target(mapping))
        .filter(|(key, _)| tree.is_key(*key, name))
        .map(|(_, value)| value)
        .collect()
}

/// Returns true if one `apiVersion` and one `kind` of a resource that has them twice match.
pub(crate) fn may_be(
    tree: &Tree<'_>,
    mapping: NodeId,
    identity: &Identity,
    workload: &WorkloadKind<'_>,
) -> bool {
    let has_group = |api_version: &str| {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        group == workload.group
    };
    let mut kinds = texts(tree, mapping, "kind");
    let mut api_versions = texts(tree, mapping, "apiVersion");
    (identity.kind == workload.kind || kinds.any(|kind| kind == workload.kind))
        && (has_group(&identity.api_version) || api_versions.any(|text| has_group(&text)))
}

/// The texts of all scalars that a mapping has as values of a key, without those that it merges.
pub(crate) fn texts<'t>(
    tree: &Tree<'t>,
    mapping: NodeId,
    name: &str,
) -> impl Iterator<Item = Cow<'t, str>> {
    occurrences(tree, mapping, name)
        .into_iter()
        .filter_map(|value| tree.scalar(tree.alias_target(value)))
}

/// The place of a duplicate key, in lines below the first occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextOccurrence {
    lines: usize,
}

impl NextOccurrence {
    /// Counts the lines from a key's offset to that of the next occurrence.
    pub(crate) fn of(text: &str, key: usize, next: usize) -> Self {
        let lines = text.as_bytes().get(key..next).unwrap_or_default();
        Self {
            lines: memchr::memchr_iter(b'\n', lines).count(),
        }
    }
}

impl fmt::Display for NextOccurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines {
            0 => f.write_str("both on this line"),
            1 => f.write_str("here and on the next line"),
            lines => write!(f, "here and {lines} lines below"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::second_key;

    #[test]
    fn finds_duplicate_keys() {
        for (text, step, expected) in [
            ("{kind: A, spec: 1, kind: B}", "", Some("kind: B")),
            ("{spec: 1, spec: 2}", "spec", Some("spec: 2")),
            ("{spec: 1, spec: 2}", "template", None),
            ("{'items': [], \"items\": []}", "", Some("\"items\": []")),
            ("{env: [], env: [], <<: {}, <<: {}}", "spec", None),
            ("{<<: {volumes: [], volumes: []}}", "", Some("volumes: []")),
            ("{<<: [{}, {name: a, name: b}]}", "", Some("name: b")),
            ("{name: a, <<: {name: b}}", "", None),
            ("&a {<<: *a}", "", None),
            ("text", "", None),
        ] {
            let tree = yaml_json_patch::read(text).unwrap();
            let found = second_key(&tree, tree.root().unwrap(), step)
                .map(|key| &text[tree.place(key).start..]);
            assert_eq!(
                found.map(|rest| rest.trim_end_matches(['}', ']'])),
                expected.map(|e| e.trim_end_matches(['}', ']'])),
                "{text}"
            );
        }
    }
}
