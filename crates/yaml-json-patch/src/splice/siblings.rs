//! New elements, spelled as those beside them.

use super::content::{Content, Name};
use super::plan::{self, New};
use super::spelling::{Siblings, Spelling};
use super::writer::Writer;
use crate::quote::Context;
use crate::tree::Kind;
use serde_json::Value;

/// The widest collection that is written in brackets because others are.
const MAX_WIDTH: usize = 80;

/// The text of a new member or item that is spelled as those beside it.
#[derive(Debug, Default)]
pub(super) struct Spelled {
    key: Option<String>,
    value: Option<String>,
}

impl Spelled {
    pub(super) fn is_needed(&self) -> bool {
        self.key.is_some() || self.value.is_some()
    }

    pub(super) fn name<'v>(&'v self, name: &'v str) -> Name<'v> {
        self.key.as_deref().map_or(Name::New(name), Name::Written)
    }

    pub(super) fn content<'v>(&'v self, content: Content<'v>) -> Content<'v> {
        self.value.as_deref().map_or(content, Content::Written)
    }
}

impl Writer<'_, '_> {
    /// The spelling of a new element in a block collection.
    pub(super) fn as_siblings(&mut self, siblings: Option<Siblings>, new: &New<'_>) -> Spelled {
        let tree = self.tree;
        let Some(siblings) = siblings else {
            return Spelled::default();
        };
        let spelling = match siblings.except {
            Some(_) => Spelling::of(tree, siblings),
            None => *self
                .examples
                .spellings
                .entry(siblings.node)
                .or_insert_with(|| Spelling::of(tree, siblings)),
        };
        let is_integer = |name: &str| {
            name.parse::<u32>()
                .is_ok_and(|number| number.to_string() == name)
        };
        let key = new.name.and_then(|name| {
            if spelling.integer_keys && is_integer(name) {
                Some(name.to_owned())
            } else {
                spelling.keys.write(name, Context::Block)
            }
        });
        let value = match new.value {
            _ if new.source.is_some() => None,
            Value::String(text) if !text.contains('\n') => {
                spelling.values.write(text, Context::Block)
            }
            Value::Array(_) => self.in_brackets_as(spelling, Kind::Sequence, new.value),
            Value::Object(_) => self.in_brackets_as(spelling, Kind::Mapping, new.value),
            _ => None,
        };
        Spelled { key, value }
    }

    fn in_brackets_as(&mut self, spelling: Spelling, kind: Kind, new: &Value) -> Option<String> {
        let example = spelling
            .in_brackets
            .filter(|example| self.tree.kind(*example) == kind)?;
        let elements = plan::elements_of(self.tree, &self.lines, example).ok()?;
        let text = self
            .brackets(example, &elements, None)
            .value(Content::Value(new), 0, 0)
            .ok()?;
        (text.len() <= MAX_WIDTH && !text.contains('\n')).then_some(text)
    }
}
