//! The entries of a mapping, including merged ones: `<<: *defaults`.

use std::collections::HashSet;
use yaml_json_patch::{Kind, NodeId, Tree};

/// The maximum depth of merge keys. People write one.
const MAX_DEPTH: usize = 64;

/// One entry of a mapping: name, key and value.
pub(super) type MergedEntry = (String, NodeId, NodeId);

/// The entries of a mapping and of those that it merges, each name once.
pub(super) fn merged(tree: &Tree<'_>, mapping: NodeId) -> Vec<MergedEntry> {
    let mut found = MergedEntries::default();
    collect(tree, mapping, MAX_DEPTH, &mut found);
    found.entries
}

/// The text of a scalar.
pub(super) fn text(tree: &Tree<'_>, node: NodeId) -> Option<String> {
    tree.scalar(tree.alias_target(node)).map(|text| text.into_owned())
}

#[derive(Default)]
struct MergedEntries {
    entries: Vec<MergedEntry>,
    names: HashSet<String>,
    /// The mappings that were collected.
    seen: HashSet<NodeId>,
}

fn collect(tree: &Tree<'_>, mapping: NodeId, depth: usize, found: &mut MergedEntries) {
    let mapping = tree.alias_target(mapping);
    // Several merge keys may lead to one mapping.
    if !found.seen.insert(mapping) {
        return;
    }
    let mut sources = Vec::new();
    for (key, value) in tree.entries(mapping) {
        let Some(name) = text(tree, key) else { continue };
        if name == "<<" {
            sources.push(tree.alias_target(value));
        } else if found.names.insert(name.clone()) {
            found.entries.push((name, key, value));
        }
    }
    for source in sources.into_iter().filter(|_| depth > 0) {
        match tree.kind(source) {
            Kind::Sequence => tree.items(source).for_each(|item| collect(tree, item, depth - 1, found)),
            _ => collect(tree, source, depth - 1, found),
        }
    }
}
