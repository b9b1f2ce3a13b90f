//! The style of the elements of a collection.

use super::quotes::Quotes;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};

/// The style of the elements of a collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElementStyle {
    node: NodeId,
    pub(super) keys: Quotes,
    /// All keys are integers without quotes: ports, or the codes of responses.
    pub(super) integer_keys: bool,
    pub(super) values: Quotes,
    /// The first of the collections in it, if all of them are of one kind, and in brackets on one line: all items of a list, or two
    /// members and more.
    pub(super) in_brackets: Option<NodeId>,
}

impl ElementStyle {
    pub(super) fn of(tree: &Tree<'_>, node: NodeId, goes: Option<NodeId>) -> Self {
        let keys = || tree.entries(node).map(|(key, _)| key);
        let is_integer = |key| matches!(scalar_value(tree, key), Ok(ScalarValue::Int(_)));
        Self {
            node,
            keys: Quotes::of(tree, keys(), None),
            integer_keys: keys().all(is_integer),
            // All items of a list have quotes as soon as all of those there have some; strings of a mapping where two have some, one of
            // them without need, and all others too.
            values: Quotes::of(tree, tree.values(node), goes)
                .everywhere(tree.kind(node) == Kind::Sequence),
            in_brackets: in_brackets(tree, node, goes),
        }
    }

    /// JSON or YAML, as the keys of a mapping show it, or the items of a list.
    pub(super) fn place(&self, tree: &Tree<'_>) -> Option<Context> {
        match tree.kind(self.node) {
            Kind::Mapping => self.keys.place,
            _ => self.values.place,
        }
    }
}

fn in_brackets(tree: &Tree<'_>, node: NodeId, goes: Option<NodeId>) -> Option<NodeId> {
    let is_list = tree.kind(node) == Kind::Sequence;
    let has_content = |value: NodeId| tree.children(value).next().is_some();
    let counts = |value: &NodeId| Some(*value) != goes && (is_list || has_content(*value));
    let is_line = |value: NodeId| {
        has_content(value) && tree.style(value) == Style::Flow && !tree.raw(value).contains('\n')
    };
    let mut values = tree.values(node).filter(counts);
    let first = values.next().filter(|first| is_line(*first))?;
    let mut is_habit = is_list;
    let are_alike = values.all(|value| {
        is_habit = true;
        is_line(value) && tree.kind(value) == tree.kind(first)
    });
    (are_alike && is_habit).then_some(first)
}
