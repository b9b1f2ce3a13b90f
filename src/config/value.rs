//! Values before they are read: a located node of a document, or text without a type of its own.

use crate::config::scalar_type::ScalarType;
use crate::config::violation::Violation;
use std::borrow::Cow;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree};

/// A value with its span in the source.
#[derive(Debug, Clone)]
pub(crate) enum ConfigValue<'v> {
    /// A node of a document, which has a YAML type.
    Node {
        tree: &'v Tree<'v>,
        id: NodeId,
        spans: SpanMap,
    },
    /// Text of `--set`, a ConfigMap's data or an annotation: the field decides its type; lists and maps are YAML.
    Text { text: &'v str, spans: SpanMap },
}

/// Maps spans within a value to spans in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SpanMap {
    /// The source has the value verbatim from this offset on.
    From(usize),
    /// The source has it escaped or folded: every span maps to the whole value.
    Within(Range<usize>),
}

impl SpanMap {
    pub(crate) fn range(&self, range: Range<usize>) -> Range<usize> {
        match self {
            SpanMap::From(offset) => range.start + offset..range.end + offset,
            SpanMap::Within(whole) => whole.clone(),
        }
    }
}

impl<'v> ConfigValue<'v> {
    /// Returns the span of the value in its source.
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            ConfigValue::Node { tree, id, spans } => spans.range(tree.place(*id)),
            ConfigValue::Text { text, spans } => spans.range(0..text.len()),
        }
    }

    /// Returns true for text that is YAML's `null`.
    pub(crate) fn is_null_text(&self) -> bool {
        matches!(
            self,
            ConfigValue::Text {
                text: "null" | "~",
                ..
            }
        )
    }

    /// Returns true for a document's `null`; never for text, whose type the field decides.
    pub(crate) fn is_null(&self) -> bool {
        match self {
            ConfigValue::Node { tree, id, .. } => {
                tree.kind(*id) == Kind::Scalar
                    && yaml::scalar_value(tree, *id) == Ok(ScalarValue::Null)
            }
            ConfigValue::Text { .. } => false,
        }
    }

    /// Names the value's type for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        let ConfigValue::Node { tree, id, .. } = self else {
            return "text";
        };
        match tree.kind(*id) {
            Kind::Mapping => "a mapping",
            Kind::Sequence => "a list",
            Kind::Alias => "an alias",
            Kind::Scalar => match yaml::scalar_value(tree, *id) {
                Ok(ScalarValue::Null) => "nothing",
                Ok(ScalarValue::Bool(_)) => "true or false",
                Ok(ScalarValue::Int(_) | ScalarValue::Float(_)) => "a number",
                Ok(ScalarValue::Str(_)) => "a string",
                Err(_) => "a value that does not match its tag",
            },
        }
    }

    /// Returns a document's scalar as it is written.
    pub(crate) fn written(&self) -> Option<&'v str> {
        match self {
            ConfigValue::Node { tree, id, .. } if tree.kind(*id) == Kind::Scalar => {
                Some(tree.raw(*id))
            }
            _ => None,
        }
    }

    /// Returns the characters of a scalar of the wanted type.
    pub(crate) fn scalar(&self, wanted: ScalarType) -> Result<Cow<'v, str>, Violation> {
        let (tree, id) = match self {
            ConfigValue::Text { text, .. } => return Ok(Cow::Borrowed(text)),
            ConfigValue::Node { tree, id, .. } => (tree, *id),
        };
        let violation = || {
            Violation::new(format!(
                "must be {}, found {}",
                wanted.name(),
                self.type_name()
            ))
        };
        if tree.kind(id) == Kind::Alias {
            return Err(no_alias());
        }
        if tree.kind(id) != Kind::Scalar {
            return Err(violation());
        }
        match (wanted, yaml::scalar_value(tree, id)) {
            (ScalarType::Text | ScalarType::Quantity, Ok(ScalarValue::Str(text))) => Ok(text),
            (ScalarType::Integer | ScalarType::Quantity, Ok(ScalarValue::Int(number))) => {
                Ok(Cow::Owned(number.to_string()))
            }
            (ScalarType::Quantity, Ok(ScalarValue::Float(_))) => Ok(Cow::Borrowed(tree.raw(id))),
            (ScalarType::Boolean, Ok(ScalarValue::Bool(value))) => {
                Ok(Cow::Borrowed(if value { "true" } else { "false" }))
            }
            (ScalarType::Text, Ok(ScalarValue::Null)) => Err(violation()),
            (ScalarType::Text, _) => {
                Err(violation().with_help(format!("put it in quotes: `\"{}\"`", tree.raw(id))))
            }
            (ScalarType::Integer | ScalarType::Boolean, Ok(ScalarValue::Str(text)))
                if wanted.fits(&text) =>
            {
                Err(violation().with_help(format!("write it without quotes: `{text}`")))
            }
            _ => Err(violation()),
        }
    }
}

/// Returns the violation about an alias: a configuration is short enough to be written out.
pub(crate) fn no_alias() -> Violation {
    Violation::new("is an alias, which a configuration does not support".to_owned())
        .with_help("replace the alias with its value".to_owned())
}
