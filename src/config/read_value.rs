//! Reads values into settings, by the shapes of their rows.

use crate::config::constraint::Constraint;
use crate::config::kubernetes_type;
use crate::config::read_context::ReadContext;
use crate::config::rows::rows as all_rows;
use crate::config::scalar::shape_of;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::{ItemShape, ScalarShape, SettingRow, Shape};
use crate::config::value::{ConfigValue, Member};
use crate::config::violation::Violation;
use crate::diagnostic::closest::is_within;
use serde_json::{Map, Value as Json};

/// The most settings of one name that a message suggests.
const MAX_PLACES: usize = 2;

/// Returns the paths of the settings of this name; none if there are too many for a suggestion.
fn places_of(name: &str) -> Vec<&'static str> {
    let mut places = Vec::new();
    for row in all_rows() {
        if row.name == name {
            places.push(row.path);
        }
    }
    if places.len() > MAX_PLACES {
        places.clear();
    }
    places
}

/// Reads a value into the part at `path` of a setting, whose JSON is `target`. If the value is wrong, the violations go to
/// `context` and the old value stays.
fn set(
    shape: Shape,
    target: &mut Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    match (shape.not_null(), path) {
        (Shape::Group(_), []) if value.is_null() && shape.takes_null() => {
            context.given(value.span);
            *target = Json::Null;
        }
        (Shape::Group(rows), _) => set_members(rows, target, path, value, context),
        (Shape::Kubernetes(known), _) => {
            kubernetes_type::merge(known(), target, path, value, context);
        }
        (Shape::Labels, [key]) => {
            let span = value.span.clone();
            context.enter(key, context.constraint());
            if let Some(text) = read_label(key, value, context) {
                context.given(span);
                target[key] = text;
            }
            context.leave();
        }
        (Shape::Labels, [key, part, ..]) => {
            context.enter(key, None);
            context.no_parts(part);
            context.leave();
        }
        (_, [part, ..]) => context.no_parts(part),
        (_, []) => {
            if let Some(read) = read(shape, value, context) {
                *target = read;
            }
        }
    }
}

