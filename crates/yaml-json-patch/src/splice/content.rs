//! New values, as they are to be written: of the patch, or of another place of the document.

use super::error::{ErrorKind, SpliceError};
use super::key::name_of;
use super::quotes::Alike;
use crate::json::{is_json, is_merge_key, to_json};
use crate::quote::{Context, quote};
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use serde_json::{Number, Value};
use std::borrow::Cow;

/// YAML's bound on keys that are written without `? `.
const MAX_KEY_CHARS: usize = 1024;

/// The form in which values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrying {
    /// As people would: a value that is moved or copied as its text, where it can stand at the new place; strings in the quotes of
    /// those that are alike; of a string over several lines only the words that change.
    Text,
    /// As JSON has them.
    Values,
    /// As JSON has them, and no string is a block scalar.
    QuotedValues,
}

/// A new value.
#[derive(Clone, Copy)]
pub(crate) enum Content<'v> {
    /// With the values that it is alike, if they show its quotes.
    Value(&'v Value, Option<&'v Alike<'v>>),
    /// A scalar, or a collection in brackets, as it is to be written.
    Written(&'v str),
    /// A node, whose keys and scalars keep their spelling.
    Node(&'v Tree<'v>, NodeId),
}

/// The parts of a value.
pub(crate) enum Parts<'v> {
    Scalar,
    Items(Vec<Content<'v>>),
    Members(Vec<(Name<'v>, Content<'v>)>),
}

/// The name of a new member.
#[derive(Clone, Copy)]
pub(crate) enum Name<'v> {
    New(&'v str),
    /// A key as it is to be written.
    Written(&'v str),
    /// A key that keeps its spelling.
    Node(&'v Tree<'v>, NodeId),
}

impl<'v> Content<'v> {
    pub(crate) fn parts(self) -> Parts<'v> {
        match self {
            Content::Value(Value::Array(items), alike) => {
                let item = |item| Content::Value(item, alike);
                Parts::Items(items.iter().map(item).collect())
            }
            Content::Value(Value::Object(members), alike) => {
                let member = |(name, value): (&'v String, _)| {
                    let alike = alike.and_then(|alike| alike.member(name));
                    (Name::New(name), Content::Value(value, alike))
                };
                Parts::Members(members.iter().map(member).collect())
            }
            Content::Value(..) | Content::Written(_) => Parts::Scalar,
            Content::Node(tree, node) => {
                let node = tree.alias_target(node);
                match tree.kind(node) {
                    Kind::Sequence => {
                        let item = |item| Content::Node(tree, item);
                        Parts::Items(tree.items(node).map(item).collect())
                    }
                    Kind::Mapping => {
                        let member =
                            |(key, value)| (Name::Node(tree, key), Content::Node(tree, value));
                        Parts::Members(tree.entries(node).map(member).collect())
                    }
                    Kind::Scalar | Kind::Alias => Parts::Scalar,
                }
            }
        }
    }

    /// The tag of a collection.
    pub(crate) fn tag(self) -> Option<&'v str> {
        match self {
            Content::Node(tree, node) => tree.tag(tree.alias_target(node)),
            _ => None,
        }
    }

    /// The style of the lists that are alike.
    pub(super) fn lists(self) -> Option<Style> {
        match self {
            Content::Value(_, alike) => alike?.lists,
            _ => None,
        }
    }

    /// The characters of a string; none for other values.
    pub(crate) fn string(self) -> Option<Cow<'v, str>> {
        match self {
            Content::Value(value, _) => value.as_str().map(Cow::Borrowed),
            Content::Written(_) => None,
            Content::Node(tree, node) => match scalar_value(tree, tree.alias_target(node)) {
                Ok(ScalarValue::Str(text)) => Some(text),
                _ => None,
            },
        }
    }

    /// The text of a scalar; none for a collection.
    pub(crate) fn scalar(self, place: Context) -> Option<String> {
        match self {
            Content::Value(Value::String(text), alike) => alike
                .and_then(|alike| alike.strings.write(text, place))
                .or_else(|| Some(quote(text, place).into_owned())),
            Content::Value(Value::Array(_) | Value::Object(_), _) => None,
            Content::Value(Value::Number(value), _) => Some(number(value)),
            Content::Value(value, _) => Some(value.to_string()),
            Content::Written(text) => Some(text.to_owned()),
            Content::Node(tree, node) => {
                let node = tree.alias_target(node);
                spelling(tree, node, place).or_else(|| {
                    let value = to_json(tree, node).ok()?;
                    Content::Value(&value, None).scalar(place)
                })
            }
        }
    }
}

impl Name<'_> {
    /// The text of a key, for a mapping in a block or in brackets.
    pub(crate) fn text(self, place: Context, at: usize) -> Result<String, SpliceError> {
        let key = match self {
            Name::New(name) => quote(name, place).into_owned(),
            Name::Written(key) => key.to_owned(),
            Name::Node(tree, key) => match spelling(tree, key, place) {
                // JSON has no other keys than strings.
                Some(spelling) if place != Context::Json || spelling.starts_with('"') => spelling,
                _ => quote(&name_of(tree, key).unwrap_or_default(), place).into_owned(),
            },
        };
        if key.chars().count() < MAX_KEY_CHARS {
            Ok(key)
        } else {
            Err(ErrorKind::LongKey.at(at))
        }
    }
}

/// The text of a scalar or alias as it is written, where it means the same at the new place. Anchors stay where they are.
pub(crate) fn spelling(tree: &Tree<'_>, node: NodeId, place: Context) -> Option<String> {
    let raw = tree.raw(node);
    let tag = tree.tag(node);
    let is_plain = tree.style(node) == Style::Plain;
    let fits = !raw.is_empty()
        && !raw.contains(['\n', '\r'])
        && tree.kind(node) == Kind::Scalar
        && !tree.style(node).is_block_scalar()
        && match place {
            Context::Block => true,
            Context::Flow => !is_plain || !raw.contains([',', '[', ']', '{', '}', ':', '?']),
            Context::Json => tag.is_none() && is_json(raw),
        };
    fits.then(|| tagged(tag, raw.to_owned()))
}

/// A number with the point and the sign that YAML 1.1 wants before and in an exponent: `1e21` is a string to it.
fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) {
        ""
    } else {
        "+"
    };
    [digits, point, "e", sign, exponent].concat()
}

/// A value behind its tag.
pub(crate) fn tagged(tag: Option<&str>, value: String) -> String {
    match tag {
        Some(tag) => [tag, " ", &value].concat(),
        None => value,
    }
}

/// True if each key of the node and of what is in it names a member of its own, so that the node can be written key by key.
pub(crate) fn has_plain_members(tree: &Tree<'_>, node: NodeId) -> bool {
    let node = tree.alias_target(node);
    let mut names = std::collections::HashSet::new();
    for (key, value) in tree.entries(node) {
        let is_member = !is_merge_key(tree, key) && !tree.has_properties(key);
        let Some(name) = name_of(tree, key) else {
            return false;
        };
        if !is_member || !names.insert(name) || !has_plain_members(tree, value) {
            return false;
        }
    }
    tree.items(node).all(|item| has_plain_members(tree, item))
}
