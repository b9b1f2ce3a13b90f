//! The way from a resource to its pod templates, and to those that a key of the same name behind them hides:
//!
//! ```yaml
//! spec: {template: …}    # hidden, all of it
//! spec: {template: …}    # seen
//! ```

use super::{Next, Templates, Way, merged_member};
use crate::patch::escape;
use crate::yaml::{Kind, NodeId, Tree};
use std::collections::HashSet;

/// A pod template that nobody sees.
#[derive(Debug)]
pub(crate) struct Hidden {
    /// The key, on the way to it, that stands once more behind it.
    pub(crate) key: NodeId,
    /// From the resource to the template.
    pub(crate) pointer: String,
    /// The template.
    pub(crate) node: NodeId,
}

pub(super) struct Walk<'a, 't> {
    tree: &'a Tree<'t>,
    pub(super) found: Templates,
    /// Where something is hidden, and what aliases and merge keys lead to from there, with what was left of the way. However
    /// many lead to it, it is the same.
    shared: HashSet<(NodeId, usize)>,
}

impl<'a, 't> Walk<'a, 't> {
    pub(super) fn new(tree: &'a Tree<'t>) -> Self {
        Self { tree, found: Templates::default(), shared: HashSet::new() }
    }

    pub(super) fn seen(&mut self, node: NodeId, way: Way<'_>, pointer: String) {
        let tree = self.tree;
        match way.split() {
            None => {
                if tree.kind(tree.resolve(node)) == Kind::Mapping {
                    self.found.seen.push((pointer, node));
                }
            }
            Some((Next::Key(key), rest)) => {
                let Some(member) = merged_member(tree, node, key, &mut Vec::new()) else { return };
                let pointer = pointer + "/" + &escape(key);
                if member.stands_twice && self.shared.insert((tree.resolve(node), way.left())) {
                    for (key, value) in earlier(tree, node, key) {
                        self.hidden(key, value, rest, pointer.clone());
                    }
                }
                self.seen(member.value, rest, pointer);
            }
            Some((Next::Each, rest)) => {
                for (index, item) in tree.items(tree.resolve(node)).enumerate() {
                    self.seen(item, rest, format!("{pointer}/{index}"));
                }
            }
        }
    }

    /// Everything on the way below a hidden key.
    #[cold]
    fn hidden(&mut self, by: NodeId, node: NodeId, way: Way<'_>, pointer: String) {
        let tree = self.tree;
        if tree.kind(node) == Kind::Alias && !self.shared.insert((tree.resolve(node), way.left())) {
            return;
        }
        match way.split() {
            None => {
                if tree.kind(tree.resolve(node)) == Kind::Mapping {
                    self.found.hidden.push(Hidden { key: by, pointer, node });
                }
            }
            Some((Next::Key(key), rest)) => {
                let pointer = pointer + "/" + &escape(key);
                let mut own = tree.entries(tree.resolve(node)).filter(|(name, _)| tree.is_key(*name, key)).peekable();
                if own.peek().is_none()
                    && let Some(merged) = merged_member(tree, node, key, &mut Vec::new())
                    && self.shared.insert((merged.value, rest.left()))
                {
                    self.hidden(by, merged.value, rest, pointer.clone());
                }
                for (_, value) in own {
                    self.hidden(by, value, rest, pointer.clone());
                }
            }
            Some((Next::Each, rest)) => {
                for (index, item) in tree.items(tree.resolve(node)).enumerate() {
                    self.hidden(by, item, rest, format!("{pointer}/{index}"));
                }
            }
        }
    }
}

/// Keys of this name in a mapping that one more behind them hides, and their values.
pub(crate) fn earlier<'a>(
    tree: &'a Tree<'_>,
    mapping: NodeId,
    key: &'a str,
) -> impl Iterator<Item = (NodeId, NodeId)> + 'a {
    let mut named = tree.entries(tree.resolve(mapping)).filter(move |(name, _)| tree.is_key(*name, key)).peekable();
    std::iter::from_fn(move || named.next().filter(|_| named.peek().is_some()))
}
