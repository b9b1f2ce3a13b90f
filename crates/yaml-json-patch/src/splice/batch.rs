//! The operations of a patch that one reading of the text is enough for: together, they give the text that they give one after the
//! other.
//!
//! None is about what another one has changed. None is written after an example that another one has changed, unless that one has
//! got the look that it is to have: what follows an example makes the same example again.

use super::edits::block_scalar_before;
use crate::json::{is_json, to_json};
use crate::quote::{Context, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Bound;

/// One element of a collection that an operation changes.
pub(super) struct Change<'o> {
    pub(super) collection: NodeId,
    /// The name of a member; none for an item.
    pub(super) name: Option<String>,
    /// The element; none where a new one comes.
    pub(super) old: Option<NodeId>,
    /// The new value; none where the old one goes.
    pub(super) new: Option<&'o Value>,
}

/// The change of elements of a collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Replaced,
    Added,
    Removed,
}

#[derive(Default)]
pub(super) struct Batch {
    fates: BTreeMap<NodeId, Fate>,
    /// The look of all elements that do not look as before; empty where it is not one.
    look: Option<Value>,
    /// The text is JSON, in which all strings are written alike.
    is_json: Option<bool>,
    /// No further operation can follow.
    pub(super) closed: bool,
}

impl Batch {
    pub(super) fn has_changes(&self) -> bool {
        self.closed || !self.fates.is_empty()
    }

    /// Takes a change that can be carried out together with those before it. `around`: the collections around its own.
    pub(super) fn takes(
        &mut self,
        tree: &Tree<'_>,
        around: &[NodeId],
        change: &Change<'_>,
    ) -> bool {
        let (fate, fits) = match (change.old, change.new) {
            (Some(old), Some(new)) => (Fate::Replaced, self.replaces(tree, change, old, new)),
            (None, Some(new)) => (Fate::Added, self.adds(tree, change, new)),
            _ => (Fate::Removed, self.changes("".into())),
        };
        let taken = fits && self.is_apart(tree, around, change.collection, fate);
        if taken {
            self.fates.insert(change.collection, fate);
        }
        taken
    }

    /// True if an element of a collection can change beside the other changes. The end of a collection may be that of one in it.
    fn is_apart(&self, tree: &Tree<'_>, around: &[NodeId], collection: NodeId, fate: Fate) -> bool {
        if fate == Fate::Replaced || self.fates.contains_key(&collection) {
            let before = self.fates.get(&collection);
            return before.is_none_or(|before| *before == fate && fate != Fate::Removed);
        }
        let end = tree.span(collection).end;
        let inner = self
            .fates
            .range((Bound::Excluded(collection), Bound::Unbounded))
            .take_while(|(inner, _)| tree.span(**inner).start < end)
            .map(|(_, fate)| fate);
        let outer = around.iter().filter_map(|outer| self.fates.get(outer));
        inner.chain(outer).all(|fate| *fate == Fate::Replaced)
    }

    /// A scalar on one line in the place of another one.
    fn replaces(&mut self, tree: &Tree<'_>, change: &Change<'_>, old: NodeId, new: &Value) -> bool {
        let (style, text) = (tree.style(old), new.as_str());
        let is_word = tree.kind(old) == Kind::Scalar
            && !style.is_block_scalar()
            && !tree.raw(old).contains('\n')
            && !tree.has_properties(old);
        let Some(look) = look(new).filter(|_| is_word && !is_collection(new)) else {
            return false;
        };
        let keeps_quotes = text.is_some_and(|text| match style {
            Style::SingleQuoted => single_quoted(text).is_some(),
            _ => style == Style::DoubleQuoted,
        });
        let before = to_json(tree, old).ok().and_then(|old| self::look(&old));
        let in_block = tree.style(change.collection) == Style::Block;
        let is_plain = |text| in_block && quote(text, Context::Block) == text;
        let is_json = *self
            .is_json
            .get_or_insert_with(|| !in_block && is_json(tree.text()));
        if new.is_number() || new.is_boolean() || keeps_quotes || is_json {
            before == Some(look) || self.changes("".into())
        } else {
            self.follows(tree, change, &look)
                && (before.as_ref() == Some(&look) && text.is_some_and(is_plain)
                    || self.changes(look))
        }
    }

    /// A new last element.
    fn adds(&mut self, tree: &Tree<'_>, change: &Change<'_>, new: &Value) -> bool {
        let collection = change.collection;
        let in_block = tree.style(collection) == Style::Block;
        if !self.fates.contains_key(&collection) {
            let Some(last) = tree.values(collection).last() else {
                return false;
            };
            // In brackets, the last element shows how the next one is written.
            let is_alike = in_block
                || matches!(tree.style(last), Style::Block | Style::Flow) == is_collection(new);
            let is_open = block_scalar_before(tree, tree.span(collection).end).is_some();
            let in_lines = |value| tree.style(value) != Style::Flow;
            // The layout of a collection may be that of any other one.
            let is_free = !is_collection(new)
                || self.fates.is_empty() && (!in_block || tree.values(collection).all(in_lines));
            if !is_alike || is_open || !is_free {
                return false;
            }
        } else if tree.values(collection).nth(1).is_none()
            || is_collection(new) && self.fates.len() > 1
        {
            // Behind a single element, the first new one may be the first to show a blank line.
            return false;
        }
        let key = change.name.as_deref();
        let is_integer = key.is_some_and(|key| key.parse::<u32>().is_ok());
        let Some(look) = look(&json!([key, new])) else {
            return false;
        };
        let look = json!([is_integer, look]);
        self.follows(tree, change, &look) && self.changes(look)
    }

    /// True if what an element may be written alike looks as before, or as the element itself will.
    fn follows(&self, tree: &Tree<'_>, change: &Change<'_>, look: &Value) -> bool {
        let first = tree.children(change.collection).next();
        let first = first.map(|first| tree.style(first));
        // Brackets follow those around them as long as they show nothing of their own.
        let is_firm = match tree.kind(change.collection) {
            _ if tree.style(change.collection) == Style::Block => true,
            Kind::Mapping => change.old.is_none() && first == Some(Style::DoubleQuoted),
            _ if change.new.is_some_and(is_collection) => first == Some(Style::Flow),
            _ => change.old.is_none() && first == Some(Style::DoubleQuoted),
        };
        self.look
            .as_ref()
            .is_none_or(|known| is_firm && known == look)
    }

    /// Remembers the look of an element that does not look as before.
    fn changes(&mut self, look: Value) -> bool {
        if *self.look.get_or_insert_with(|| look.clone()) != look {
            self.look = Some("".into());
        }
        true
    }
}

fn is_collection(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// All that decides how a value is written, and that others may be written alike; none for text of several lines.
fn look(value: &Value) -> Option<Value> {
    Some(match value {
        Value::String(text) => {
            let is_plain = [Context::Block, Context::Flow].map(|place| quote(text, place) == *text);
            let has_escapes = (text.contains(['"', '\\']), single_quoted(text).is_none());
            format!("{is_plain:?} {has_escapes:?}").into()
        }
        Value::Array(items) => items.iter().map(look).collect::<Option<_>>()?,
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| Some((name.clone(), look(value)?)))
            .collect::<Option<_>>()?,
        Value::Number(_) => 0.into(),
        Value::Bool(_) => true.into(),
        Value::Null => Value::Null,
    })
    .filter(|_| {
        !value
            .as_str()
            .is_some_and(|text| text.contains(['\n', '\r']))
    })
}
