//! The items of long lists by index, for callers that follow many JSON Pointers into one tree.

use std::collections::HashMap;
use yaml_json_patch::{Kind, NodeId, Tree};

/// Items of the lists of one tree that were looked at: a tree finds an item only by going through those before it.
#[derive(Debug, Default)]
pub struct ItemCache {
    lists: HashMap<NodeId, Vec<NodeId>>,
}

impl ItemCache {
    /// Returns the same node as [`Tree::child`].
    pub fn child(&mut self, tree: &Tree<'_>, node: NodeId, token: &str) -> Option<NodeId> {
        let list = tree.alias_target(node);
        if tree.kind(list) != Kind::Sequence {
            return tree.child(list, token);
        }
        self.lists
            .entry(list)
            .or_insert_with(|| tree.items(list).collect())
            .get(token.parse::<usize>().ok()?)
            .copied()
    }
}
