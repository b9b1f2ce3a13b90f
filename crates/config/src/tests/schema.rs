//! The configuration's JSON Schema, from the types of the settings. The program has it as a file.

use crate::kubernetes::{FORMS, Form, PATHS, PORT, Rule, is_refused, range, rules};
use crate::spec::Spec;
use crate::tests::patterns;
use crate::{API_VERSION, KIND};
use manifest::dotted_path;
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
pub(super) fn schema() -> Json {
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
    if PATHS.contains(&path) {
        return narrow(schema, path);
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

/// Makes the schema of a type the one for editors: null for every field, no unknown fields, and quantities with a type and without
/// their grammar. Then adds what Kubernetes checks beyond the types.
fn narrow(schema: &mut Json, path: &str) {
    tidy_type(schema, true);
    add_rules(schema, path);
}

fn tidy_type(schema: &mut Json, is_setting: bool) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if object.shift_remove("x-kubernetes-int-or-string").is_some() {
        object.insert("type".to_owned(), json!(["string", "number"]));
    }
    if object.get("type").is_some_and(|name| name == "integer") {
        // Users, groups, ports and seconds.
        object.insert("minimum".to_owned(), 0.into());
        object.insert("maximum".to_owned(), i32::MAX.into());
    }
    object.shift_remove("format");
    if !is_setting {
        object.shift_remove("description");
    }
    if let Some(fields) = object.get_mut("properties").and_then(Json::as_object_mut) {
        for field in fields.values_mut() {
            tidy_type(field, false);
            nullable(field);
        }
        object.insert("additionalProperties".to_owned(), false.into());
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(name).filter(|inner| inner.is_object()) {
            tidy_type(inner, false);
            if name == "additionalProperties" {
                nullable(inner);
            }
        }
    }
    if is_setting {
        nullable(schema);
    }
}

fn nullable(schema: &mut Json) {
    match &mut schema["type"] {
        Json::Array(types) if types.iter().any(|name| name == "null") => {}
        Json::Array(types) => types.push("null".into()),
        one => *one = json!([one.take(), "null"]),
    }
}

/// Adds the rules about the value at a path, and about what is in it.
fn add_rules(schema: &mut Json, path: &str) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(fields) = object.get_mut("properties").and_then(Json::as_object_mut) {
        fields.retain(|name, _| !is_refused(&format!("{path}.{name}")));
        for (name, field) in fields {
            add_rules(field, &format!("{path}.{name}"));
        }
    }
    if let Some(items) = object.get_mut("items") {
        add_rules(items, &format!("{path}[]"));
    }
    // Kubernetes' types say it of fields in which zero is a value, too.
    if !rules(path).any(|rule| matches!(rule, Rule::Needs(_))) {
        object.shift_remove("required");
    }
    for rule in rules(path) {
        match rule {
            Rule::Since(_) | Rule::Refused | Rule::PassedThrough => {}
            Rule::Needs(names) => {
                object.insert("required".to_owned(), json!(names));
            }
            // Null has none of the members, so that `oneOf` would refuse it.
            Rule::OneOf(names) => {
                let choices = names.iter().map(|name| json!({"required": [name]}));
                object.insert("anyOf".to_owned(), choices.collect());
            }
            Rule::Number(least, most) => {
                object.insert("minimum".to_owned(), (*least).into());
                object.insert("maximum".to_owned(), (*most).into());
            }
            Rule::Port => {
                let (least, most) = range(path);
                object.insert("type".to_owned(), json!(["integer", "null"]));
                object.insert("description".to_owned(), PORT.into());
                object.insert("minimum".to_owned(), least.into());
                object.insert("maximum".to_owned(), most.into());
            }
            Rule::Word(words) => {
                let words = words.iter().map(|word| json!(word));
                object.insert("enum".to_owned(), words.chain([Json::Null]).collect());
            }
            Rule::Text(form) => {
                object.insert("description".to_owned(), form.help.into());
                object.insert("pattern".to_owned(), pattern_of(form).into());
            }
        }
    }
}

fn pattern_of(form: &Form) -> &'static str {
    let (name, _) = FORMS
        .iter()
        .find(|(_, known)| std::ptr::eq(*known, form))
        .expect("each form is declared");
    patterns::of(name)
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

fn collect(schema: &Json, inside: &str, found: &mut dyn FnMut(&str, &str)) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{inside}{name}");
        found(&path, name);
        if member.get("default").is_none() {
            collect(member, &format!("{path}."), found);
        }
    }
}

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
        // The image is that of `.ci/published`.
        None if ["agent.securityContext", "waitFor.image"].contains(&path) => {}
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
