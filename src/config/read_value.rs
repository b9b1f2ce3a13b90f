//! Reads values into settings, by the shapes of their rows.

use crate::config::constraint::Constraint;
use crate::config::kubernetes_type;
use crate::config::read_context::ReadContext;
use crate::config::scalar::shape_of;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::{ItemShape, ScalarShape, SettingRow, Shape};
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Reads a value into the part at `path` of a setting, whose JSON is `target`. If the value is wrong, the violations go to
/// `context` and the old value stays.
pub(crate) fn set(
    shape: Shape,
    target: &mut Json,
    path: &[String],
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    match (shape, path) {
        (Shape::Group(rows), []) => value.mapping(context, |name, value, context| {
            if let Some(row) = member(rows, name, context) {
                set_member(row, target, &[], value, context);
            }
        }),
        (Shape::Group(rows), [name, rest @ ..]) => {
            if let Some(row) = member(rows, name, context) {
                set_member(row, target, rest, value, context);
            }
        }
        (Shape::Kubernetes(known), _) => {
            kubernetes_type::merge(known(), target, path, value, context);
        }
        (Shape::Labels, [key]) => set_label(target, key, value, context),
        (Shape::Labels, [key, part, ..]) => {
            context.within_entry(key, |context| context.no_parts(part));
        }
        (_, [part, ..]) => context.no_parts(part),
        (_, []) => {
            if let Some(read) = read(shape, value, context) {
                *target = read;
            }
        }
    }
}

/// Returns the row of this name; without one, that goes to `context`.
fn member(
    rows: &[&'static SettingRow],
    name: &str,
    context: &mut ReadContext<'_>,
) -> Option<&'static SettingRow> {
    let row = rows.iter().find(|row| row.name == name);
    if row.is_none() {
        context.unknown_field(name, rows.iter().map(|row| row.name));
    }
    row.copied()
}

/// Reads a value into the part at `path` of a member of a group, whose JSON is `group`.
pub(crate) fn set_member(
    row: &SettingRow,
    group: &mut Json,
    path: &[String],
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    let is_null = value.is_null() || (value.is_null_text() && !row.shape.takes_null_text());
    let member = &mut group[row.name];
    if path.is_empty() && is_null && !row.shape.takes_null() {
        context.forget(row.name);
        *member = (row.default)();
        return;
    }
    // A group within an item of a list begins here.
    if member.is_null() && !row.members().is_empty() {
        *member = (row.default)();
    }
    context.within(row.name, row.check, |context| {
        set(row.shape, member, path, value, context)
    });
}

/// Reads a whole value.
fn read(shape: Shape, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let read = match shape {
        Shape::Optional(Shape::Scalar(scalar)) if is_unset(scalar, value, context) => Json::Null,
        Shape::Optional(inner) => return read(*inner, value, context),
        Shape::Scalar(scalar) => read_scalar(scalar, value, context)?,
        Shape::List(item) => return read_list(*item, value, context),
        Shape::Item(item) => return read_item(item, value, context),
        Shape::Labels => read_labels(value, context)?,
        // They are members or items, which `set` and `read_item` read.
        Shape::Kubernetes(_) | Shape::Group(_) => return None,
    };
    context.given(value);
    Some(read)
}

/// Reads one value; a violation goes to `context`.
fn read_scalar(
    scalar: &ScalarShape,
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Option<Json> {
    let parsed = value
        .scalar(scalar.yaml_type)
        .map_err(|violation| or_better(scalar, value, violation))
        .and_then(|text| {
            let parsed = (scalar.read)(&text)?;
            context
                .constraint()
                .map_or(Ok(()), |constraint| constraint.check(&text))?;
            Ok(parsed)
        });
    parsed
        .map_err(|violation| context.error(value.range(), violation))
        .ok()
}

/// Reads text; a violation goes to `context`.
pub(crate) fn read_text(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<String> {
    match read_scalar(&const { shape_of::<String>() }, value, context)? {
        Json::String(text) => Some(text),
        _ => None,
    }
}

/// Replaces "put it in quotes" if the value is wrong in quotes too.
fn or_better(scalar: &ScalarShape, value: &ConfigValue<'_>, violation: Violation) -> Violation {
    match value.written() {
        Some(written) if scalar.yaml_type == ScalarType::Text && !written.is_empty() => {
            (scalar.read)(written).err().unwrap_or(violation)
        }
        _ => violation,
    }
}

/// Returns true for a value that unsets an optional setting.
fn is_unset(scalar: &ScalarShape, value: &ConfigValue<'_>, context: &ReadContext<'_>) -> bool {
    // Empty text unsets, except for an API group, where it is the core group.
    let is_empty = |text: &str| {
        text.is_empty()
            && context
                .constraint()
                .is_none_or(|constraint| constraint.check("").is_err())
    };
    match value {
        ConfigValue::Node { .. } => {
            let text = value.scalar(scalar.yaml_type);
            value.is_null() || text.is_ok_and(|text| is_empty(&text))
        }
        // `null` unsets, unless it is a valid value of the type.
        ConfigValue::Text { text, .. } => {
            is_empty(text) || (*text == "null" && (scalar.read)(text).is_err())
        }
    }
}

fn read_list(item: Shape, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let mut items = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut ranges = Vec::new();
    let identity = match item {
        Shape::Item(item) => item.identity,
        _ => None,
    };
    context.without_errors(|context| {
        value.list(context, |index, value, context| {
            ranges.push(value.range());
            context.within_item(index, |context| {
                let Some(read) = read(item, value, context) else {
                    return;
                };
                let name = identity.and_then(|field| read[field].as_str());
                if let Some(name) = name {
                    let first = *names.entry(name.to_owned()).or_insert(index);
                    if first != index {
                        let what = format!("has the same name as item {first}: `{name}`");
                        return context.error(value.range(), Violation::new(what));
                    }
                }
                items.push(read);
            });
        });
    })?;
    context.given(value);
    context.given_items(ranges);
    Some(Json::Array(items))
}

fn read_item(
    item: &ItemShape,
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Option<Json> {
    let fields = match item.fields {
        Shape::Kubernetes(known) => {
            context.without_errors(|context| kubernetes_type::read(known(), &[], value, context))?
        }
        shape => {
            let mut fields = Json::Object(Map::new());
            context.without_errors(|context| set(shape, &mut fields, &[], value, context))?;
            fields
        }
    };
    (item.read)(fields)
        .map_err(|violation| context.error(value.range(), violation))
        .ok()
}

fn read_labels(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let mut labels = Json::Object(Map::new());
    context.without_errors(|context| {
        value.mapping(context, |key, value, context| {
            context.within_entry(key, |context| {
                if let Some(text) = read_label(key, value, context) {
                    labels[key] = text;
                }
            });
        });
    })?;
    Some(labels)
}

fn set_label(labels: &mut Json, key: &str, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
    context.within_entry(key, |context| {
        if let Some(text) = read_label(key, value, context) {
            context.given(value);
            labels[key] = text;
        }
    });
}

fn read_label(key: &str, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    if let Err(violation) = Constraint::MetadataName.check(key) {
        let what = format!("has an invalid label key: it {}", violation.what);
        context.error_at_name(Violation { what, ..violation });
        return None;
    }
    read_text(value, context).map(Json::String)
}
