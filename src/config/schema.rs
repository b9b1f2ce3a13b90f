//! The configuration's JSON Schema, from the table of settings.

use super::setting::{Field, Setting as _};
use super::spec::Spec;
use super::{API_VERSION, KIND};
use serde_json::{Map, Value as Json, json};

/// JSON Schema (2020-12) of the configuration object, for editors and checks. Descriptions and defaults are those of
/// the types.
#[must_use]
pub fn schema() -> Json {
    let mut spec = Spec::default().schema();
    describe(&mut spec, "The settings. Each has a default.", None);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "type": "object",
        "required": ["apiVersion", "kind"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {
                "type": "object",
                "description": "Kubernetes object metadata. Only the name is used.",
                "properties": {"name": {"type": "string"}},
            },
            "spec": spec,
        },
    })
}

/// The schema of one setting: of its type, with documentation, rule and default.
pub(super) fn of_field(field: &Field<'_>) -> Json {
    let mut schema = field.setting.schema();
    if let Some(rule) = field.rule {
        // What a list or a map holds obeys the rule, not the list or the map itself.
        let inner = ["items", "additionalProperties"].into_iter().find(|key| schema[*key].is_object());
        let ruled = match inner {
            Some(key) => schema.get_mut(key),
            None => Some(&mut schema),
        };
        if let Some(Json::Object(ruled)) = ruled {
            rule.describe(ruled);
        }
    }
    let is_group = !field.setting.fields().is_empty();
    let default = if is_group { None } else { Some(field.setting.json()) };
    describe(&mut schema, &field.description(), default);
    schema
}

/// Puts the description first, as people read it, the type's own words behind the setting's.
fn describe(schema: &mut Json, description: &str, default: Option<Json>) {
    let Json::Object(object) = schema else { return };
    let own = object.remove("description");
    let words = match own.as_ref().and_then(Json::as_str) {
        Some(own) => format!("{description} {own}"),
        None => description.to_owned(),
    };
    let mut described = Map::new();
    described.insert("description".to_owned(), words.into());
    described.append(object);
    if let Some(default) = default {
        described.insert("default".to_owned(), default);
    }
    *object = described;
}