/// Reads a value into the member at `path` of a group, or all members if that is empty.
pub(crate) fn set_members(
    rows: &[&'static SettingRow],
    group: &mut Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    if let [name, rest @ ..] = path {
        if let Some(row) = row_of(rows, name, context) {
            set_row(row, &mut group[row.name], rest, value, context);
        }
        return;
    }
    for member in value.members(context) {
        context.name_span = member.name_span;
        if let Some(row) = row_of(rows, &member.name, context) {
            set_row(row, &mut group[row.name], &[], member.value, context);
        }
    }
}

/// Returns the row of this name, or reports that there is none.
fn row_of(
    rows: &[&'static SettingRow],
    name: &str,
    context: &mut ReadContext<'_>,
) -> Option<&'static SettingRow> {
    let row = rows.iter().find(|row| row.name == name);
    if row.is_none() {
        // `select.namespace` is `select.namespaces`, though there is a setting `namespace`. A name directly below `spec` is rather
        // one that misses its group.
        let is_in_group = !context.dotted().is_empty();
        let is_misspelt = is_in_group && rows.iter().any(|row| is_within(1, name, row.name));
        match &places_of(name)[..] {
            places if is_misspelt || places.is_empty() => {
                let known: Vec<&str> = rows.iter().map(|row| row.name).collect();
                context.unknown_field(name, &known);
            }
            places => context.misplaced_field(name, places),
        }
    }
    row.copied()
}

/// Reads a value into the part at `path` of the setting of a row, whose JSON is `target`.
pub(crate) fn set_row(
    row: &SettingRow,
    target: &mut Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    context.enter(row.name, row.check);
    let is_null = value.is_null() && !(value.is_untyped() && row.shape.takes_null_text());
    if path.is_empty() && is_null && !row.shape.takes_null() {
        context.forget();
        *target = (row.default)();
    } else {
        // A group within an item of a list begins here.
        if target.is_null() && !row.members().is_empty() {
            *target = (row.default)();
        }
        set(row.shape, target, path, value, context);
    }
    context.leave();
}

/// Reads a whole value.
fn read(shape: Shape, value: ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let span = value.span.clone();
    let read = match shape {
        Shape::Optional(Shape::Scalar(scalar)) if is_unset(scalar, &value, context) => Json::Null,
        Shape::Optional(inner) => return read(*inner, value, context),
        Shape::Scalar(scalar) => read_scalar(scalar, &value, context)?,
        Shape::List(item) => return read_list(*item, value, context),
        Shape::Item(item) => read_item(item, value, context)?,
        Shape::Labels => read_labels(value, context)?,
        // They are members or items, which `set` and `read_item` read.
        Shape::Kubernetes(_) | Shape::Group(_) => return None,
    };
    context.given(span);
    Some(read)
}

/// Reads one value; a violation goes to `context`.
fn read_scalar(
    scalar: &ScalarShape,
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Option<Json> {
    match checked_scalar(scalar, value, context.constraint()) {
        Ok(read) => Some(read),
        Err(violation) => {
            context.error(value.span.clone(), violation);
            None
        }
    }
}

fn checked_scalar(
    scalar: &ScalarShape,
    value: &ConfigValue<'_>,
    constraint: Option<Constraint>,
) -> Result<Json, Violation> {
    let text = match (value.scalar(scalar.yaml_type), value.written()) {
        (Ok(text), _) => text,
        // "Put it in quotes" is no help if the value is wrong in quotes too.
        (Err(violation), Some(written))
            if scalar.yaml_type == ScalarType::Text && !written.is_empty() =>
        {
            (scalar.read)(written)?;
            return Err(violation);
        }
        (Err(violation), _) => return Err(violation),
    };
    let read = (scalar.read)(&text)?;
    if let Some(constraint) = constraint {
        constraint.check(&text)?;
    }
    Ok(read)
}

/// Reads text; a violation goes to `context`.
pub(crate) fn read_text(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<String> {
    match read_scalar(shape_of::<String>(), value, context)? {
        Json::String(text) => Some(text),
        _ => None,
    }
}

/// Returns true for a value that unsets an optional setting.
fn is_unset(scalar: &ScalarShape, value: &ConfigValue<'_>, context: &ReadContext<'_>) -> bool {
    let text = value.scalar(scalar.yaml_type);
    // Empty text unsets, except for an API group, where it is the core group.
    if text.as_deref() == Ok("") {
        let constraint = context.constraint();
        return constraint.is_none_or(|constraint| constraint.check("").is_err());
    }
    if value.is_untyped() {
        // `null` unsets, unless it is a valid value of the type.
        return text.as_deref() == Ok("null") && (scalar.read)("null").is_err();
    }
    value.is_null()
}

fn read_list(item: Shape, value: ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let errors = context.errors.len();
    context.given(value.span.clone());
    let mut items = Vec::new();
    for (index, value) in value.items(context).into_iter().enumerate() {
        context.enter_item(index);
        items.extend(read(item, value, context));
        context.leave();
    }
    (context.errors.len() == errors).then_some(Json::Array(items))
}

fn read_item(
    item: &ItemShape,
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Option<Json> {
    let span = value.span.clone();
    let errors = context.errors.len();
    let fields = match item.fields {
        Shape::Kubernetes(known) => kubernetes_type::read(known(), &[], value, context),
        shape => {
            let mut fields = Json::Object(Map::new());
            set(shape, &mut fields, &[], value, context);
            fields
        }
    };
    if context.errors.len() > errors {
        return None;
    }
    match (item.read)(fields) {
        Ok(read) => Some(read),
        Err(violation) => {
            context.error(span, violation);
            None
        }
    }
}

fn read_labels(value: ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    let errors = context.errors.len();
    let mut labels = Map::new();
    for Member {
        name,
        name_span,
        value,
    } in value.members(context)
    {
        context.name_span = name_span;
        context.enter(&name, context.constraint());
        if let Some(text) = read_label(&name, value, context) {
            labels.insert(name.into_owned(), text);
        }
        context.leave();
    }
    (context.errors.len() == errors).then_some(Json::Object(labels))
}

fn read_label(key: &str, value: ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Json> {
    if let Err(violation) = Constraint::MetadataName.check(key) {
        let what = format!("has an invalid label key: it {}", violation.what);
        context.error_at_name(Violation { what, ..violation });
        return None;
    }
    read_text(&value, context).map(Json::String)
}
