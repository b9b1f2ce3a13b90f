//! Laws of splicing, over random documents in random layout and random patches.

use crate::generator::{ChoiceTape, document};
use crate::splice::visible;
use json_patch::Patch;
use proptest::prelude::*;
use serde_json::{Value, json};
use yaml_json_patch::{
    self as yaml, Cache, Error, Kind, NodeId, ScalarValue, Tree, apply, operations, scalar_value,
    splice, to_json, verify,
};

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Every pointer of a document, with its value.
pub(crate) fn places(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    found.push((path.to_owned(), value.clone()));
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                places(value, &format!("{path}/{}", escape(key)), found);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                places(value, &format!("{path}/{at}"), found);
            }
        }
        _ => {}
    }
}

fn new_value(tape: &mut ChoiceTape<'_>) -> Value {
    match tape.pick(9) {
        0 => json!("v"),
        1 => json!(7),
        2 => {
            json!({"name": "n1", "env": [{"name": "e", "value": "0"}], "args": ["a", "b"], "more": {"deep": {"er": null}}})
        }
        3 => json!([{"x": 1}, [2, ["three: "]], "yes"]),
        4 => json!({}),
        5 => json!([]),
        6 => json!(null),
        7 => json!("two\nlines # and: [more]"),
        _ => json!({"one": [{"two": 2.5}]}),
    }
}

/// Adds a value, and returns the operation that removes it again.
fn addition(tape: &mut ChoiceTape<'_>, document: &Value, serial: usize) -> Option<(Value, Value)> {
    let mut found = Vec::new();
    places(document, "", &mut found);
    found.retain(|(_, value)| value.is_object() || value.is_array());
    if found.is_empty() {
        return None;
    }
    let at = tape.pick(found.len());
    let (path, place) = &found[at];
    let value = new_value(tape);
    let (add, remove) = match place {
        Value::Array(items) => {
            let index = tape.pick(items.len() + 1);
            let add = if index == items.len() && tape.chance(2) {
                "-".to_owned()
            } else {
                index.to_string()
            };
            (format!("{path}/{add}"), format!("{path}/{index}"))
        }
        _ => (
            format!("{path}/new~1{serial}"),
            format!("{path}/new~1{serial}"),
        ),
    };
    Some((
        json!({"op": "add", "path": add, "value": value}),
        json!({"op": "remove", "path": remove}),
    ))
}

pub(crate) fn operation(
    tape: &mut ChoiceTape<'_>,
    document: &Value,
    serial: usize,
) -> Option<Value> {
    let mut found = Vec::new();
    places(document, "", &mut found);
    let at = tape.pick(found.len());
    let (path, old) = &found[at];
    let from = tape.pick(found.len());
    let from = &found[from].0;
    Some(match tape.pick(8) {
        0 | 1 => addition(tape, document, serial)?.0,
        2 | 3 => json!({"op": "remove", "path": path}),
        4 => json!({"op": "replace", "path": path, "value": new_value(tape)}),
        // The json_patch crate refuses to move the whole document to where it is.
        5 if path != from => json!({"op": "move", "from": from, "path": path}),
        5 | 6 => json!({"op": "copy", "from": from, "path": path}),
        _ => {
            json!({"op": "test", "path": path, "value": if tape.chance(4) { new_value(tape) } else { old.clone() }})
        }
    })
}

pub(crate) fn patch(operations: Vec<Value>) -> Patch {
    serde_json::from_value(Value::Array(operations)).unwrap()
}

pub(crate) fn read_json(text: &str) -> Option<Value> {
    let tree = yaml::read(text).ok()?;
    tree.root()
        .map_or(Some(Value::Null), |root| to_json(&tree, root).ok())
}

pub(crate) fn tape() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..160)
}

