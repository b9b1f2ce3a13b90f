//! The table of settings: name, documentation, type, default and constraint of each. It drives reading from every source,
//! the schema and the example.

use crate::config::constraint::Constraint;
use crate::config::read_context::ReadContext;
use crate::config::value::ConfigValue;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::env::Variable;
use serde_json::{Map, Value as Json};
use std::fmt;

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

/// A row of the table: one setting, or a group of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SettingRow {
    pub(crate) name: &'static str,
    /// The dotted path below `spec`; in an item of a list, the name.
    pub(crate) path: &'static str,
    /// Lines of the doc comment.
    pub(crate) doc: &'static [&'static str],
    /// The constraint on its values; for a list or map, on each member.
    pub(crate) check: Option<Constraint>,
    /// The agent's variable that it gives.
    pub(crate) variable: Option<Variable>,
    /// The key of the agent's configuration file that makes the agent ignore the variable.
    pub(crate) file: Option<&'static str>,
    /// The annotations that override it or a part of it, each with the path of that.
    pub(crate) annotations: &'static [(Annotation, &'static str)],
}

impl SettingRow {
    /// Returns the doc comment as one text.
    pub(crate) fn description(&self) -> String {
        let lines = self.doc.iter().map(|line| line.trim());
        lines.collect::<Vec<_>>().join(" ")
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
}

impl fmt::Display for SettingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

/// A setting with its row.
pub(crate) struct Field<'a> {
    pub(crate) row: &'static SettingRow,
    pub(crate) setting: &'a dyn Setting,
}

/// Returns the value at a path as a configuration would write it; `null` if it is unset.
pub(crate) fn json_at(fields: &[Field<'_>], parts: &[String]) -> Option<Json> {
    let (name, rest) = parts.split_first()?;
    let field = fields.iter().find(|field| field.row.name == name)?;
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
    const ROWS: &'static [&'static SettingRow];

    fn list(&self) -> Vec<Field<'_>>;

    /// Returns the setting of this name with its row.
    fn field(&mut self, name: &str) -> Option<(&mut dyn Setting, &'static SettingRow)>;

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
        let Some((setting, row)) = self.field(name) else {
            return context.unknown_field(name, Self::ROWS.iter().map(|row| row.name));
        };
        let is_null = value.is_null() || (value.is_null_text() && !setting.takes_null_text());
        let resets = rest.is_empty() && !setting.takes_null() && is_null;
        if resets {
            context.forget(name);
            return self.reset(name);
        }
        context.within(name, row.check, |context| setting.set(rest, value, context));
    }

    fn group_json(&self) -> Json {
        Json::Object(
            self.list()
                .into_iter()
                .map(|field| (field.row.name.to_owned(), field.setting.json()))
                .collect(),
        )
    }

    fn group_schema(&self) -> Json {
        let mut properties = Map::new();
        for field in self.list() {
            properties.insert(field.row.name.to_owned(), field_schema(&field));
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
    if let Some(constraint) = field.row.check {
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
    describe(&mut schema, &field.row.description(), default);
    schema
}

/// Declares a group of settings below a path. A row has the doc comment that users see, the name, the field with its type and
/// default, and what [`SettingRow`] has beyond that, in this order:
///
/// ```text
/// check Port, variable "MACKEREL_MEMO" as List override Forbidden, file "memo", annotation Memo of ".part"
/// ```
///
/// The function of the field's name returns its row.
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        pub(crate) struct $Name:ident at $at:literal {
            $(
                $(#[doc = $field_doc:literal])*
                $written:literal $field:ident: $Type:ty = $default:expr
                $(, check $check:ident)?
                $(, variable $variable:tt $(as $form:ident)? $(override $env_override:ident)?)?
                $(, file $file:literal)?
                $(, annotation $annotation:ident $(of $part:literal)?)*;
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

        impl $Name {
            $(pub(crate) const fn $field() -> &'static $crate::config::setting::SettingRow {
                static ROW: $crate::config::setting::SettingRow = $crate::config::setting::SettingRow {
                    name: $written,
                    path: concat!($at, $written),
                    doc: &[$($field_doc,)*],
                    check: $crate::config::setting::optional!($($crate::config::constraint::Constraint::$check)?),
                    variable: $crate::config::setting::optional!($($crate::mackerel::env::Variable {
                        $(form: $crate::mackerel::env::VariableForm::$form,)?
                        $(env_override: $crate::mackerel::env::EnvOverride::$env_override,)?
                        ..$crate::mackerel::env::Variable::named($variable)
                    })?),
                    file: $crate::config::setting::optional!($($file)?),
                    annotations: &[$((
                        $crate::mackerel::annotations::Annotation::$annotation,
                        concat!($at, $written, $($part)?),
                    ),)*],
                };
                &ROW
            })*
        }

        impl $crate::config::setting::Group for $Name {
            const ROWS: &'static [&'static $crate::config::setting::SettingRow] = &[$(Self::$field(),)*];

            fn list(&self) -> Vec<$crate::config::setting::Field<'_>> {
                vec![$($crate::config::setting::Field { row: Self::$field(), setting: &self.$field },)*]
            }

            fn field(
                &mut self,
                name: &str,
            ) -> Option<(&mut dyn $crate::config::setting::Setting, &'static $crate::config::setting::SettingRow)> {
                match name {
                    $($written => Some((&mut self.$field, Self::$field())),)*
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

/// Expands to `Some` of a value, or to `None` without one.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(crate) use {optional, settings};
