//! The edits: each kind once in every document that has a place for it, and those of a folder of cases.

use crate::corpus::{Source, chosen};
use serde_json::json;
use serde_yaml::Value;
use std::error::Error;
use std::path::Path;
use yaml_json_patch::Patch;
use yaml_json_patch::pointer::escape;

/// Operations on a document.
pub(crate) struct Edit {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) patch: Patch,
    /// The change that is asked for; none for a case.
    pub(crate) change: Option<Change>,
    /// The text that a person would have written, of a case.
    pub(crate) wanted: Option<String>,
}

/// A change of one piece of the text.
pub(crate) enum Change {
    Insertion,
    Removal,
    Replacement { old: String, new: String },
}

/// A place of a document that an edit needs.
struct Place<'a> {
    pointer: String,
    /// The key in the mapping above; none for an item of a list.
    key: Option<&'a str>,
    siblings: usize,
    value: &'a Value,
}

/// Returns the edits of so many documents of the corpus.
pub(crate) fn edits(documents: usize) -> Result<Vec<Edit>, Box<dyn Error>> {
    let mut edits = Vec::new();
    for (number, source) in chosen(documents)?.into_iter().enumerate() {
        let root: Value = serde_yaml::from_str(&source.text)?;
        let mut places = Vec::new();
        collect(&root, "", &mut places);
        for kind in [bump, add_member, append, remove_member, remove_item, rename] {
            let found: Vec<Planned> = places.iter().filter_map(kind).collect();
            let count = found.len().max(1);
            // Another place in each document, always the same.
            if let Some(planned) = found.into_iter().nth(number * 7919 % count) {
                edits.push(planned.of(&source)?);
            }
        }
    }
    Ok(edits)
}

/// An operation, with the change that it should be.
struct Planned {
    operation: serde_json::Value,
    change: Change,
}

impl Planned {
    fn of(self, source: &Source) -> Result<Edit, Box<dyn Error>> {
        Ok(Edit {
            name: source.name.clone(),
            text: source.text.clone(),
            patch: serde_json::from_value(json!([self.operation]))?,
            change: Some(self.change),
            wanted: None,
        })
    }
}

/// A string becomes another one: the next version, or one line more.
fn bump(place: &Place<'_>) -> Option<Planned> {
    // What quotes would escape is not looked for.
    let is_written_as_it_is = |old: &&str| !old.is_empty() && !old.contains(['\'', '"', '\\']);
    let old = place.value.as_str().filter(is_written_as_it_is)?;
    let new = match old.strip_suffix('\n') {
        Some(_) => format!("{old}more\n"),
        None => match old.strip_suffix(|last: char| last.is_ascii_digit() && last != '9') {
            Some(rest) => {
                let last = old[rest.len()..].parse::<u8>().ok()? + 1;
                format!("{rest}{last}")
            }
            None => format!("{old}-next"),
        },
    };
    let change = match old.contains('\n') {
        true => Change::Insertion,
        false => Change::Replacement {
            old: old.to_owned(),
            new: new.clone(),
        },
    };
    let operation = json!({"op": "replace", "path": place.pointer, "value": new});
    Some(Planned { operation, change })
}

fn add_member(place: &Place<'_>) -> Option<Planned> {
    let members = place.value.as_mapping()?;
    if members.is_empty() || members.contains_key("added") {
        return None;
    }
    let path = format!("{}/added", place.pointer);
    let operation = json!({"op": "add", "path": path, "value": {"name": "new", "size": 5}});
    Some(Planned {
        operation,
        change: Change::Insertion,
    })
}

fn append(place: &Place<'_>) -> Option<Planned> {
    let value = match place.value.as_sequence()?.first()? {
        Value::String(_) => json!("new"),
        Value::Mapping(_) => json!({"name": "new", "size": 5}),
        _ => return None,
    };
    let path = format!("{}/-", place.pointer);
    let operation = json!({"op": "add", "path": path, "value": value});
    Some(Planned {
        operation,
        change: Change::Insertion,
    })
}

fn remove_member(place: &Place<'_>) -> Option<Planned> {
    place.key?;
    removal(place)
}

fn remove_item(place: &Place<'_>) -> Option<Planned> {
    place.key.is_none().then(|| removal(place))?
}

fn removal(place: &Place<'_>) -> Option<Planned> {
    let operation = json!({"op": "remove", "path": place.pointer});
    (place.siblings > 0).then_some(Planned {
        operation,
        change: Change::Removal,
    })
}

fn rename(place: &Place<'_>) -> Option<Planned> {
    let old = place
        .key
        .filter(|key| key.chars().all(char::is_alphabetic))?
        .to_owned();
    let new = format!("{old}Renamed");
    let path = place.pointer.strip_suffix(&old)?;
    let operation = json!({"op": "move", "from": place.pointer, "path": format!("{path}{new}")});
    Some(Planned {
        operation,
        change: Change::Replacement { old, new },
    })
}

/// Adds all places but the root.
fn collect<'a>(value: &'a Value, pointer: &str, places: &mut Vec<Place<'a>>) {
    let mut add = |token: &str, key: Option<&'a str>, siblings: usize, value: &'a Value| {
        let pointer = format!("{pointer}/{}", escape(token));
        places.push(Place {
            pointer: pointer.clone(),
            key,
            siblings,
            value,
        });
        collect(value, &pointer, places);
    };
    match value {
        Value::Mapping(members) => {
            for (key, member) in members {
                if let Some(key) = key.as_str().filter(|key| *key != "<<") {
                    add(key, Some(key), members.len() - 1, member);
                }
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                add(&index.to_string(), None, items.len() - 1, item);
            }
        }
        _ => {}
    }
}

/// Reads a folder of cases: `input.yaml`, `patch.json`, and `want.yaml`, which a person would have written.
pub(crate) fn wanted_by_people(folder: &Path) -> Result<Vec<Edit>, Box<dyn Error>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let file = |name: &str| std::fs::read_to_string(path.join(name));
        if let (Ok(text), Ok(wanted)) = (file("input.yaml"), file("want.yaml")) {
            let name = path.file_name().unwrap_or_default().display().to_string();
            let patch = serde_json::from_str(&file("patch.json")?)?;
            cases.push(Edit {
                name,
                text,
                patch,
                change: None,
                wanted: Some(wanted),
            });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}
