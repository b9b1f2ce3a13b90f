//! New elements, which are written in the style of those beside them.

use super::content::{Carrying, Content, Name};
use super::layout::BlockStyle;
use super::plan::{self, New};
use super::quotes::Alike;
use super::render::MAX_WIDTH;
use super::style::ElementStyle;
use super::writer::Writer;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The style of a new member or item.
#[derive(Debug, Default)]
pub(super) struct Styled<'t> {
    key: Option<String>,
    value: Option<String>,
    /// The elements that it is alike.
    alike: Option<Rc<Alike<'t>>>,
}

impl Styled<'_> {
    pub(super) fn is_needed(&self) -> bool {
        self.key.is_some() || self.value.is_some() || self.alike.is_some()
    }

    pub(super) fn name<'v>(&'v self, name: &'v str) -> Name<'v> {
        self.key.as_deref().map_or(Name::New(name), Name::Written)
    }

    pub(super) fn content<'v>(&'v self, content: Content<'v>) -> Content<'v> {
        match (content, &self.value) {
            (_, Some(text)) => Content::Written(text),
            (Content::Value(value, _), None) => Content::Value(value, self.alike.as_deref()),
            _ => content,
        }
    }
}

impl<'t> Writer<'_, 't> {
    /// Measures the elements of a collection. The style of a value that goes does not count.
    pub(super) fn element_style(&mut self, node: NodeId, goes: Option<NodeId>) -> ElementStyle {
        let measure = || ElementStyle::of(self.tree, node, goes);
        once(&mut self.examples.elements, node, goes, measure)
    }

    /// The text of a new element of a block collection.
    pub(super) fn styled(&mut self, shape: BlockStyle, new: &New<'_>) -> Styled<'t> {
        let tree = self.tree;
        let Some(node) = shape.node else {
            return Styled::default();
        };
        // Where a word takes the place of a plain one, that one counts, too.
        let is_word = new.is_scalar() && !new.value.is_null();
        let counts = |old: &NodeId| is_word && tree.style(*old) == Style::Plain;
        let style = self.element_style(node, shape.goes.filter(|old| !counts(old)));
        let is_integer = |name: &str| {
            name.parse::<u32>()
                .is_ok_and(|number| number.to_string() == name)
        };
        let key = new.name.and_then(|name| {
            if style.integer_keys && is_integer(name) {
                Some(name.to_owned())
            } else {
                style.keys.write(name, Context::Block)
            }
        });
        let value = match new.value {
            _ if new.source.is_some() => None,
            Value::String(text) if !text.contains('\n') => style.values.write(text, Context::Block),
            Value::Array(_) | Value::Object(_) => self.in_brackets_as(style, new),
            Value::Null if shape.kind == Kind::Mapping => {
                style.values.null.map(|null| tree.raw(null).to_owned())
            }
            _ => None,
        };
        let is_alike = self.carrying == Carrying::Text && !new.is_scalar();
        let measure = || Rc::new(Alike::of(tree, node, shape.goes));
        let alike = || once(&mut self.examples.alike, node, shape.goes, measure);
        Styled {
            key,
            value,
            alike: is_alike.then(alike),
        }
    }

    fn in_brackets_as(&mut self, style: ElementStyle, new: &New<'_>) -> Option<String> {
        let is_list = |node: NodeId| self.tree.kind(node) == Kind::Sequence;
        let example = style
            .in_brackets
            .filter(|example| is_list(*example) == new.value.is_array())?;
        let elements = plan::elements_of(self.tree, &self.lines, example).ok()?;
        let brackets = self.brackets(example, &elements, None);
        let text = brackets.value(self.content(new), 0, 0).ok()?;
        (text.len() <= MAX_WIDTH && !text.contains('\n')).then_some(text)
    }
}

/// Measures a collection once, but anew where a value goes.
fn once<T: Clone>(
    known: &mut BTreeMap<NodeId, T>,
    node: NodeId,
    goes: Option<NodeId>,
    measure: impl FnOnce() -> T,
) -> T {
    match goes {
        Some(_) => measure(),
        None => known.entry(node).or_insert_with(measure).clone(),
    }
}
