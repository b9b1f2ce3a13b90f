//! The table of settings: one row for each, which drives reading from every source, the schema, the example and the agent's
//! variables.

use crate::config::constraint::Constraint;
use crate::config::scalar_type::ScalarType;
use crate::config::violation::Violation;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::env::Variable;
use crate::manifest::dotted_path;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;

/// A row of the table: one setting, or a group of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettingRow {
    pub(crate) name: &'static str,
    /// The dotted path below `spec`; in an item of a list, the name.
    pub(crate) path: &'static str,
    /// Lines of the doc comment.
    pub(crate) doc: &'static [&'static str],
    pub(crate) shape: Shape,
    /// Returns the default value.
    pub(crate) default: fn() -> Json,
    /// The constraint on its values; for a list or map, on each member.
    pub(crate) check: Option<Constraint>,
    /// The agent's variable that it gives.
    pub(crate) variable: Option<Variable>,
    /// The annotations that override it or a part of it, each with the path of that.
    pub(crate) annotations: &'static [(Annotation, &'static str)],
}

/// The form of a setting's values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Scalar(&'static ScalarShape),
    /// A value or `null`, which means that it is unset.
    Optional(&'static Shape),
    /// A list, replaced as a whole.
    List(&'static Shape),
    /// A mapping that is an item of a list.
    Item(&'static ItemShape),
    /// A mapping of labels, replaced as a whole; a label can be set by its key.
    Labels,
    /// A value of Kubernetes, merged with the default field by field. The function returns its type's JSON Schema.
    Kubernetes(fn() -> &'static Json),
    Group(&'static [&'static SettingRow]),
}

/// The form of a YAML scalar.
#[derive(Debug)]
pub(crate) struct ScalarShape {
    pub(crate) yaml_type: ScalarType,
    /// Reads the characters of a scalar.
    pub(crate) read: fn(&str) -> Result<Json, Violation>,
    pub(crate) schema: fn() -> Json,
}

/// The form of a mapping in a list.
#[derive(Debug)]
pub(crate) struct ItemShape {
    /// [`Shape::Group`] or [`Shape::Kubernetes`].
    pub(crate) fields: Shape,
    /// Checks the fields together, and returns them without empty ones.
    pub(crate) read: fn(Json) -> Result<Json, Violation>,
    /// Completes the JSON Schema of the fields.
    pub(crate) complete_schema: fn(&mut Json),
}

/// A type of mappings in a list.
pub(crate) trait ListItem: Serialize + DeserializeOwned {
    const FIELDS: Shape;

    /// Checks the fields together.
    fn check(&self) -> Result<(), Violation>;

    /// Returns the fields that are not empty.
    fn json(&self) -> Json {
        without_empty(json!(self))
    }

    /// Completes the JSON Schema of the fields.
    fn complete_schema(_schema: &mut Json) {}
}

/// Returns the shape of a mapping in a list.
pub(crate) const fn item<T: ListItem>() -> Shape {
    Shape::Item(
        &const {
            ItemShape {
                fields: T::FIELDS,
                read: |fields| {
                    let refused = |error| Violation::new(format!("is not accepted: {error}"));
                    let item: T = serde_json::from_value(fields).map_err(refused)?;
                    item.check()?;
                    Ok(item.json())
                },
                complete_schema: T::complete_schema,
            }
        },
    )
}

/// Removes members that are null or empty.
pub(crate) fn without_empty(mut json: Json) -> Json {
    if let Some(object) = json.as_object_mut() {
        let full = std::mem::take(object)
            .into_iter()
            .map(|(name, value)| (name, without_empty(value)));
        *object = full
            .filter(|(_, value)| {
                !matches!(value, Json::Null) && *value != json!({}) && *value != json!([])
            })
            .collect();
    }
    json
}

/// A type of settings.
pub(crate) trait Shaped: Serialize + DeserializeOwned {
    const SHAPE: Shape;

    /// Returns the value as JSON; of a group, the value of the member at `path`.
    fn get(&self, _path: &[&str]) -> Json {
        json!(self)
    }

    /// Sets the value; of a group, the value of the member at `path`.
    fn put(&mut self, _path: &[&str], value: Json) -> serde_json::Result<()> {
        *self = serde_json::from_value(value)?;
        Ok(())
    }
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = Shape::Optional(&T::SHAPE);

    fn get(&self, path: &[&str]) -> Json {
        self.as_ref().map_or(Json::Null, |value| value.get(path))
    }

    fn put(&mut self, path: &[&str], value: Json) -> serde_json::Result<()> {
        if path.is_empty() {
            *self = serde_json::from_value(value)?;
            return Ok(());
        }
        // A group that is null begins with its defaults.
        let mut group = match self.take() {
            Some(group) => group,
            None => serde_json::from_value(json!({}))?,
        };
        group.put(path, value)?;
        *self = Some(group);
        Ok(())
    }
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}

impl Shaped for BTreeMap<String, String> {
    const SHAPE: Shape = Shape::Labels;
}

impl SettingRow {
    /// Returns the doc comment as one text.
    pub(crate) fn description(&self) -> String {
        let lines = self.doc.iter().map(|line| line.trim());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// Returns the rows of a group, none for a single setting.
    pub(crate) fn members(&self) -> &'static [&'static SettingRow] {
        match self.shape.not_null() {
            Shape::Group(rows) => rows,
            _ => &[],
        }
    }

    /// Returns the path of an item of a list: `select.kinds[0]`.
    pub(crate) fn item(&self, index: usize) -> String {
        format!("{}[{index}]", self.path)
    }

    /// Returns the path of a part: `agent.resources.limits.nvidia\.com/gpu`.
    pub(crate) fn part(&self, names: &[&str]) -> String {
        let mut path = self.path.to_owned();
        for name in names {
            path = path + "." + &dotted_path::escape(name);
        }
        path
    }

    /// Returns the names on its path.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.path.split('.').collect()
    }

    /// Returns the JSON Pointer to its value below `spec`.
    pub(crate) fn pointer(&self) -> String {
        format!("/{}", self.path.replace('.', "/"))
    }

    /// Returns true for a list of mappings whose unset fields are left out.
    pub(crate) fn is_list_of_items(&self) -> bool {
        let Shape::List(Shape::Item(item)) = self.shape else {
            return false;
        };
        matches!(item.fields, Shape::Group(_))
    }

    /// Returns the name of the agent's variable that it gives; empty if it gives none.
    pub(crate) const fn variable_name(&self) -> &'static str {
        match self.variable {
            Some(variable) => variable.name,
            None => "",
        }
    }

    /// Returns the annotation that overrides all of it.
    pub(crate) fn annotation(&self) -> Option<Annotation> {
        let (annotation, path) = self.annotations.first()?;
        (*path == self.path).then_some(*annotation)
    }

    /// Returns the schema of a setting: its type with documentation, constraint and default.
    fn schema(&self) -> Json {
        let mut schema = self.shape.schema();
        if let Some(check) = self.check {
            // The constraint of a list or map is for its members.
            let inner = ["items", "additionalProperties"]
                .into_iter()
                .find(|key| schema[*key].is_object());
            let target = match inner {
                Some(key) => schema.get_mut(key),
                None => Some(&mut schema),
            };
            if let Some(Json::Object(target)) = target {
                check.describe(target);
            }
        }
        let is_group = !self.members().is_empty();
        // Null resets a list or a switch that a shared file sets, and `agent:` with only comments below it is null.
        if let Some(only) = schema["type"]
            .as_str()
            .filter(|only| is_group || matches!(*only, "array" | "boolean"))
        {
            schema["type"] = json!([only, "null"]);
        }
        let default = (!is_group).then(self.default);
        describe(&mut schema, &self.description(), default);
        schema
    }
}

