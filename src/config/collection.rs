//! Lists and maps as settings: replaced as a whole; an entry of a map can be set by its key.

use crate::config::constraint::Constraint;
use crate::config::read_context::ReadContext;
use crate::config::scalar::{self, Scalar};
use crate::config::setting::Setting;
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// The type of a list's items.
pub(crate) trait ListItem: Sized {
    /// Reads one item; violations go to `context`.
    fn read_item(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Self>;

    fn item_json(&self) -> Json;

    fn item_schema() -> Json;

    /// Returns the name that must be unique in the list, if there is one.
    fn identity(&self) -> Option<&str> {
        None
    }
}

impl<T: Scalar> ListItem for T {
    fn read_item(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<Self> {
        scalar::read(value, context)
    }

    fn item_json(&self) -> Json {
        self.json()
    }

    fn item_schema() -> Json {
        T::schema()
    }
}

impl<T: ListItem> Setting for Vec<T> {
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        let mut items: Vec<T> = Vec::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut ranges = Vec::new();
        let read = context.without_errors(|context| {
            value.list(context, |index, value, context| {
                ranges.push(value.range());
                context.within_item(index, |context| {
                    let Some(item) = T::read_item(value, context) else {
                        return;
                    };
                    if let Some(name) = item.identity() {
                        let first = *names.entry(name.to_owned()).or_insert(index);
                        if first != index {
                            let what = format!("has the same name as item {first}: `{name}`");
                            return context.error(value.range(), Violation::new(what));
                        }
                    }
                    items.push(item);
                });
            });
        });
        if read.is_some() {
            context.given(value);
            context.given_items(ranges);
            *self = items;
        }
    }

    fn json(&self) -> Json {
        self.iter().map(ListItem::item_json).collect()
    }

    fn schema(&self) -> Json {
        json!({"type": "array", "items": T::item_schema()})
    }
}

/// A list that differs, if it is absent, from an empty one.
impl<T: ListItem> Setting for Option<Vec<T>> {
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        let mut list = Vec::new();
        if context
            .without_errors(|context| list.read(value, context))
            .is_some()
        {
            *self = Some(list);
        }
    }

    fn json(&self) -> Json {
        self.as_ref().map_or(Json::Null, Setting::json)
    }

    fn schema(&self) -> Json {
        json!({"type": ["array", "null"], "items": T::item_schema()})
    }
}

impl Setting for BTreeMap<String, String> {
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        let mut entries = BTreeMap::new();
        let read = context.without_errors(|context| {
            value.mapping(context, |key, value, context| {
                read_entry(key, value, context, &mut entries)
            });
        });
        if read.is_some() {
            context.given(value);
            *self = entries;
        }
    }

    fn set(&mut self, path: &[String], value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        match path {
            [] => self.read(value, context),
            [key] => {
                if context
                    .without_errors(|context| read_entry(key, value, context, self))
                    .is_some()
                {
                    context.within_entry(key, |context| context.given(value));
                }
            }
            [key, part, ..] => context.within_entry(key, |context| context.no_parts(part)),
        }
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn schema(&self) -> Json {
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

fn read_entry(
    key: &str,
    value: &ConfigValue<'_>,
    context: &mut ReadContext<'_>,
    entries: &mut BTreeMap<String, String>,
) {
    context.within_entry(key, |context| {
        if let Err(violation) = Constraint::MetadataName.check(key) {
            let what = format!("has an invalid label key: it {}", violation.what);
            return context.error_at_name(Violation { what, ..violation });
        }
        if let Some(text) = scalar::read::<String>(value, context) {
            entries.insert(key.to_owned(), text);
        }
    });
}
