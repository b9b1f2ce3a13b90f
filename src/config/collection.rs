//! Settings of several values: lists and maps, replaced as a whole. One entry of a map can be set by its key.

use crate::config::reading::Reading;
use crate::config::rule::Rule;
use crate::config::scalar::{self, Scalar};
use crate::config::setting::Setting;
use crate::config::value::Value;
use crate::config::violation::Violation;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A type whose values stand in lists.
pub(crate) trait Item: Sized {
    /// Reads one item. What is wrong goes to `reading`.
    fn read_item(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self>;

    fn item_json(&self) -> Json;

    fn item_schema() -> Json;

    /// What tells one item from the others, where two of the same make no sense.
    fn identity(&self) -> Option<&str> {
        None
    }
}

impl<T: Scalar> Item for T {
    fn read_item(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        scalar::read(value, reading)
    }

    fn item_json(&self) -> Json {
        self.json()
    }

    fn item_schema() -> Json {
        T::schema()
    }
}

impl<T: Item> Setting for Vec<T> {
    fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
        let before = reading.problems.len();
        let mut items: Vec<(usize, T)> = Vec::new();
        value.list(reading, |index, value, reading| {
            reading.within_item(index, |reading| {
                let Some(item) = T::read_item(value, reading) else { return };
                let is_twin = |other: &T| item.identity().is_some() && other.identity() == item.identity();
                if let Some((twin, _)) = items.iter().find(|(_, other)| is_twin(other)) {
                    let what = format!("has the same name as item {twin}: `{}`", item.identity().unwrap_or_default());
                    return reading.problem(value.range(), Violation::new(what));
                }
                items.push((index, item));
            });
        });
        if reading.problems.len() == before {
            reading.given(value);
            *self = items.into_iter().map(|(_, item)| item).collect();
        }
    }

    fn json(&self) -> Json {
        self.iter().map(Item::item_json).collect()
    }

    fn schema(&self) -> Json {
        json!({"type": "array", "items": T::item_schema()})
    }
}

impl Setting for BTreeMap<String, String> {
    fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
        let before = reading.problems.len();
        let mut entries = BTreeMap::new();
        value.mapping(reading, |key, value, reading| {
            read_entry(key, value, reading, &mut entries);
        });
        if reading.problems.len() == before {
            reading.given(value);
            *self = entries;
        }
    }

    fn set(&mut self, path: &[String], value: &Value<'_>, reading: &mut Reading<'_>) {
        match path {
            [] => self.read(value, reading),
            [key] => {
                let before = reading.problems.len();
                read_entry(key, value, reading, self);
                if reading.problems.len() == before {
                    reading.within_entry(key, |reading| reading.given(value));
                }
            }
            [key, part, ..] => reading.within_entry(key, |reading| reading.no_parts(part)),
        }
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn schema(&self) -> Json {
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

fn read_entry(key: &str, value: &Value<'_>, reading: &mut Reading<'_>, entries: &mut BTreeMap<String, String>) {
    reading.within_entry(key, |reading| {
        if let Err(violation) = Rule::MetadataName.test(key) {
            let what = format!("is no label: the key {}", violation.what);
            return reading.problem_at_name(Violation { what, ..violation });
        }
        if let Some(text) = scalar::read::<String>(value, reading) {
            entries.insert(key.to_owned(), text);
        }
    });
}