/// Two rows are the same if they have one path.
impl PartialEq for SettingRow {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for SettingRow {}

impl fmt::Display for SettingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

impl Shape {
    /// Returns the shape of the values that are not null.
    pub(crate) fn not_null(self) -> Self {
        match self {
            Shape::Optional(inner) => *inner,
            shape => shape,
        }
    }

    /// Returns true if `null` is a value; otherwise it means the default.
    pub(crate) fn takes_null(self) -> bool {
        match self {
            Shape::Optional(inner) => matches!(inner, Shape::Scalar(_) | Shape::Group(_)),
            Shape::Kubernetes(_) => true,
            _ => false,
        }
    }

    /// Returns true if the text `null` from `--set` is a value; otherwise it means the default.
    pub(crate) fn takes_null_text(self) -> bool {
        match self {
            Shape::Scalar(scalar) => (scalar.read)("null").is_ok(),
            _ => false,
        }
    }

    /// Returns the JSON Schema of the values.
    pub(crate) fn schema(self) -> Json {
        match self {
            Shape::Scalar(scalar) => (scalar.schema)(),
            Shape::Optional(inner) => nullable(inner.schema()),
            Shape::List(item) => json!({"type": "array", "items": item.schema()}),
            Shape::Item(item) => {
                let mut schema = match item.fields {
                    Shape::Kubernetes(known) => known().clone(),
                    fields => fields.schema(),
                };
                (item.complete_schema)(&mut schema);
                schema
            }
            Shape::Labels => json!({"type": "object", "additionalProperties": {"type": "string"}}),
            Shape::Kubernetes(known) => nullable(known().clone()),
            Shape::Group(rows) => {
                let properties: Map<String, Json> = rows
                    .iter()
                    .map(|row| (row.name.to_owned(), row.schema()))
                    .collect();
                json!({"type": "object", "additionalProperties": false, "properties": properties})
            }
        }
    }
}

/// Allows `null` in a schema; beside words, also empty text, which says the same.
pub(crate) fn nullable(mut schema: Json) -> Json {
    match schema.get_mut("type") {
        Some(Json::Array(types)) => types.push("null".into()),
        Some(one) => *one = json!([one.take(), "null"]),
        None => {}
    }
    if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
        words.extend(["".into(), Json::Null]);
    }
    schema
}

