//! A configuration with every setting at its default, each with its documentation as a comment.

use super::schema::NOT_SUPPORTED;
use super::setting::{Field, Setting as _};
use super::spec::Spec;
use super::unsupported::without_effect;
use super::{API_VERSION, KIND};
use std::fmt::Write as _;

/// Columns of a comment's text.
const COLUMNS: usize = 100;

const HEADER: &str = "Every setting with its default. Keep only those that you change: what is written down counts as \
    chosen by you, and wins over what other tools changed in the manifests since.";

/// A commented configuration, YAML, with every setting at its default.
#[must_use]
pub fn example() -> String {
    let mut out = String::new();
    for line in wrapped(HEADER) {
        let _ = writeln!(out, "# {line}");
    }
    let _ = write!(out, "apiVersion: {API_VERSION}\nkind: {KIND}\nmetadata:\n  name: default\nspec:\n");
    write_fields(&Spec::default().fields(), "", 2, &mut out);
    out
}

fn write_fields(fields: &[Field<'_>], inside: &str, indent: usize, out: &mut String) {
    for field in fields {
        let path = format!("{inside}{}", field.name);
        let mut description = field.description();
        if let Some(choices) = field.setting.schema()["description"].as_str() {
            let _ = write!(description, " {choices}");
        }
        if without_effect().contains(&path.as_str()) {
            let _ = write!(description, " {NOT_SUPPORTED}");
        }
        for line in wrapped(&description) {
            let _ = writeln!(out, "{:indent$}# {line}", "");
        }
        let inner = field.setting.fields();
        if inner.is_empty() {
            let _ = write!(out, "{:indent$}{}:", "", field.name);
            write_value(&field.setting.json(), indent, out);
        } else {
            let _ = writeln!(out, "{:indent$}{}:", "", field.name);
            write_fields(&inner, &format!("{path}."), indent + 2, out);
        }
    }
}

/// Behind its key: in the same line, or indented below it when it has several lines.
fn write_value(value: &serde_json::Value, indent: usize, out: &mut String) {
    // A JSON value whose keys are strings can always be written.
    let written = serde_yaml::to_string(value).unwrap_or_default();
    let lines: Vec<&str> = written.lines().collect();
    let is_empty =
        value.as_object().is_some_and(|object| object.is_empty()) || value.as_array().is_some_and(Vec::is_empty);
    if is_empty || !(value.is_object() || value.is_array()) {
        let _ = writeln!(out, " {}", lines.join(" "));
        return;
    }
    out.push('\n');
    // Lists stand under their key without indentation, as the lists within do.
    let indent = if value.is_array() { indent } else { indent + 2 };
    for line in lines {
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Base, Config, Sources, load};

    #[test]
    fn the_example_reads_as_the_defaults() {
        let text = example();
        let sources = Sources { base: Base::Text { name: "example", text: &text }, ..Sources::default() };
        assert_eq!(load(&sources).map(|config| config.spec), Ok(Config::default().spec));
        assert!(text.lines().all(|line| line.len() <= COLUMNS + 12), "{text}");
    }
}
