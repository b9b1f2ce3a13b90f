//! A manifest that a tool has printed.

use serde_json::Value;

/// A value without members that are null or empty.
pub fn bare(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let items: Vec<Value> = items
                .into_iter()
                .map(|item| bare(item).unwrap_or(Value::Null))
                .collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(entries) => {
            let entries: serde_json::Map<_, _> = entries
                .into_iter()
                .filter_map(|(key, value)| Some((key, bare(value)?)))
                .collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        // What kyaml makes of a null.
        Value::String(text) if text.is_empty() => None,
        other => Some(other),
    }
}