fn check_patch(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(before) = read_json(&text) else {
        return Ok(());
    };
    let mut expected = before;
    let mut tape = ChoiceTape::new(choices);
    let mut operations = Vec::new();
    let mut fits = true;
    for serial in 0..=tape.pick(4) {
        let Some(operation) = operation(&mut tape, &expected, serial) else {
            break;
        };
        operations.push(operation.clone());
        if json_patch::patch(&mut expected, &patch(vec![operation])).is_err() {
            fits = false;
            break;
        }
    }
    let patch = patch(operations);
    let shown = || format!("{patch}\n{}", visible(&text));
    match apply(&text, &patch) {
        Ok(patched) => {
            prop_assert!(
                fits,
                "should have been an error: {}\n{}",
                shown(),
                visible(&patched)
            );
            prop_assert_eq!(
                read_json(&patched),
                Some(expected),
                "{}\n{}",
                shown(),
                visible(&patched)
            );
        }
        Err(Error::Splice(refused)) => {
            prop_assert!(
                !fits || !refused.kind.is_fault_of_patch(),
                "{refused:?}: {}",
                shown()
            );
        }
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    }
    Ok(())
}

/// Moves or copies a value, also to a place that does not exist yet.
fn check_carried(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(mut expected) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let mut found = Vec::new();
    places(&expected, "", &mut found);
    let from = found[tape.pick(found.len())].0.clone();
    let (mut path, value) = found[tape.pick(found.len())].clone();
    match value {
        Value::Object(_) if tape.pick(4) > 0 => path.push_str("/new"),
        Value::Array(_) if tape.pick(4) > 0 => path.push_str("/-"),
        _ => {}
    }
    let op = if tape.pick(2) == 0 { "move" } else { "copy" };
    let patch = patch(vec![json!({"op": op, "from": from, "path": path})]);
    if from == path || json_patch::patch(&mut expected, &patch).is_err() {
        return Ok(());
    }
    let shown = || format!("{patch}\n{}", visible(&text));
    match apply(&text, &patch) {
        Ok(patched) => prop_assert_eq!(read_json(&patched), Some(expected), "{}", shown()),
        Err(Error::Splice(error)) => prop_assert!(!error.kind.is_fault_of_patch(), "{}", shown()),
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    }
    Ok(())
}

