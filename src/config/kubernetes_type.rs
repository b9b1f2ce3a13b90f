//! Settings of Kubernetes types. Field names and types come from the JSON Schema of each type.

use crate::config::container_rules::{self, Validated};
use crate::config::quantity;
use crate::config::read_context::ReadContext;
use crate::config::scalar::Scalar;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::{ListItem, Shape, Shaped, item, nullable};
use crate::config::string_enum::unknown_word;
use crate::config::value::ConfigValue;
use crate::config::violation::{Violation, listed};
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, SecurityContext, VolumeMount};
use k8s_openapi::schemars::JsonSchema;
use k8s_openapi::schemars::generate::SchemaSettings;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use std::ops::Deref;
use std::sync::LazyLock;

trait KubernetesType: Default + PartialEq + Serialize + DeserializeOwned + Validated {
    /// Returns the schema of the type, built once.
    fn known() -> &'static Json;
}

macro_rules! kubernetes_types {
    ($($Type:ty),*) => {$(
        impl KubernetesType for $Type {
            fn known() -> &'static Json {
                static KNOWN: LazyLock<Json> = LazyLock::new(|| {
                    let mut schema = schema_of::<$Type>();
                    json_patch::merge(&mut schema, &<$Type>::narrowing());
                    schema
                });
                &KNOWN
            }
        }
    )*};
}

kubernetes_types!(EnvVar, ResourceRequirements, SecurityContext, VolumeMount);

impl Shaped for EnvVar {
    const SHAPE: Shape = item::<Self>();
}

impl Shaped for VolumeMount {
    const SHAPE: Shape = item::<Self>();
}

impl<T: KubernetesType> ListItem for T {
    const FIELDS: Shape = Shape::Kubernetes(Self::known);

    fn check(&self) -> Result<(), Violation> {
        match container_rules::broken(self).next() {
            Some(rule) => Err(rule.violation()),
            None => Ok(()),
        }
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

/// A value of Kubernetes that is merged with its default field by field. Without any field it is written as `null`: reading `{}`
/// would merge nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Merged<T>(pub(crate) T);

impl<T: KubernetesType> Shaped for Merged<T> {
    const SHAPE: Shape = Shape::Kubernetes(T::known);
}

impl<T> Deref for Merged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: KubernetesType> Serialize for Merged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = Some(&self.0).filter(|value| **value != T::default());
        value.serialize(serializer)
    }
}

impl<'de, T: KubernetesType> Deserialize<'de> for Merged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(Merged(value.unwrap_or_default()))
    }
}

/// Merges a value, or its part at `path` if that is not empty, into another one.
pub(crate) fn merge(
    known: &Json,
    into: &mut Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) {
    if path.is_empty() && value.is_null() {
        context.given(value.span);
        *into = Json::Null;
        return;
    }
    let errors = context.errors.len();
    let given = read(known, path, value, context);
    if context.errors.len() > errors {
        return;
    }
    json_patch::merge(into, &given);
    remove_empty(into);
    if *into == json!({}) {
        *into = Json::Null;
    }
}

/// Removes empty mappings.
fn remove_empty(json: &mut Json) {
    let Some(object) = json.as_object_mut() else {
        return;
    };
    object.values_mut().for_each(remove_empty);
    object.retain(|_, member| *member != json!({}));
}

