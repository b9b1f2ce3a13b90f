//! A value that is about to be read, as its door gives it: a located node of a document, or text whose type is the
//! field's.

use crate::config::form::Form;
use crate::config::violation::Violation;
use std::borrow::Cow;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, Resolved, Tree};

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) enum Value<'v> {
    /// Of a document: its type is what YAML says.
    Node { tree: &'v Tree<'v>, id: NodeId, places: Places },
    /// Of `--set`, a ConfigMap's data or an annotation: its type is the field's, lists and maps are YAML.
    Text { text: &'v str, places: Places },
}

/// How places within a value become places in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    /// The value stands in the source as it is, from this offset on.
    From(usize),
    /// It stands there with escapes or folding: only the whole of it has a place.
    Within(Range<usize>),
}

impl Places {
    pub(crate) fn range(&self, range: Range<usize>) -> Range<usize> {
        match self {
            Places::From(offset) => range.start + offset..range.end + offset,
            Places::Within(whole) => whole.clone(),
        }
    }
}

impl<'v> Value<'v> {
    /// Where the value stands in its source.
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Value::Node { tree, id, places } => places.range(tree.span(*id)),
            Value::Text { text, places } => places.range(0..text.len()),
        }
    }

    /// True for text that is YAML's `null`, where the field takes YAML.
    pub(crate) fn is_null_text(&self) -> bool {
        matches!(self, Value::Text { text: "null" | "~", .. })
    }

    /// True for a document's `null`. Text is never null: what it is depends on the field.
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Value::Node { tree, id, .. } => {
                tree.kind(*id) == Kind::Scalar && yaml::resolve(tree, *id) == Ok(Resolved::Null)
            }
            Value::Text { .. } => false,
        }
    }

    /// What the value is, in words.
    pub(crate) fn type_name(&self) -> &'static str {
        let Value::Node { tree, id, .. } = self else { return "text" };
        match tree.kind(*id) {
            Kind::Mapping => "a mapping",
            Kind::Sequence => "a list",
            Kind::Alias => "an alias",
            Kind::Scalar => match yaml::resolve(tree, *id) {
                Ok(Resolved::Null) => "nothing",
                Ok(Resolved::Bool(_)) => "true or false",
                Ok(Resolved::Int(_) | Resolved::Float(_)) => "a number",
                Ok(Resolved::Str(_)) => "a string",
                Err(_) => "a value that does not fit its tag",
            },
        }
    }

    /// A document's single value as it is written.
    pub(crate) fn written(&self) -> Option<&'v str> {
        match self {
            Value::Node { tree, id, .. } if tree.kind(*id) == Kind::Scalar => Some(tree.raw(*id)),
            _ => None,
        }
    }

    /// The characters of a single value, when its type is the wanted one.
    pub(crate) fn scalar(&self, form: Form) -> Result<Cow<'v, str>, Violation> {
        let (tree, id) = match self {
            Value::Text { text, .. } => return Ok(Cow::Borrowed(text)),
            Value::Node { tree, id, .. } => (tree, *id),
        };
        let violation = || Violation::new(format!("must be {}, found {}", form.name(), self.type_name()));
        if tree.kind(id) == Kind::Alias {
            return Err(no_alias());
        }
        if tree.kind(id) != Kind::Scalar {
            return Err(violation());
        }
        match (form, yaml::resolve(tree, id)) {
            (Form::Text | Form::Quantity, Ok(Resolved::Str(text))) => Ok(text),
            (Form::Integer | Form::Quantity, Ok(Resolved::Int(number))) => Ok(Cow::Owned(number.to_string())),
            (Form::Quantity, Ok(Resolved::Float(_))) => Ok(Cow::Borrowed(tree.raw(id))),
            (Form::Boolean, Ok(Resolved::Bool(value))) => Ok(Cow::Borrowed(if value { "true" } else { "false" })),
            (Form::Text, Ok(Resolved::Null)) => Err(violation()),
            (Form::Text, _) => Err(violation().with_help(format!("put it in quotes: `\"{}\"`", tree.raw(id)))),
            (Form::Integer | Form::Boolean, Ok(Resolved::Str(text))) if form.fits(&text) => {
                Err(violation().with_help(format!("write it without quotes: `{text}`")))
            }
            _ => Err(violation()),
        }
    }
}

/// A configuration is short, and what it says should stand where it counts.
pub(crate) fn no_alias() -> Violation {
    Violation::new("is an alias, which a configuration does not take".to_owned())
        .with_help("write the value out".to_owned())
}
