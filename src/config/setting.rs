//! The table of settings: name, documentation, type, default and rule of each stand in one place, and reading by any
//! door, schema and example are driven by it.

use crate::config::reading::Reading;
use crate::config::rule::Rule;
use crate::config::value::Value;
use serde_json::{Map, Value as Json};

/// Something that can be set.
pub(crate) trait Setting {
    /// Takes a value. What is wrong with it goes to `reading`, and the old value stays.
    fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>);

    /// Takes the value of a part, by its dotted path.
    fn set(&mut self, path: &[String], value: &Value<'_>, reading: &mut Reading<'_>) {
        match path {
            [] => self.read(value, reading),
            [part, ..] => reading.no_parts(part),
        }
    }

    /// `null` is a value of its own. Elsewhere it stands for the default.
    fn takes_null(&self) -> bool {
        false
    }

    /// Text is taken as it is. Elsewhere it is YAML, whose `null` is that of a document.
    fn takes_text(&self) -> bool {
        false
    }

    /// The value as a configuration would write it.
    fn json(&self) -> Json;

    /// JSON Schema of what may stand here.
    fn schema(&self) -> Json;

    /// The fields, of a group of settings.
    fn fields(&self) -> Vec<Field<'_>> {
        Vec::new()
    }
}

/// One line of the table.
pub(crate) struct Field<'a> {
    /// As it is written.
    pub(crate) name: &'static str,
    /// The doc comment's lines.
    pub(crate) doc: &'static [&'static str],
    pub(crate) rule: Option<Rule>,
    pub(crate) setting: &'a dyn Setting,
}

impl Field<'_> {
    /// The doc comment as one text.
    pub(crate) fn description(&self) -> String {
        self.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }
}

/// The value at a dotted path, as a configuration would write it; `null` where nothing is set.
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

/// A group of settings, as the table declares it.
pub(crate) trait Group: Sized {
    const NAMES: &'static [&'static str];

    fn list(&self) -> Vec<Field<'_>>;

    /// The field of this name, with the rule that its values obey.
    fn field(&mut self, name: &str) -> Option<(&mut dyn Setting, Option<Rule>)>;

    /// Gives the field its default.
    fn reset(&mut self, name: &str);

    fn read_group(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
        value.mapping(reading, |name, value, reading| self.set_field(name, &[], value, reading));
    }

    fn set_field(&mut self, name: &str, rest: &[String], value: &Value<'_>, reading: &mut Reading<'_>) {
        let Some((setting, rule)) = self.field(name) else {
            return reading.unknown_field(name, Self::NAMES);
        };
        let is_null = value.is_null() || (value.is_null_text() && !setting.takes_text());
        let resets = rest.is_empty() && !setting.takes_null() && is_null;
        if resets {
            reading.forget(name);
            return self.reset(name);
        }
        reading.within(name, rule, |reading| setting.set(rest, value, reading));
    }

    fn group_json(&self) -> Json {
        Json::Object(self.list().into_iter().map(|field| (field.name.to_owned(), field.setting.json())).collect())
    }

    fn group_schema(&self) -> Json {
        let mut properties = Map::new();
        for field in self.list() {
            properties.insert(field.name.to_owned(), of_field(&field));
        }
        serde_json::json!({"type": "object", "additionalProperties": false, "properties": properties})
    }
}

/// Puts the description first, as people read it, the type's own words behind the setting's.
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

/// The schema of one setting: of its type, with documentation, rule and default.
fn of_field(field: &Field<'_>) -> Json {
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
    if is_group {
        // As under `agent:` with nothing but comments below it.
        schema["type"] = serde_json::json!(["object", "null"]);
    }
    let default = if is_group { None } else { Some(field.setting.json()) };
    describe(&mut schema, &field.description(), default);
    schema
}

/// Declares a group of settings. Each line: the doc comment that users see, the name as it is written, then the field
/// with its type and default, and the rule that its values obey (of a list or a map: each of them).
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        pub(crate) struct $Name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $written:literal $field:ident: $Type:ty = $default:expr $(, $rule:ident)?;
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
                    rule: $crate::config::setting::rule!($($rule)?),
                    setting: &self.$field,
                },)*]
            }

            fn field(
                &mut self,
                name: &str,
            ) -> Option<(&mut dyn $crate::config::setting::Setting, Option<$crate::config::rule::Rule>)> {
                match name {
                    $($written => Some((&mut self.$field, $crate::config::setting::rule!($($rule)?))),)*
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
                value: &$crate::config::value::Value<'_>,
                reading: &mut $crate::config::reading::Reading<'_>,
            ) {
                $crate::config::setting::Group::read_group(self, value, reading);
            }

            fn set(
                &mut self,
                path: &[String],
                value: &$crate::config::value::Value<'_>,
                reading: &mut $crate::config::reading::Reading<'_>,
            ) {
                match path {
                    [] => self.read(value, reading),
                    [name, rest @ ..] => {
                        $crate::config::setting::Group::set_field(self, name, rest, value, reading);
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

/// The rule of a table line, if it names one.
macro_rules! rule {
    () => {
        None
    };
    ($rule:ident) => {
        Some($crate::config::rule::Rule::$rule)
    };
}

pub(crate) use {rule, settings};
