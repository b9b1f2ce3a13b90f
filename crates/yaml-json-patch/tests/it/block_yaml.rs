//! Prints a JSON value as YAML in block style, in one of two layouts, for tests that need such text.

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Dashes {
    Flush,
    Indented,
}

pub(crate) fn print(value: &Value, dashes: Dashes) -> String {
    let mut text = String::new();
    write(value, 0, dashes, &mut text);
    text
}

fn write(value: &Value, column: usize, dashes: Dashes, text: &mut String) {
    let indent = " ".repeat(column);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push_str(&indent);
                }
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                below(value, column, dashes, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(&indent);
                }
                text.push_str("- ");
                write(item, column + 2, dashes, text);
            }
        }
        _ => {
            text.push_str(&value.to_string());
            text.push('\n');
        }
    }
}

fn below(value: &Value, column: usize, dashes: Dashes, text: &mut String) {
    let inside = match (value, dashes) {
        (Value::Object(members), _) if !members.is_empty() => column + 2,
        (Value::Array(items), Dashes::Flush) if !items.is_empty() => column,
        (Value::Array(items), Dashes::Indented) if !items.is_empty() => column + 2,
        _ => {
            text.push(' ');
            return write(value, 0, dashes, text);
        }
    };
    text.push('\n');
    text.push_str(&" ".repeat(inside));
    write(value, inside, dashes, text);
}