/// Puts the description first: that of the setting, then that of its type.
pub(crate) fn describe(schema: &mut Json, description: &str, default: Option<Json>) {
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

/// Makes properties of a schema required, which leaves them no default.
pub(crate) fn require(schema: &mut Json, names: &[&str]) {
    schema["required"] = names.into();
    for name in names {
        schema["properties"][name]
            .as_object_mut()
            .map(|property| property.remove("default"));
    }
}

/// Declares a group of settings, or the settings of an item of a list. A row has the doc comment that users see, the name, the
/// field with its type and default, and what [`SettingRow`] has beyond that, in this order:
///
/// ```text
/// check Port, variable "MACKEREL_MEMO" as List override Forbidden, annotation Memo of ".part"
/// ```
///
/// The function of the field's name returns its row.
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        pub(crate) $shape:ident $Name:ident at $at:literal {
            $(
                $(#[doc = $field_doc:literal])*
                $written:literal $field:ident: $Type:ty = $default:expr
                $(, check $check:ident)?
                $(, variable $variable:tt $(as $form:ident)? $(override $env_override:ident)?)?
                $(, annotation $annotation:ident $(of $part:literal)?)*;
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub(crate) struct $Name {
            $($(#[doc = $field_doc])* #[serde(rename = $written)] pub(crate) $field: $Type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $($field: $default,)* }
            }
        }

        impl $crate::config::setting::Shaped for $Name {
            const SHAPE: $crate::config::setting::Shape = $crate::config::setting::shape!($shape $Name);

            fn get(&self, path: &[&str]) -> serde_json::Value {
                match path {
                    $([$written, path @ ..] => $crate::config::setting::Shaped::get(&self.$field, path),)*
                    _ => serde_json::json!(self),
                }
            }

            fn put(&mut self, path: &[&str], value: serde_json::Value) -> serde_json::Result<()> {
                match path {
                    $([$written, path @ ..] => $crate::config::setting::Shaped::put(&mut self.$field, path, value)?,)*
                    _ => *self = serde_json::from_value(value)?,
                }
                Ok(())
            }
        }

        impl $Name {
            pub(crate) const ROWS: &'static [&'static $crate::config::setting::SettingRow] = &[$(Self::$field(),)*];

            $(pub(crate) const fn $field() -> &'static $crate::config::setting::SettingRow {
                static ROW: $crate::config::setting::SettingRow = $crate::config::setting::SettingRow {
                    name: $written,
                    path: concat!($at, $written),
                    doc: &[$($field_doc,)*],
                    shape: <$Type as $crate::config::setting::Shaped>::SHAPE,
                    default: || {
                        let value: $Type = $default;
                        serde_json::json!(value)
                    },
                    check: $crate::config::setting::optional!($($crate::config::constraint::Constraint::$check)?),
                    variable: $crate::config::setting::optional!($($crate::mackerel::env::Variable {
                        $(form: $crate::mackerel::env::VariableForm::$form,)?
                        $(env_override: $crate::mackerel::env::EnvOverride::$env_override,)?
                        ..$crate::mackerel::env::Variable::named($variable)
                    })?),
                    annotations: &[$((
                        $crate::mackerel::annotations::Annotation::$annotation,
                        concat!($at, $written, $($part)?),
                    ),)*],
                };
                &ROW
            })*
        }
    };
}

/// Expands to the shape of a struct that [`settings!`] declares.
macro_rules! shape {
    (group $Name:ident) => {
        $crate::config::setting::Shape::Group($Name::ROWS)
    };
    (item $Name:ident) => {
        $crate::config::setting::item::<$Name>()
    };
}

/// Expands to `Some` of a value, or to `None` without one.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(crate) use {optional, settings, shape};
