//! The verdict about a result, by two readers that are no editors: serde_yaml for values, saphyr-parser for tags and scalars as written.

use crate::edit::{Change, Edit};
use saphyr_parser::{Event, Parser};
use serde_json::Value;
use yaml_json_patch::Patch;
use yaml_json_patch::json_patch::patch as patch_json;

/// The outcome of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Right, and every byte beside the change is as it was.
    Kept,
    /// Right, and other bytes were changed.
    Changed,
    Refused,
    HasNoSuchEdit,
    /// Not what the operation says, or not readable.
    Wrong,
    Panic,
}

impl Verdict {
    pub(crate) const ALL: [Self; 6] = [
        Self::Kept,
        Self::Changed,
        Self::Refused,
        Self::HasNoSuchEdit,
        Self::Wrong,
        Self::Panic,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Kept => "right, no other byte changed",
            Self::Changed => "right, others changed",
            Self::Refused => "refused",
            Self::HasNoSuchEdit => "has no such edit",
            Self::Wrong => "wrong",
            Self::Panic => "panics",
        }
    }
}

/// Judges a text, and says what is wrong with it.
pub(crate) fn verdict(edit: &Edit, text: &str) -> (Verdict, String) {
    let compared = |read: fn(&str) -> Result<Value, String>, patch: &Patch| {
        let mut expected = read(&edit.text)?;
        patch_json(&mut expected, patch).map_err(|error| error.to_string())?;
        match read(text)? == expected {
            true => Ok(()),
            false => Err("another value".to_owned()),
        }
    };
    let patch_of_text = serde_json::to_value(&edit.patch)
        .and_then(|patch| serde_json::from_value(of_text(patch)))
        .unwrap_or_default();
    let read_twice =
        compared(as_values, &edit.patch).and_then(|()| compared(as_written, &patch_of_text));
    if let Err(what) = read_twice {
        return (Verdict::Wrong, format!("wrong: {what}"));
    }
    let kept = match &edit.change {
        None => true,
        Some(Change::Insertion) => is_inserted(&edit.text, text),
        Some(Change::Removal) => is_inserted(text, &edit.text),
        // A string over several lines is not in the text as it is read.
        Some(Change::Replacement { .. }) if is_inserted(&edit.text, text) => true,
        Some(Change::Replacement { old, new }) => edit.text.match_indices(old).any(|(at, _)| {
            let (before, after) = (&edit.text[..at], &edit.text[at + old.len()..]);
            let middle = text
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            middle == Some(new)
        }),
    };
    match kept {
        true => (Verdict::Kept, String::new()),
        false => (Verdict::Changed, "other bytes changed".to_owned()),
    }
}

/// True if the new text is the old one with one piece inserted.
fn is_inserted(old: &str, new: &str) -> bool {
    let same = |(a, b): &(u8, u8)| a == b;
    let front = old.bytes().zip(new.bytes()).take_while(same).count();
    let back = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take_while(same)
        .count();
    new.len() >= old.len() && front + back >= old.len()
}

/// Reads the values, as JSON has them.
pub(crate) fn as_values(text: &str) -> Result<Value, String> {
    let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Reads scalars as text: `1.10` is not `1.1`, and `!Ref a` is not `a`.
pub(crate) fn as_written(text: &str) -> Result<Value, String> {
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            event => events.push(event),
        }
    }
    node(&mut events.into_iter()).ok_or_else(|| "no document".to_owned())
}

/// None behind the last item of a collection.
fn node<'t>(events: &mut impl Iterator<Item = Event<'t>>) -> Option<Value> {
    match events.next()? {
        Event::Alias(_) => Some(Value::from("*")),
        Event::Scalar(value, _, _, tag) => Some(Value::from(match tag {
            Some(tag) => format!("{tag} {value}"),
            None => value.into_owned(),
        })),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            while let Some(item) = node(events) {
                items.push(item);
            }
            Some(Value::from(items))
        }
        Event::MappingStart(..) => {
            let mut members = serde_json::Map::new();
            while let Some(key) = node(events) {
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                members.insert(key, node(events)?);
            }
            Some(Value::from(members))
        }
        _ => None,
    }
}

/// Returns the patch for scalars as text.
fn of_text(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(of_text).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, of_text(value)))
            .collect(),
        Value::Number(number) => Value::from(number.to_string()),
        Value::Bool(value) => Value::from(value.to_string()),
        other => other,
    }
}
