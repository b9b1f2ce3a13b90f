//! The configuration's JSON Schema, from the types of the settings.

use crate::config::kubernetes;
use crate::config::spec::Spec;
use crate::config::{API_VERSION, KIND};
use crate::manifest::dotted_path;
use schemars::generate::SchemaSettings;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// The schema of `spec`.
pub(super) static SPEC: LazyLock<Json> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<Spec>();
    let mut schema = Json::from(schema);
    tidy(&mut schema, "");
    schema["description"] = "The settings. Each has a default.".into();
    schema
});

/// Returns the JSON Schema (2020-12) of the configuration object: every setting with its description and default.
#[must_use]
pub fn schema() -> Json {
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
            "spec": *SPEC,
        },
    })
}

/// Makes a schema of schemars the one for editors: without unknown fields, and with null, which resets a list, a switch or a group
/// that a shared file sets.
fn tidy(schema: &mut Json, path: &str) {
    if kubernetes::PATHS.contains(&path) {
        return kubernetes::narrow(schema, path);
    }
    let is_group = schema["properties"].is_object();
    choices(schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.shift_remove("format");
    if object.shift_remove("x-kubernetes-int-or-string").is_some() {
        object.insert("type".to_owned(), json!(["string", "number", "null"]));
    }
    if let Some(members) = object.get_mut("properties").and_then(Json::as_object_mut) {
        for (name, member) in members {
            tidy(member, format!("{path}.{name}").trim_start_matches('.'));
        }
    }
    if let Some(items) = object.get_mut("items") {
        tidy(items, "");
    }
    if is_group {
        object.shift_remove("default");
        object.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(description) = object.shift_remove("description") {
        object.shift_insert(0, "description".to_owned(), description);
    }
    let only = object.get("type").and_then(Json::as_str);
    if let Some(only @ ("object" | "array" | "boolean")) = only
        && !path.is_empty()
        && path != "apiKey"
    {
        object.insert("type".to_owned(), json!([only, "null"]));
    }
}

/// Lists the words of an enum, each with its sentence.
fn choices(schema: &mut Json) {
    let is_optional = schema.get("anyOf").is_some();
    let choices = if is_optional {
        &schema["anyOf"][0]["oneOf"]
    } else {
        &schema["oneOf"]
    };
    let Some(choices) = choices.as_array() else {
        return;
    };
    let mut words: Vec<Json> = choices
        .iter()
        .map(|choice| choice["const"].clone())
        .collect();
    let mut description = schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for choice in choices {
        let [word, sentence] =
            ["const", "description"].map(|key| choice[key].as_str().unwrap_or_default());
        description += &format!(" `{word}`: {sentence}.");
    }
    if is_optional {
        words.extend(["".into(), Json::Null]);
    }
    let mut enumeration = json!({"description": description, "enum": words});
    if let Some(default) = schema.get("default") {
        enumeration["default"] = default.clone();
    }
    *schema = enumeration;
}

/// Returns the schema of the value at a dotted path.
pub(super) fn at(path: &str) -> Option<&'static Json> {
    let mut schema = &*SPEC;
    for part in dotted_path::parts(path).iter().filter(|_| !path.is_empty()) {
        let (name, items) = part.split_at(part.find('[').unwrap_or(part.len()));
        schema = member(schema, name)?;
        for _ in items.matches('[') {
            schema = schema.get("items")?;
        }
    }
    Some(schema)
}

/// Returns the schema of a member of a mapping.
pub(super) fn member(schema: &'static Json, name: &str) -> Option<&'static Json> {
    match schema.get("properties") {
        Some(fields) => fields.get(name),
        None => schema
            .get("additionalProperties")
            .filter(|any| any.is_object()),
    }
}

/// Returns the names of a mapping's fields.
pub(super) fn fields(schema: &'static Json) -> Vec<&'static str> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(|(name, _)| name.as_str()).collect()
}

/// Returns the types of a value that is not null.
pub(super) fn types(schema: &Json) -> Vec<&str> {
    let types = match &schema["type"] {
        Json::Array(types) => types.iter().filter_map(Json::as_str).collect(),
        one => Vec::from_iter(one.as_str()),
    };
    types.into_iter().filter(|one| *one != "null").collect()
}

/// Returns true for a scalar that null and empty text unset.
pub(super) fn is_optional(schema: &Json) -> bool {
    let null = json!("null");
    let is_nullable = [&schema["type"], &schema["enum"]].iter().any(|list| {
        let mut members = list.as_array().into_iter().flatten();
        members.any(|member| member.is_null() || *member == null)
    });
    is_nullable && !matches!(types(schema)[..], ["array" | "object" | "boolean"])
}

/// Returns the words of an enum.
pub(super) fn words(schema: &Json) -> Vec<&str> {
    let words = schema["enum"].as_array().into_iter().flatten();
    words
        .filter_map(Json::as_str)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns the paths of the settings and groups of this name.
pub(super) fn places_of(name: &str) -> Vec<String> {
    let mut places = Vec::new();
    collect(&SPEC, "", &mut |path, of| {
        if of == name {
            places.push(path.to_owned());
        }
    });
    places
}

fn collect(schema: &Json, inside: &str, found: &mut dyn FnMut(&str, &str)) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{inside}{name}");
        found(&path, name);
        if member.get("default").is_none() {
            collect(member, &format!("{path}."), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_default(schema: &Json, path: &str) {
        let description = schema["description"].as_str().unwrap();
        let (_, written) = description
            .split_once("Default: ")
            .unwrap_or_else(|| panic!("{path} tells no default"));
        let value = &schema["default"];
        match written
            .strip_prefix('`')
            .and_then(|rest| rest.split_once('`'))
        {
            Some((written, _)) => {
                assert_eq!(
                    serde_yaml::from_str::<Json>(written).unwrap(),
                    *value,
                    "{path}"
                );
            }
            None if path == "agent.securityContext" => {}
            None => assert!(
                value.is_null() || *value == json!([]) || *value == json!({}),
                "{path} has {value}"
            ),
        }
    }

    #[test]
    fn each_doc_comment_tells_the_default_of_its_setting() {
        let mut paths = Vec::new();
        collect(&SPEC, "", &mut |path, _| paths.push(path.to_owned()));
        assert!(paths.len() > 40);
        for path in paths {
            let schema = at(&path).unwrap();
            if schema.get("default").is_some() {
                assert_default(schema, &path);
            }
        }
    }

    #[test]
    fn types_of_kubernetes_have_null_and_no_unknown_fields() {
        let schema = |path: &str| at(path).unwrap();
        assert_eq!(
            schema("agent.securityContext")["additionalProperties"],
            json!(false)
        );
        assert_eq!(
            *schema("agent.securityContext.runAsUser"),
            json!({"type": ["integer", "null"], "minimum": 0, "maximum": i32::MAX})
        );
        assert_eq!(
            *schema("agent.securityContext.capabilities.drop[0]"),
            json!({"type": "string"})
        );
        assert_eq!(
            *schema("agent.resources.limits.cpu"),
            json!({"type": ["string", "number", "null"]})
        );
    }
}