fn check_inverse(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(mut value) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let (mut adds, mut removes) = (Vec::new(), Vec::new());
    for serial in 0..=tape.pick(3) {
        let Some((add, remove)) = addition(&mut tape, &value, serial) else {
            break;
        };
        json_patch::patch(&mut value, &patch(vec![add.clone()])).unwrap();
        adds.push(add);
        removes.insert(0, remove);
    }
    let (adds, removes) = (patch(adds), patch(removes));
    let shown = || format!("{adds}\n{}", visible(&text));
    let there = match apply(&text, &adds) {
        Ok(there) => there,
        Err(Error::Splice(refused)) => {
            prop_assert!(
                !refused.kind.is_fault_of_patch(),
                "{refused:?}: {}",
                shown()
            );
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    };
    match apply(&there, &removes) {
        Ok(back) => prop_assert_eq!(
            visible(&back),
            visible(&text),
            "{}\n{}",
            adds,
            visible(&there)
        ),
        Err(error) => {
            return Err(TestCaseError::fail(format!(
                "{error:?}: {}\n{}",
                shown(),
                visible(&there)
            )));
        }
    }
    Ok(())
}

/// The path with each token as the key is written, where no other key is read as that.
fn as_written(text: &str, path: &str) -> String {
    let tree = &yaml::read(text).unwrap();
    let mut written = String::new();
    let mut at = tree.root();
    for token in path.split('/').skip(1) {
        let mut key = None;
        if let Some(node) = at.filter(|node| tree.kind(*node) == Kind::Mapping) {
            let named = |(key, value)| {
                let read = name(tree, key)?;
                (escape(&read) == token).then_some((key, value))
            };
            let found = tree.entries(node).filter_map(named).last();
            key = found.map(|(key, _)| tree.raw(key));
            let is_name = |(other, _)| name(tree, other).as_deref() == key;
            key = key.filter(|_| !tree.entries(node).any(is_name));
            at = found.map(|(_, value)| value);
        } else {
            let index = token.parse().ok();
            at = at.and_then(|node| tree.items(node).nth(index?));
        }
        let key = key.filter(|key| !key.starts_with(['"', '\'']));
        written.extend(["/", &key.map_or(token.to_owned(), escape)]);
    }
    written
}

/// The name of a key as it is read.
fn name(tree: &Tree<'_>, key: NodeId) -> Option<String> {
    Some(match scalar_value(tree, key).ok()? {
        ScalarValue::Str(text) => text.into_owned(),
        ScalarValue::Bool(value) => value.to_string(),
        ScalarValue::Int(value) => value.to_string(),
        _ => return None,
    })
}

/// The one exception of the law that text and JSON agree: a path that names keys as they are written is the path that names
/// them as they are read.
fn check_exception(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(value) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let Some(as_read) = operation(&mut tape, &value, 0) else {
        return Ok(());
    };
    let mut written = as_read.clone();
    let mut target = text.clone();
    if let Some(from) = as_read["from"].as_str() {
        written["from"] = json!(as_written(&text, from));
        // The `path` of a move is one of the document that no longer has what moves.
        let goes_inside = as_read["path"]
            .as_str()
            .is_some_and(|path| path.starts_with(from));
        if as_read["op"] == "move" && !goes_inside {
            let remove = json!({"op": "remove", "path": from});
            target = apply(&text, &patch(vec![remove])).unwrap_or(target);
        }
    }
    if let Some(path) = as_read["path"].as_str() {
        written["path"] = json!(as_written(&target, path));
    }
    let apply = |operation: &Value| {
        apply(&text, &patch(vec![operation.clone()])).map_err(|error| match error {
            Error::Splice(error) => error.kind,
            error => panic!("{error:?}: {operation}\n{}", visible(&text)),
        })
    };
    prop_assert_eq!(
        apply(&written),
        apply(&as_read),
        "{}\n{}",
        written,
        visible(&text)
    );
    Ok(())
}

/// Replaces an added value in its place: the bytes are those of adding the new value at once.
fn check_upgrade(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(value) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let Some((add, remove)) = addition(&mut tape, &value, 0) else {
        return Ok(());
    };
    let mut other = add.clone();
    other["value"] = new_value(&mut tape);
    // A string keeps the quotes of the one that it replaces.
    if add["value"].is_string() && other["value"].is_string() {
        return Ok(());
    }
    let replace = json!({"op": "replace", "path": remove["path"], "value": other["value"]});
    let (Ok(first), Ok(expected)) = (
        apply(&text, &patch(vec![add.clone()])),
        apply(&text, &patch(vec![other])),
    ) else {
        return Ok(());
    };
    let shown = || {
        format!(
            "{add}, then {replace}\n{}\n{}",
            visible(&text),
            visible(&first)
        )
    };
    match apply(&first, &patch(vec![replace.clone()])) {
        Ok(upgraded) => prop_assert_eq!(visible(&upgraded), visible(&expected), "{}", shown()),
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_and_json_agree_about_every_patch(layout in tape(), choices in tape()) {
        check_patch(&layout, &choices)?;
    }

    #[test]
    fn a_value_that_is_moved_or_copied_stays_the_same(layout in tape(), choices in tape()) {
        check_carried(&layout, &choices)?;
    }

    #[test]
    fn a_path_of_keys_as_written_is_the_path_of_keys_as_read(layout in tape(), choices in tape()) {
        check_exception(&layout, &choices)?;
    }

    #[test]
    fn removing_what_was_added_gives_the_original_bytes(layout in tape(), choices in tape()) {
        check_inverse(&layout, &choices)?;
    }

    #[test]
    fn replacing_what_was_added_is_adding_the_other_value(layout in tape(), choices in tape()) {
        check_upgrade(&layout, &choices)?;
    }

    /// The last line of defence has to see it when anything else in the text changes.
    #[test]
    fn verify_sees_a_change_that_the_patch_does_not_make(layout in tape(), other in tape(), choices in tape()) {
        let (text, other) = (document(&mut ChoiceTape::new(&layout)), document(&mut ChoiceTape::new(&other)));
        let (Some(value), Some(changed)) = (read_json(&text), read_json(&other)) else { return Ok(()) };
        let Some((add, _)) = addition(&mut ChoiceTape::new(&choices), &value, 0) else { return Ok(()) };
        let (old, new) = (yaml::read(&text).unwrap(), yaml::read(&other).unwrap());
        let Ok(spliced) = splice(&old, operations(&patch(vec![add.clone()])), &Cache::default()) else { return Ok(()) };
        let mut expected = value;
        json_patch::patch(&mut expected, &patch(vec![add])).unwrap();
        if verify(&old, &spliced, &new, &Cache::default()).is_ok() {
            prop_assert_eq!(changed, expected);
        }
    }
}