/// Reads a value of a type, or its part at `path` if that is not empty. Violations go to `context`, and reading continues, so
/// that all of them are found at once.
pub(crate) fn read(
    schema: &Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Json {
    if path.is_empty() && has_type(schema, "null") && value.is_null() {
        context.given(value.span);
        return Json::Null;
    }
    if has_type(schema, "object") {
        return read_object(schema, path, value, context);
    }
    if let [part, ..] = path {
        context.no_parts(part);
        return Json::Null;
    }
    let span = value.span.clone();
    if has_type(schema, "array") {
        context.given(span);
        let mut items = Vec::new();
        for (index, item) in value.items(context).into_iter().enumerate() {
            context.enter_item(index);
            items.push(read(&schema["items"], &[], item, context));
            context.leave();
        }
        return Json::Array(items);
    }
    match read_scalar(schema, &value) {
        Ok(read) => {
            context.given(span);
            read
        }
        Err(violation) => {
            context.error(span, violation);
            Json::Null
        }
    }
}

fn read_object(
    schema: &Json,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Json {
    let mut object = json!({});
    if let [name, rest @ ..] = path {
        if let Some(read) = read_member(schema, name, rest, value, context) {
            object[name] = read;
        }
        return object;
    }
    let span = value.span.clone();
    let errors = context.errors.len();
    for member in value.members(context) {
        context.name_span = member.name_span;
        if let Some(read) = read_member(schema, &member.name, &[], member.value, context) {
            object[&*member.name] = read;
        }
    }
    if context.errors.len() == errors {
        let given = |name: &str| !object[name].is_null();
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required
            .filter_map(Json::as_str)
            .filter(|name| !given(name))
        {
            context.error(span.clone(), Violation::new(format!("needs a `{name}`")));
        }
        let fields = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys);
        let fields: Vec<&str> = fields.map(String::as_str).collect();
        if schema["maxProperties"] == 1 && fields.iter().filter(|name| given(name)).count() != 1 {
            let what = format!("needs one of {}", listed(&fields));
            context.error(span, Violation::new(what));
        }
    }
    object
}

fn read_member(
    schema: &Json,
    name: &str,
    path: &[String],
    value: ConfigValue<'_>,
    context: &mut ReadContext<'_>,
) -> Option<Json> {
    let fields = schema["properties"].as_object();
    let member = match fields {
        Some(fields) => fields.get(name),
        None => schema.get("additionalProperties"),
    };
    let Some(member) = member else {
        let known: Vec<&str> = fields
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        context.no_field(name, &known);
        return None;
    };
    context.enter(name, None);
    let read = read(member, path, value, context);
    context.leave();
    Some(read)
}

fn read_scalar(schema: &Json, value: &ConfigValue<'_>) -> Result<Json, Violation> {
    if has_type(schema, "integer") {
        let text = value.scalar(ScalarType::Integer)?;
        let number = text.parse().ok().filter(|number: &i32| *number >= 0);
        let what = format!("must be a whole number up to {}, found `{text}`", i32::MAX);
        return number.map(Json::from).ok_or(Violation::new(what));
    }
    if has_type(schema, "boolean") {
        let text = value.scalar(ScalarType::Boolean)?;
        return bool::parse(&text).map(Json::from);
    }
    let text = if has_type(schema, "number") {
        let text = value.scalar(ScalarType::Quantity)?;
        quantity::check(&text)?;
        text
    } else {
        value.scalar(ScalarType::Text)?
    };
    let words = schema["enum"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Json::as_str).collect();
    if !words.is_empty() && !words.contains(&&*text) {
        return Err(unknown_word(&text, &words));
    }
    let is_match = |pattern| {
        PikeVM::new(pattern).is_ok_and(|regex| regex.is_match(&mut regex.create_cache(), &*text))
    };
    match schema["pattern"].as_str().is_none_or(is_match) {
        true => Ok(json!(text)),
        false => Err(Violation {
            what: "has an invalid value".to_owned(),
            help: schema["description"].as_str().map(str::to_owned),
        }),
    }
}

fn has_type(schema: &Json, name: &str) -> bool {
    match &schema["type"] {
        Json::Array(types) => types.contains(&name.into()),
        one => one == name,
    }
}

/// Returns the schema of a type without references. Every field is optional and may be `null`, as in Kubernetes.
fn schema_of<T: JsonSchema>() -> Json {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = generator.subschema_for::<T>();
    plain(root.as_value(), generator.definitions())
}

fn plain(schema: &Json, definitions: &Map<String, Json>) -> Json {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/$defs/");
        if name.ends_with(".Quantity") {
            return json!({"type": ["string", "number"]});
        }
        return definitions
            .get(name)
            .map_or(Json::Bool(true), |schema| plain(schema, definitions));
    }
    let mut out = json!({"type": schema["type"]});
    if schema["type"] == "integer" {
        // Users, groups, ports and seconds.
        out["minimum"] = 0.into();
        out["maximum"] = i32::MAX.into();
    }
    if let Some(fields) = schema["properties"].as_object() {
        out["additionalProperties"] = false.into();
        out["properties"] = fields
            .iter()
            .map(|(name, field)| (name.clone(), nullable(plain(field, definitions))))
            .collect();
    } else if schema["additionalProperties"].is_object() {
        out["additionalProperties"] = nullable(plain(&schema["additionalProperties"], definitions));
    } else if schema["items"].is_object() {
        out["items"] = plain(&schema["items"], definitions);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_the_types_fields_and_their_types() {
        let context = SecurityContext::known();
        assert_eq!(context["additionalProperties"], json!(false));
        assert_eq!(
            context["properties"]["runAsUser"],
            json!({"type": ["integer", "null"], "minimum": 0, "maximum": i32::MAX})
        );
        assert_eq!(
            context["properties"]["capabilities"]["properties"]["drop"]["items"],
            json!({"type": "string"})
        );
        let limit = &ResourceRequirements::known()["properties"]["limits"]["additionalProperties"];
        assert_eq!(*limit, json!({"type": ["string", "number", "null"]}));
        let selector =
            &EnvVar::known()["properties"]["valueFrom"]["properties"]["secretKeyRef"]["properties"];
        assert_eq!(selector["optional"], json!({"type": ["boolean", "null"]}));
    }
}
