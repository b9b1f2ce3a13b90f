//! The example configuration: every setting with its default and documentation, commented out. The program has it as a file.

use super::schema::SPEC;
use crate::{API_VERSION, Config, KIND, Sources, load};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Width of a comment's text.
const COLUMNS: usize = 100;

const HEADER: &str = "All settings with their defaults. Uncomment only the settings that you change. \
    A value that is set here overrides changes that other tools made in the manifests.";

/// Returns a configuration (YAML) in which every setting is commented out (`#image: …`) at its default.
pub(super) fn example() -> String {
    let mut out = String::new();
    for line in wrapped(HEADER) {
        let _ = writeln!(out, "# {line}");
    }
    let _ = write!(
        out,
        "apiVersion: {API_VERSION}\nkind: {KIND}\nmetadata:\n  name: default\nspec:\n"
    );
    write_group(&SPEC, 2, &mut out);
    out
}

fn write_group(group: &Json, indent: usize, out: &mut String) {
    for (name, setting) in group["properties"].as_object().into_iter().flatten() {
        for line in wrapped(setting["description"].as_str().unwrap_or_default()) {
            let _ = writeln!(out, "{:indent$}# {line}", "");
        }
        if let Some(default) = setting.get("default") {
            write_value(name, default, indent, out);
        } else {
            // Without members, `tmp:` would be null, which is no scratch space.
            let sign = if name == "tmp" { "#" } else { "" };
            let _ = writeln!(out, "{:indent$}{sign}{name}:", "");
            write_group(setting, indent + 2, out);
        }
    }
}

/// Writes `#key: value`, or the value on its own lines below the key.
fn write_value(key: &str, value: &Json, indent: usize, out: &mut String) {
    // JSON can always be written as YAML.
    let written = serde_yaml::to_string(value).unwrap_or_default();
    let lines: Vec<&str> = written.lines().collect();
    let is_empty = value.as_object().is_some_and(|object| object.is_empty())
        || value.as_array().is_some_and(Vec::is_empty);
    if is_empty || !(value.is_object() || value.is_array()) {
        let _ = writeln!(out, "{:indent$}#{key}: {}", "", lines.join(" "));
        return;
    }
    let _ = writeln!(out, "{:indent$}#{key}:", "");
    for line in lines {
        let _ = writeln!(out, "{:indent$}#  {line}", "");
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

fn read(text: &str) -> Config {
    load(&Sources::of_text("example", text)).unwrap()
}

#[test]
fn the_example_sets_nothing() {
    let text = example();
    assert_eq!(read(&text).explicit().count(), 0);
    assert!(
        text.lines().all(|line| line.len() <= COLUMNS + 12),
        "{text}"
    );
}

#[test]
fn with_every_sign_taken_away_it_says_the_defaults() {
    // Documentation is `# text`, a setting `#name`, the lines below it `#  - item`.
    let is_documentation = |line: &str| {
        let text = line.trim_start().strip_prefix('#');
        text.is_some_and(|text| text.starts_with(' ') && !text.starts_with("  "))
    };
    let text: String = example()
        .lines()
        .filter(|line| !is_documentation(line))
        .map(|line| line.replacen('#', "", 1) + "\n")
        .collect();
    let config = read(&text);
    assert_eq!(config.spec, Config::default().spec, "{text}");
    assert!(
        config.is_explicit("agent.image") && config.is_explicit("select.excludeNamespaces"),
        "{text}"
    );
}
