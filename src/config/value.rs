//! Values before they are read, each with its span in the source.

use crate::config::scalar_type::ScalarType;
use crate::config::violation::Violation;
use std::borrow::Cow;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree};

/// A value of a source.
#[derive(Debug, Clone)]
pub(crate) struct ConfigValue<'v> {
    pub(crate) span: Range<usize>,
    pub(crate) form: Form<'v>,
}

/// The form of a value.
#[derive(Debug, Clone)]
pub(crate) enum Form<'v> {
    /// Text of `--set`, a ConfigMap's data or an annotation: the setting decides its type; lists and mappings are YAML.
    Untyped {
        text: &'v str,
        spans: SpanMap,
    },
    /// A scalar of a document.
    Scalar {
        /// None if it does not match its tag.
        value: Option<ScalarValue<'v>>,
        written: &'v str,
    },
    List(Vec<ConfigValue<'v>>),
    /// Keys and values.
    Mapping(Vec<(ConfigValue<'v>, ConfigValue<'v>)>),
    Alias,
}

/// A member of a mapping.
#[derive(Debug)]
pub(crate) struct Member<'v> {
    pub(crate) name: Cow<'v, str>,
    pub(crate) name_span: Range<usize>,
    pub(crate) value: ConfigValue<'v>,
}

/// Maps spans within a value to spans in its source.
#[derive(Debug, Clone)]
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
    /// A value without a type of its own.
    pub(crate) fn untyped(text: &'v str, spans: SpanMap) -> Self {
        ConfigValue {
            span: spans.range(0..text.len()),
            form: Form::Untyped { text, spans },
        }
    }

    /// A value of a document.
    pub(crate) fn of_node(tree: &Tree<'v>, id: NodeId, spans: &SpanMap) -> Self {
        let value = |id| Self::of_node(tree, id, spans);
        let form = match tree.kind(id) {
            Kind::Alias => Form::Alias,
            Kind::Scalar => Form::Scalar {
                value: yaml::scalar_value(tree, id).ok(),
                written: tree.raw(id),
            },
            Kind::Sequence => Form::List(tree.items(id).map(value).collect()),
            Kind::Mapping => {
                let entries = tree.entries(id);
                Form::Mapping(
                    entries
                        .map(|(key, item)| (value(key), value(item)))
                        .collect(),
                )
            }
        };
        ConfigValue {
            span: spans.range(tree.place(id)),
            form,
        }
    }

    /// Returns true for `null`, in a document or as text.
    pub(crate) fn is_null(&self) -> bool {
        match &self.form {
            Form::Untyped { text, .. } => matches!(*text, "null" | "~"),
            Form::Scalar { value, .. } => *value == Some(ScalarValue::Null),
            _ => false,
        }
    }

    /// Returns true for `null` and `{}`.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_null() || matches!(&self.form, Form::Mapping(members) if members.is_empty())
    }

    pub(crate) fn is_untyped(&self) -> bool {
        matches!(self.form, Form::Untyped { .. })
    }

    /// Names the value's type for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.form {
            Form::Untyped { .. } => "text",
            Form::Mapping(_) => "a mapping",
            Form::List(_) => "a list",
            Form::Alias => "an alias",
            Form::Scalar { value, .. } => match value {
                Some(ScalarValue::Null) => "nothing",
                Some(ScalarValue::Bool(_)) => "true or false",
                Some(ScalarValue::Int(_) | ScalarValue::Float(_)) => "a number",
                Some(ScalarValue::Str(_)) => "a string",
                None => "a value that does not match its tag",
            },
        }
    }

    /// Returns the characters of a document's scalar, whatever its type.
    pub(crate) fn characters(&self) -> Option<Cow<'v, str>> {
        match &self.form {
            Form::Scalar {
                value: Some(ScalarValue::Str(text)),
                ..
            } => Some(text.clone()),
            _ => self.written().map(Cow::Borrowed),
        }
    }

    /// Returns a document's scalar as it is written.
    pub(crate) fn written(&self) -> Option<&'v str> {
        match self.form {
            Form::Scalar { written, .. } => Some(written),
            _ => None,
        }
    }

    /// Returns the characters of a scalar of the wanted type.
    pub(crate) fn scalar(&self, wanted: ScalarType) -> Result<Cow<'v, str>, Violation> {
        let (value, written) = match &self.form {
            Form::Untyped { text, .. } => return Ok(Cow::Borrowed(text)),
            Form::Alias => return Err(no_alias()),
            Form::Scalar { value, written } => (value.as_ref(), *written),
            Form::List(_) | Form::Mapping(_) => (None, ""),
        };
        let what = format!("must be {}, found {}", wanted.name(), self.type_name());
        let violation = Violation::new(what);
        Err(match (wanted, value) {
            (ScalarType::Text | ScalarType::Quantity, Some(ScalarValue::Str(text))) => {
                return Ok(text.clone());
            }
            (ScalarType::Integer | ScalarType::Quantity, Some(ScalarValue::Int(number))) => {
                return Ok(number.to_string().into());
            }
            (ScalarType::Quantity, Some(ScalarValue::Float(_))) => return Ok(written.into()),
            (ScalarType::Boolean, Some(ScalarValue::Bool(value))) => {
                return Ok(value.to_string().into());
            }
            (ScalarType::Text, value)
                if value != Some(&ScalarValue::Null) && !written.is_empty() =>
            {
                violation.with_help(format!("put it in quotes: `\"{written}\"`"))
            }
            (ScalarType::Integer | ScalarType::Boolean, Some(ScalarValue::Str(text)))
                if wanted.fits(text) =>
            {
                violation.with_help(format!("write it without quotes: `{text}`"))
            }
            _ => violation,
        })
    }
}

/// Returns the violation about an alias: a configuration is short enough to be written out.
pub(crate) fn no_alias() -> Violation {
    Violation::new("is an alias, which a configuration does not support")
        .with_help("replace the alias with its value")
}
