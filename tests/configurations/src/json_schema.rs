//! A validator for the part of JSON Schema, and of OpenAPI's dialect of it, that the configuration's schema uses. A validator
//! crate would bring forty others along, and switch on serde_json's `float_roundtrip`, without which the program is built.

use config::SCHEMA;
use serde_json::Value;

/// The schema of the configuration.
pub fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// Returns the keywords that a value violates, each with its place. Every value violates a keyword that is unknown here.
pub fn broken(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let Some(keywords) = schema.as_object() else {
        return if *schema == Value::Bool(true) {
            Vec::new()
        } else {
            vec![format!("{at}: nothing may stand here")]
        };
    };
    let mut found = Vec::new();
    let mut complain = |holds: bool, what: String| {
        if !holds {
            found.push(format!("{at}: {what}"));
        }
    };
    let mut inner = Vec::new();
    let is_nullable = keywords.get("nullable") == Some(&Value::Bool(true));
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "nullable" => {}
            "anyOf" => {
                let any = wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|schema| broken(schema, value, at).is_empty());
                complain(
                    any || is_nullable && value.is_null(),
                    "none of what may stand here".to_owned(),
                );
            }
            "const" => complain(value == wanted, format!("not {wanted}")),
            "enum" => complain(
                wanted.as_array().unwrap().contains(value),
                format!("not one of {wanted}"),
            ),
            "type" => {
                let types = wanted
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![wanted.clone()]);
                complain(
                    types
                        .iter()
                        .any(|name| is_of_type(name.as_str().unwrap(), value))
                        || is_nullable && value.is_null(),
                    format!("not of type {wanted}"),
                );
            }
            "pattern" => {
                let pattern = regex_lite::Regex::new(wanted.as_str().unwrap()).unwrap();
                complain(
                    value.as_str().is_none_or(|text| pattern.is_match(text)),
                    format!("does not match {wanted}"),
                );
            }
            "minimum" => complain(
                value
                    .as_i64()
                    .is_none_or(|number| Some(number) >= wanted.as_i64()),
                format!("below {wanted}"),
            ),
            "maximum" => complain(
                value
                    .as_i64()
                    .is_none_or(|number| Some(number) <= wanted.as_i64()),
                format!("above {wanted}"),
            ),
            "minProperties" => {
                let least = usize::try_from(wanted.as_u64().unwrap()).unwrap();
                complain(
                    value.as_object().is_none_or(|object| object.len() >= least),
                    "has too few properties".to_owned(),
                );
            }
            "maxProperties" => {
                let most = usize::try_from(wanted.as_u64().unwrap()).unwrap();
                complain(
                    value.as_object().is_none_or(|object| object.len() <= most),
                    "has too many properties".to_owned(),
                );
            }
            "maxLength" => {
                let most = usize::try_from(wanted.as_u64().unwrap()).unwrap();
                complain(
                    value.as_str().is_none_or(|text| text.len() <= most),
                    "is too long".to_owned(),
                );
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    complain(
                        value
                            .as_object()
                            .is_none_or(|object| object.contains_key(name)),
                        format!("needs {name}"),
                    );
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    inner.extend(broken(wanted, item, &format!("{at}/{index}")));
                }
            }
            "properties" => {
                for (name, property) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        inner.extend(broken(property, value, &format!("{at}/{name}")));
                    }
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let of_value = value.as_object().into_iter().flatten();
                for (name, value) in of_value
                    .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
                {
                    inner.extend(broken(wanted, value, &format!("{at}/{name}")));
                }
            }
            other => complain(false, format!("the schema has an unknown keyword: {other}")),
        }
    }
    found.extend(inner);
    found
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}
