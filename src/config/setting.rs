//! The table of settings: name, documentation, type, default and constraint of each. It drives reading from every source,
//! the schema and the example.

use crate::config::constraint::Constraint;
use crate::config::read_context::ReadContext;
use crate::config::value::ConfigValue;
use serde_json::{Map, Value as Json};

/// A setting, or a group of settings.
pub(crate) trait Setting {
    /// Reads a value. If it is wrong, the violations go to `context` and the old value stays.
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>);

    /// Reads the value of the part at `path`.
    fn set(&mut self, path: &[String], value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        match path {
            [] => self.read(value, context),
            [part, ..] => context.no_parts(part),
        }
    }

    /// Returns true if `null` is a value of the type; otherwise it means the default.
    fn takes_null(&self) -> bool {
        false
    }

    /// Returns true if the text `null` from `--set` is a value of the type; otherwise it means the default.
    fn takes_null_text(&self) -> bool {
        false
    }

    /// Returns the value as a configuration would write it.
    fn json(&self) -> Json;

    /// Returns the JSON Schema of the setting.
    fn schema(&self) -> Json;

    /// Returns the fields of a group, none for a single setting.
    fn fields(&self) -> Vec<Field<'_>> {
        Vec::new()
    }
}

/// A line of the table.
pub(crate) struct Field<'a> {
    pub(crate) name: &'static str,
    /// Lines of the doc comment.
    pub(crate) doc: &'static [&'static str],
    pub(crate) constraint: Option<Constraint>,
    pub(crate) setting: &'a dyn Setting,
}

impl Field<'_> {
    /// Returns the doc comment as one text.
    pub(crate) fn description(&self) -> String {
        self.doc
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Returns the value at a path as a configuration would write it; `null` if it is unset.
pub(crate) fn json_at(fields: &[Field<'_>], parts: &[String]) -> Option<Json> {
    let (name, rest) = parts.split_first()?;
    let field = fields.iter().find(|field| field.name == name)?;
    let inner = field.setting.fields();
    if !inner.is_empty() && !rest.is_empty() {
        return json_at(&inner, rest);
    }
    let mut value = field.setting.json();
    for part in rest {
        value = value.get_mut(part).map(Json::take).unwrap_or_default();
    }
    Some(value)
}

/// A group of settings, declared by [`settings!`].
pub(crate) trait Group: Sized {
    const NAMES: &'static [&'static str];

    fn list(&self) -> Vec<Field<'_>>;

    /// Returns the field of this name and the constraint on its values.
    fn field(&mut self, name: &str) -> Option<(&mut dyn Setting, Option<Constraint>)>;

    /// Sets the field to its default.
    fn reset(&mut self, name: &str);

    fn read_group(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        value.mapping(context, |name, value, context| {
            self.set_field(name, &[], value, context)
        });
    }

    fn set_field(
        &mut self,
        name: &str,
        rest: &[String],
        value: &ConfigValue<'_>,
        context: &mut ReadContext<'_>,
    ) {
        let Some((setting, constraint)) = self.field(name) else {
            return context.unknown_field(name, Self::NAMES);
        };
        let is_null = value.is_null() || (value.is_null_text() && !setting.takes_null_text());
        let resets = rest.is_empty() && !setting.takes_null() && is_null;
        if resets {
            context.forget(name);
            return self.reset(name);
        }
        context.within(name, constraint, |context| {
            setting.set(rest, value, context)
        });
    }

    fn group_json(&self) -> Json {
        Json::Object(
            self.list()
                .into_iter()
                .map(|field| (field.name.to_owned(), field.setting.json()))
                .collect(),
        )
    }

    fn group_schema(&self) -> Json {
        let mut properties = Map::new();
        for field in self.list() {
            properties.insert(field.name.to_owned(), field_schema(&field));
        }
        serde_json::json!({"type": "object", "additionalProperties": false, "properties": properties})
    }
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

/// Returns the schema of a setting: its type with documentation, constraint and default.
fn field_schema(field: &Field<'_>) -> Json {
    let mut schema = field.setting.schema();
    if let Some(constraint) = field.constraint {
        // The constraint of a list or map is for its members.
        let inner = ["items", "additionalProperties"]
            .into_iter()
            .find(|key| schema[*key].is_object());
        let target = match inner {
            Some(key) => schema.get_mut(key),
            None => Some(&mut schema),
        };
        if let Some(Json::Object(target)) = target {
            constraint.describe(target);
        }
    }
    let is_group = !field.setting.fields().is_empty();
    // Null resets a list or a switch that a shared file sets, and `agent:` with only comments below it is null.
    if let Some(only) = schema["type"]
        .as_str()
        .filter(|only| is_group || matches!(*only, "array" | "boolean"))
    {
        schema["type"] = serde_json::json!([only, "null"]);
    }
    let default = if is_group {
        None
    } else {
        Some(field.setting.json())
    };
    describe(&mut schema, &field.description(), default);
    schema
}

/// Declares a group of settings. A line has the doc comment that users see, the name, the field with its type and default,
/// and the constraint on its values (for a list or map, on each member).
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        pub(crate) struct $Name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $written:literal $field:ident: $Type:ty = $default:expr $(, $constraint:ident)?;
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $Name {
            $($(#[doc = $field_doc])* pub(crate) $field: $Type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $($field: $default,)* }
            }
        }

        impl $crate::config::setting::Group for $Name {
            const NAMES: &'static [&'static str] = &[$($written,)*];

            fn list(&self) -> Vec<$crate::config::setting::Field<'_>> {
                vec![$($crate::config::setting::Field {
                    name: $written,
                    doc: &[$($field_doc,)*],
                    constraint: $crate::config::setting::constraint!($($constraint)?),
                    setting: &self.$field,
                },)*]
            }

            fn field(
                &mut self,
                name: &str,
            ) -> Option<(&mut dyn $crate::config::setting::Setting, Option<$crate::config::constraint::Constraint>)> {
                match name {
                    $($written => Some((&mut self.$field, $crate::config::setting::constraint!($($constraint)?))),)*
                    _ => None,
                }
            }

            fn reset(&mut self, name: &str) {
                match name {
                    $($written => self.$field = $default,)*
                    _ => {}
                }
            }
        }

        impl $crate::config::setting::Setting for $Name {
            fn read(
                &mut self,
                value: &$crate::config::value::ConfigValue<'_>,
                context: &mut $crate::config::read_context::ReadContext<'_>,
            ) {
                $crate::config::setting::Group::read_group(self, value, context);
            }

            fn set(
                &mut self,
                path: &[String],
                value: &$crate::config::value::ConfigValue<'_>,
                context: &mut $crate::config::read_context::ReadContext<'_>,
            ) {
                match path {
                    [] => self.read(value, context),
                    [name, rest @ ..] => {
                        $crate::config::setting::Group::set_field(self, name, rest, value, context);
                    }
                }
            }

            fn json(&self) -> serde_json::Value {
                $crate::config::setting::Group::group_json(self)
            }

            fn schema(&self) -> serde_json::Value {
                $crate::config::setting::Group::group_schema(self)
            }

            fn fields(&self) -> Vec<$crate::config::setting::Field<'_>> {
                $crate::config::setting::Group::list(self)
            }
        }
    };
}

/// Expands to the constraint of a table line as an `Option`.
macro_rules! constraint {
    () => {
        None
    };
    ($constraint:ident) => {
        Some($crate::config::constraint::Constraint::$constraint)
    };
}

pub(crate) use {constraint, settings};
