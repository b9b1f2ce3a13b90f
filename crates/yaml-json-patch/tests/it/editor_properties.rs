//! Laws of the editor and of streams, over random documents in random layout.

use crate::generator::{ChoiceTape, document};
use crate::properties::{places, read_json, tape};
use crate::splice::visible;
use proptest::prelude::*;
use serde_json::{Value, json};
use yaml_json_patch::{Edit, Editor, Error, Stream, documents, ends_in_open_block_scalar, read};

/// Puts a member before or behind another one, and takes it out again.
fn check_inserted(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(value) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let mut found = Vec::new();
    places(&value, "", &mut found);
    found.retain(|(_, value)| value.as_object().is_some_and(|members| !members.is_empty()));
    if found.is_empty() {
        return Ok(());
    }
    let (path, mapping) = &found[tape.pick(found.len())];
    let names: Vec<&String> = mapping.as_object().unwrap().keys().collect();
    // Of two keys with one name, the last counts: the place is another one than the name's in JSON.
    let tree = read(&text).unwrap();
    let tokens = path.split('/').skip(1);
    let node = tokens.fold(tree.root(), |node, token| tree.child(node?, token));
    let keys = node.map(|node| tree.entries(tree.alias_target(node)).count());
    if keys != Some(names.len()) {
        return Ok(());
    }
    let at = tape.pick(names.len());
    let new = format!("{path}/new");
    let value_of_new = [json!(7), json!({"b": ["c"]})][tape.pick(2)].clone();
    let mut editor = Editor::new(&text).unwrap();
    let (inserted, place) = match tape.pick(2) {
        0 => (
            editor.insert_before(&*new, names[at], value_of_new.clone()),
            at,
        ),
        _ => (
            editor.insert_after(&*new, names[at], value_of_new.clone()),
            at + 1,
        ),
    };
    if let Err(error) = inserted {
        prop_assert!(
            matches!(error, Error::Splice(_)),
            "{error:?}\n{}",
            visible(&text)
        );
        prop_assert_eq!(editor.finish(), text);
        return Ok(());
    }
    let there = editor.finish();
    let shown = || format!("{new} at {place}\n{}\n{}", visible(&text), visible(&there));
    let after = read_json(&there).unwrap();
    let members = after.pointer(path).and_then(Value::as_object).unwrap();
    let mut expected: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    expected.insert(place, "new");
    prop_assert_eq!(members.keys().collect::<Vec<_>>(), expected, "{}", shown());
    let mut value = value.clone();
    value.pointer_mut(path).unwrap()["new"] = value_of_new;
    prop_assert_eq!(&after, &value, "{}", shown());
    if ends_in_open_block_scalar(&tree) {
        // A block in front of the new member is now `|-`.
        return Ok(());
    }
    let is_insertion = |edit: &Edit| edit.range.is_empty();
    prop_assert!(editor.edits().iter().all(is_insertion), "{}", shown());
    prop_assert!(editor.remove(&*new).unwrap());
    prop_assert_eq!(visible(&editor.finish()), visible(&text), "{}", shown());
    Ok(())
}

/// Adds a document and takes it out again; then takes out any other one, and the others stay as they are.
fn check_stream(layouts: &[Vec<u8>], choices: &[u8]) -> Result<(), TestCaseError> {
    let mut tape = ChoiceTape::new(choices);
    let mut text = String::new();
    for layout in layouts {
        let document = document(&mut ChoiceTape::new(layout));
        if !text.is_empty() && !document.starts_with("---") {
            text.push_str("---\n");
        }
        text.push_str(&document);
    }
    let Ok(mut stream) = Stream::new(&text) else {
        return Ok(());
    };
    let spans: Vec<_> = documents(&text).map(|document| document.span).collect();
    if stream.push(json!({"a": ["b"]})).is_ok() {
        let longer = stream.finish();
        prop_assert!(longer.starts_with(&text));
        prop_assert_eq!(
            documents(&longer).count(),
            spans.len() + 1,
            "{}",
            visible(&longer)
        );
        prop_assert!(stream.remove(spans.len()).unwrap());
    }
    prop_assert_eq!(stream.finish(), text.clone());
    prop_assert!(!stream.remove(spans.len()).unwrap());
    let gone = tape.pick(spans.len().max(1));
    if gone < spans.len() {
        let rest = [&text[..spans[gone].start], &text[spans[gone].end..]].concat();
        if stream.remove(gone).is_err() {
            prop_assert_ne!(documents(&rest).count(), spans.len() - 1);
            prop_assert_eq!(stream.finish(), text);
            return Ok(());
        }
        let shorter = stream.finish();
        prop_assert_eq!(&shorter, &rest);
        let values = |text: &str| -> Vec<_> {
            documents(text)
                .map(|document| read_json(&text[document.span]))
                .collect()
        };
        let mut expected = values(&text);
        expected.remove(gone);
        prop_assert_eq!(values(&shorter), expected, "{}", visible(&text));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_member_goes_before_or_behind_another_one_and_leaves_no_trace(layout in tape(), choices in tape()) {
        check_inserted(&layout, &choices)?;
    }

    #[test]
    fn documents_come_and_go_and_the_others_stay(layouts in prop::collection::vec(tape(), 1..4), choices in tape()) {
        check_stream(&layouts, &choices)?;
    }
}
