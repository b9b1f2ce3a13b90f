//! Settings of Kubernetes types. Field names and types come from the JSON Schema of each type.

use crate::config::quantity;
use crate::config::read_context::ReadContext;
use crate::config::scalar::Scalar;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::{ListItem, Shape, Shaped, item, nullable};
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use crate::mackerel::names::Volume;
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, SecurityContext, VolumeMount};
use k8s_openapi::schemars::JsonSchema;
use k8s_openapi::schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use std::ops::Deref;
use std::sync::LazyLock;

trait KubernetesType: Default + PartialEq + Serialize + DeserializeOwned {
    /// Returns the schema of the type, built once.
    fn known() -> &'static Json;
}

macro_rules! kubernetes_types {
    ($($Type:ty),*) => {$(
        impl KubernetesType for $Type {
            fn known() -> &'static Json {
                static KNOWN: LazyLock<Json> = LazyLock::new(schema_of::<$Type>);
                &KNOWN
            }
        }
    )*};
}

kubernetes_types!(EnvVar, ResourceRequirements, SecurityContext, VolumeMount);

impl Shaped for EnvVar {
    const SHAPE: Shape = item::<Self>();
}

impl ListItem for EnvVar {
    const FIELDS: Shape = Shape::Kubernetes(Self::known);

    fn check(&self) -> Result<(), Violation> {
        let is_name = |byte: u8| byte.is_ascii_graphic() && byte != b'=';
        if self.name.is_empty() {
            return Err(Violation::new("needs a `name`"));
        }
        if !self.name.bytes().all(is_name) {
            let what = format!("has an invalid variable name: `{}`", self.name);
            return Err(Violation::new(what).with_help("letters, digits, `_`, `-` and `.`"));
        }
        if self.value.is_some() && self.value_from.is_some() {
            let violation = Violation::new("has both `value` and `valueFrom`");
            return Err(violation.with_help("remove one of them"));
        }
        Ok(())
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn complete_schema(schema: &mut Json) {
        schema["required"] = json!(["name"]);
    }
}

impl Shaped for VolumeMount {
    const SHAPE: Shape = item::<Self>();
}

impl ListItem for VolumeMount {
    const FIELDS: Shape = Shape::Kubernetes(Self::known);

    /// Checks what the API server would refuse, or what would keep the container from starting.
    fn check(&self) -> Result<(), Violation> {
        let (name, path) = (&self.name, &self.mount_path);
        let is_injected = Volume::ALL.iter().any(|volume| volume.name() == name);
        let is_invalid = !path.starts_with('/')
            || path.contains(':')
            || path.trim_matches('/').is_empty()
            || has_parent(path);
        let (what, help) = if name.is_empty() {
            (
                "needs a `name`".to_owned(),
                "use that of a volume of the pod",
            )
        } else if is_injected {
            let what = format!("names the volume `{name}`, which is injected");
            (what, "use the name of a volume of the pod")
        } else if is_invalid {
            let what = format!("needs an absolute `mountPath`, found `{path}`");
            (what, "use a path below `/`, without `:` and `..`")
        } else if self.sub_path.is_some() && self.sub_path_expr.is_some() {
            let what = "has both `subPath` and `subPathExpr`";
            (what.to_owned(), "remove one of them")
        } else if leaves_volume(self.sub_path.as_deref())
            || leaves_volume(self.sub_path_expr.as_deref())
        {
            let what = "has a path that leaves the volume";
            (what.to_owned(), "use a relative path without `..`")
        } else {
            return check_words(self);
        };
        Err(Violation::new(what).with_help(help))
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn complete_schema(schema: &mut Json) {
        schema["required"] = json!(["name", "mountPath"]);
    }
}

/// Returns true for a path below a volume that is not within it.
fn leaves_volume(path: Option<&str>) -> bool {
    let path = path.unwrap_or_default();
    path.starts_with('/') || has_parent(path)
}

fn has_parent(path: &str) -> bool {
    path.split('/').any(|name| name == "..")
}

/// Checks the options of a mount that are words.
fn check_words(mount: &VolumeMount) -> Result<(), Violation> {
    let propagation = mount.mount_propagation.as_deref().unwrap_or("None");
    let recursive = mount.recursive_read_only.as_deref().unwrap_or("Disabled");
    if !["None", "HostToContainer"].contains(&propagation) {
        let what = format!("has an invalid `mountPropagation`: `{propagation}`");
        // `Bidirectional` is for privileged containers.
        return Err(Violation::new(what).with_help("use `None` or `HostToContainer`"));
    }
    if !["Disabled", "IfPossible", "Enabled"].contains(&recursive) {
        let what = format!("has an invalid `recursiveReadOnly`: `{recursive}`");
        return Err(Violation::new(what).with_help("use `Disabled`, `IfPossible` or `Enabled`"));
    }
    if recursive != "Disabled" && (mount.read_only != Some(true) || propagation != "None") {
        let what = "has `recursiveReadOnly` without `readOnly`, or with `mountPropagation`";
        return Err(Violation::new(what).with_help("set `readOnly: true` alone beside it"));
    }
    Ok(())
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
    for member in value.members(context) {
        context.name_span = member.name_span;
        if let Some(read) = read_member(schema, &member.name, &[], member.value, context) {
            object[&*member.name] = read;
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
    if has_type(schema, "number") {
        let text = value.scalar(ScalarType::Quantity)?;
        quantity::check(&text)?;
        return Ok(json!(text));
    }
    if has_type(schema, "integer") {
        let text = value.scalar(ScalarType::Integer)?;
        let number = text.parse::<i64>();
        let violation = |_| Violation::new(format!("must be a whole number, found `{text}`"));
        return number.map(Json::from).map_err(violation);
    }
    if has_type(schema, "boolean") {
        let text = value.scalar(ScalarType::Boolean)?;
        return bool::parse(&text).map(Json::from);
    }
    value.scalar(ScalarType::Text).map(|text| json!(text))
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
            json!({"type": ["integer", "null"]})
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
