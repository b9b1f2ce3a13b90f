//! The quotes of strings, as other strings show them.

use crate::quote::{Context, is_date, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use std::borrow::Cow;
use std::collections::HashMap;

/// The quotes of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quotes {
    /// The style of the last in quotes.
    style: Option<Style>,
    /// The number of those in quotes.
    count: usize,
    /// One of them needs none.
    needless: bool,
    /// Others have none, or other ones.
    is_mixed: bool,
    /// A date has none, which other programs take for no string.
    plain_dates: bool,
    /// The way of the first string: all have double quotes as in JSON, or some may have none.
    pub(super) place: Option<Context>,
    /// The last null, which is written in a way of its own.
    pub(super) null: Option<NodeId>,
}

impl Quotes {
    /// The quotes of the keys of a mapping, or of its values, or of the items of a list. A value that goes says only that it has none:
    /// plain stays plain.
    pub(super) fn of(
        tree: &Tree<'_>,
        strings: impl Iterator<Item = NodeId>,
        goes: Option<NodeId>,
    ) -> Self {
        let mut quotes = Self::default();
        for node in strings {
            quotes.add(tree, node, Some(node) == goes);
        }
        quotes
    }

    fn add(&mut self, tree: &Tree<'_>, node: NodeId, goes: bool) {
        let style = tree.style(node);
        match style {
            _ if tree.kind(node) != Kind::Scalar => return,
            Style::Plain => match scalar_value(tree, node) {
                Ok(ScalarValue::Str(text)) => {
                    self.is_mixed = true;
                    self.plain_dates |= is_date(&text);
                }
                Ok(ScalarValue::Null) if !goes => return self.null = Some(node),
                _ => return,
            },
            Style::SingleQuoted | Style::DoubleQuoted if !goes => {
                self.is_mixed |= self
                    .style
                    .replace(style)
                    .is_some_and(|other| other != style);
                self.count += 1;
                let is_needless = |text: Cow<'_, str>| quote(&text, Context::Block) == text;
                self.needless = self.needless || tree.scalar(node).is_some_and(is_needless);
            }
            _ => return,
        }
        if !goes {
            let is_json = style == Style::DoubleQuoted;
            self.place.get_or_insert(if is_json {
                Context::Json
            } else {
                Context::Flow
            });
        }
    }

    /// The same quotes, where they are so also where none are needed, unless another string has none.
    pub(super) fn everywhere(self, everywhere: bool) -> Self {
        Self {
            needless: self.needless || everywhere,
            count: if everywhere { 2 } else { self.count },
            ..self
        }
    }

    /// The string as the others are written; none if it has no quotes, or cannot have theirs.
    pub(super) fn write(self, text: &str, place: Context) -> Option<String> {
        if self.plain_dates && is_date(text) {
            return Some(text.to_owned());
        }
        let needs = quote(text, place) != text;
        let always = self.needless && self.count > 1 && !self.is_mixed;
        match self.style.filter(|_| needs || always)? {
            Style::SingleQuoted => single_quoted(text),
            // A text with `"` or `\` that can stand without quotes does: escapes are hard to read.
            _ if !needs && text.contains(['"', '\\']) => None,
            _ => Some(quote(text, Context::Json).into_owned()),
        }
    }

    /// True if a string shows them.
    pub(super) fn are_shown(self) -> bool {
        self.style.is_some() || self.plain_dates
    }
}

/// The quotes inside of values that are alike, such as the items of a list: of their strings, and of the members of each name.
#[derive(Debug, Default)]
pub(super) struct Alike<'t> {
    pub(super) strings: Quotes,
    /// The style of their lists, if one is in lines, or the members of a name are in brackets.
    pub(super) lists: Option<Style>,
    members: HashMap<Cow<'t, str>, Self>,
}

impl<'t> Alike<'t> {
    /// Measures the elements of a collection.
    pub(super) fn of(tree: &Tree<'t>, collection: NodeId, goes: Option<NodeId>) -> Self {
        let mut alike = Self::default();
        let stays = |value: &NodeId| Some(*value) != goes;
        for value in tree.values(collection).filter(stays) {
            alike.add(tree, value);
        }
        alike
    }

    fn add(&mut self, tree: &Tree<'t>, node: NodeId) {
        self.strings.add(tree, node, false);
        // Two in quotes are a habit, whether they need them or not.
        self.strings.needless = true;
        if tree.kind(node) == Kind::Sequence && tree.style(node) == Style::Block {
            self.lists = Some(Style::Block);
        }
        for item in tree.items(node) {
            self.add(tree, item);
        }
        for (key, value) in tree.entries(node) {
            let name = tree.scalar(key).unwrap_or_default();
            let member = self.members.entry(name).or_default();
            member.add(tree, value);
            if tree.items(value).next().is_some() {
                member.lists.get_or_insert(Style::Flow);
            }
        }
    }

    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name)
    }
}
