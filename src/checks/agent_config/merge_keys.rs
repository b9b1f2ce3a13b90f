//! The entries of a mapping, with those that merge keys bring: `<<: *defaults`.

use std::collections::HashSet;
use yaml_json_patch::{Kind, NodeId, Tree};

/// Merge keys inside each other. People write one.
const MOST_MERGES: usize = 64;

/// One entry of a mapping: its name, and where that and its value stand.
pub(super) type Entry = (String, NodeId, NodeId);

/// The entries of a mapping and of what its merge keys bring, each name once.
pub(super) fn merged(tree: &Tree<'_>, mapping: NodeId) -> Vec<Entry> {
    let mut found = Found::default();
    collect(tree, mapping, MOST_MERGES, &mut found);
    found.entries
}

/// None for a list and a mapping.
pub(super) fn text(tree: &Tree<'_>, node: NodeId) -> Option<String> {
    tree.scalar(tree.alias_target(node)).map(|text| text.into_owned())
}

#[derive(Default)]
struct Found {
    entries: Vec<Entry>,
    names: HashSet<String>,
    /// The mappings that were looked at.
    seen: HashSet<NodeId>,
}

fn collect(tree: &Tree<'_>, mapping: NodeId, depth: usize, found: &mut Found) {
    let mapping = tree.alias_target(mapping);
    // However many merge keys lead to it: what it brings is there already.
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
