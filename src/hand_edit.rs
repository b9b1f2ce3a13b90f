//! What somebody changed in what we added, but for the names that others may change.

use crate::agent::normal::Digest;
use crate::agent::record::Unreadable;
use crate::agent::{Agent, CONTAINER};
use crate::field_path::field_path;
use crate::pod_template::Ours;
use serde_json::Value;

/// How what stands there differs from what the record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandEdit {
    /// The record is of a later program. What it added is not ours to touch, whatever anybody forces.
    NewerRecord,
    /// The record is no record.
    BrokenRecord,
    /// A part of what the record names is not there.
    Gone,
    /// It is all there, but not as it was.
    Changed,
}

impl HandEdit {
    /// None where nothing was changed.
    pub(crate) fn of(ours: &Ours) -> Option<Self> {
        match (&ours.record, &ours.value) {
            (Err(Unreadable::Newer), _) => Some(HandEdit::NewerRecord),
            (Err(Unreadable::Broken), _) => Some(HandEdit::BrokenRecord),
            (Ok(_), None) => Some(HandEdit::Gone),
            (Ok(record), Some(value)) => (Digest::of(&value.to_string()) != record.value).then_some(HandEdit::Changed),
        }
    }

    /// One sentence. `wanted` is the agent that would go in; where it is the one that the record tells of, the sentence
    /// can name the field.
    pub(crate) fn message(self, ours: &Ours, wanted: Option<&Agent>) -> String {
        match self {
            HandEdit::NewerRecord => "the agent was put in by a newer version of this program".to_owned(),
            HandEdit::BrokenRecord => "the record cannot be read".to_owned(),
            HandEdit::Gone => match gone(ours) {
                Some(part) => format!("{part} is gone, which the record names"),
                None => "a part of what the record names cannot be read".to_owned(),
            },
            HandEdit::Changed => match changed(ours, wanted) {
                Some(field) => format!("`{field}` is not as it was injected"),
                None => "the agent is not as it was injected".to_owned(),
            },
        }
    }

    /// What to do next.
    pub(crate) fn help(self) -> &'static str {
        match self {
            HandEdit::NewerRecord => "use that version",
            _ => "undo the edit, or run with `--force` on the file to overwrite it",
        }
    }
}

fn gone(ours: &Ours) -> Option<String> {
    if ours.agent.is_none() {
        return Some(format!("the container `{CONTAINER}`"));
    }
    let (volume, _) = ours.volumes.iter().find(|(_, volume)| volume.is_none())?;
    Some(format!("the volume `{}`", volume.name()))
}

/// The first field that differs. It is known only where the configuration is still the one of the injection.
fn changed(ours: &Ours, wanted: Option<&Agent>) -> Option<String> {
    let (record, wanted) = (ours.record.as_ref().ok()?, wanted?);
    let same_plan = record.plan == wanted.record().plan;
    let path = difference(&wanted.normal(), ours.value.as_ref().filter(|_| same_plan)?)?;
    // The first part is the container, the others are volumes.
    let path = match path.strip_prefix("/0") {
        Some(field) => format!("/{CONTAINER}{field}"),
        None => format!("/volumes{path}"),
    };
    Some(field_path(&path))
}

/// JSON Pointer of the first place where two values differ.
fn difference(left: &Value, right: &Value) -> Option<String> {
    let below = |key: &str, inner: String| format!("/{}{inner}", crate::patch::escape(key));
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let inner = difference(left.get(key).unwrap_or(&Value::Null), right.get(key).unwrap_or(&Value::Null))?;
                Some(below(key, inner))
            })
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len())).find_map(|index| {
            let inner = difference(left.get(index).unwrap_or(&Value::Null), right.get(index).unwrap_or(&Value::Null))?;
            Some(below(&index.to_string(), inner))
        }),
        _ => (left != right).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let one = json!({"a": [{"b": 1}, {"c": {"d": "x"}}]});
        for (other, expected) in [
            (one.clone(), None),
            (json!({"a": [{"b": 1}, {"c": {"d": "y"}}]}), Some("/a/1/c/d")),
            (json!({"a": [{"b": 1}]}), Some("/a/1")),
            (json!({"a": [{"b": 1}, {"c": {"d": "x"}}], "e": 1}), Some("/e")),
        ] {
            assert_eq!(difference(&one, &other).as_deref(), expected, "{other}");
        }
    }
}
