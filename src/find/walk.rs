//! The way from a resource to its pod templates, and to those that a key of the same name behind them hides:
//!
//! ```yaml
//! spec: {template: …}    # hidden, all of it
//! spec: {template: …}    # seen
//! ```

use super::{Next, Templates, Way, holder, merged_member};
use crate::patch::escape;
use std::collections::HashSet;
use yaml_json_patch::{Kind, NodeId, Tree};

/// A pod template that nobody sees.
#[derive(Debug)]
pub(crate) struct Hidden {
    /// The key, on the way to it, that stands once more behind it.
    pub(crate) key: NodeId,
    /// That next key.
    pub(crate) next: NodeId,
    /// From the resource to the template.
    pub(crate) pointer: String,
    /// The template.
    pub(crate) node: NodeId,
}

/// What hides it.
#[derive(Clone, Copy)]
struct By {
    key: NodeId,
    next: NodeId,
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
                if !member.stands_twice {
                    return self.seen(member.value, rest, pointer);
                }
                self.seen(member.value, rest, pointer.clone());
                if self.shared.insert((member.holder, way.left())) {
                    for Earlier { key, value, next } in earlier(tree, member.holder, key) {
                        self.hidden(By { key, next }, value, rest, pointer.clone());
                    }
                }
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
    fn hidden(&mut self, by: By, node: NodeId, way: Way<'_>, pointer: String) {
        let tree = self.tree;
        if tree.kind(node) == Kind::Alias && !self.shared.insert((tree.resolve(node), way.left())) {
            return;
        }
        match way.split() {
            None => {
                if tree.kind(tree.resolve(node)) == Kind::Mapping {
                    self.found.hidden.push(Hidden { key: by.key, next: by.next, pointer, node });
                }
            }
            Some((Next::Key(key), rest)) => {
                let Some(holder) = holder(tree, node, key) else { return };
                if holder != tree.resolve(node) && !self.shared.insert((holder, way.left())) {
                    return;
                }
                let pointer = pointer + "/" + &escape(key);
                for (_, value) in tree.entries(holder).filter(|(name, _)| tree.is_key(*name, key)) {
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

/// A key that one more of its name hides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Earlier {
    pub(crate) key: NodeId,
    pub(crate) value: NodeId,
    /// The next key of that name.
    pub(crate) next: NodeId,
}

/// The keys of this name in a mapping that one more behind them hides.
pub(crate) fn earlier<'a>(tree: &'a Tree<'_>, mapping: NodeId, name: &'a str) -> impl Iterator<Item = Earlier> + 'a {
    let mut named = tree.entries(tree.resolve(mapping)).filter(move |(key, _)| tree.is_key(*key, name)).peekable();
    std::iter::from_fn(move || {
        let ((key, value), (next, _)) = (named.next()?, *named.peek()?);
        Some(Earlier { key, value, next })
    })
}
