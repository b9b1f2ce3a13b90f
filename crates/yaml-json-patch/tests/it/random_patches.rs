//! Random patches of real files: the text is the one that the operations give one after the other.

use crate::generator::{ChoiceTape, document};
use crate::properties::{operation, patch, places, read_json, tape};
use crate::splice::visible;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::corpus;
use yaml_json_patch::{Error, SpliceError, apply, documents};

/// A long document has too many places to be read for each patch.
const MAX_BYTES: usize = 20_000;

/// Bytes that are the same in every run.
struct Random(u64);

impl Random {
    fn bytes(&mut self) -> Vec<u8> {
        let mut byte = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) as u8
        };
        (0..64).map(|_| byte()).collect()
    }
}

/// Some operations that follow each other, each as it is about the document that those before it leave.
fn operations(choices: &[u8], document: &Value) -> Vec<Value> {
    let mut tape = ChoiceTape::new(choices);
    let mut document = document.clone();
    let mut operations = Vec::new();
    for serial in 0..=tape.pick(4) {
        let Some(operation) = operation(&mut tape, &document, serial) else {
            break;
        };
        operations.push(operation.clone());
        if json_patch::patch(&mut document, &patch(vec![operation])).is_err() {
            break;
        }
    }
    operations
}

/// A value, so that those of one number are written alike: as numbers, without quotes, in quotes, in lines.
fn value(tape: &mut ChoiceTape<'_>, kind: usize) -> Value {
    let serial = tape.pick(4);
    match kind {
        0 => json!(serial),
        1 => json!(format!("word {serial}")),
        2 => json!(["yes", "0644", "a: b", "2024-01-02"][serial]),
        3 => json!(
            [
                format!("it's {serial}"),
                "\"".into(),
                "\u{1}".into(),
                "a, b".into()
            ][serial]
        ),
        4 => json!(serial > 1),
        5 => Value::Null,
        6 => json!([format!("item {serial}"), 1]),
        _ => json!({"name": format!("n{serial}"), "value": format!("{}", serial + 8)}),
    }
}

/// Operations at many places, most of them of one kind and beside each other.
fn operations_beside(tape: &mut ChoiceTape<'_>, document: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    places(document, "", &mut found);
    let is_collection = |value: &Value| value.is_object() || value.is_array();
    let (outer, inner): (Vec<_>, Vec<_>) =
        found.iter().partition(|(_, value)| is_collection(value));
    let mut at = tape.pick(found.len());
    let (step, many) = (1 + tape.pick(2), 2 + tape.pick(12));
    let mut kinds = (tape.pick(7), tape.pick(8));
    let mut operations = Vec::new();
    for serial in 0..many {
        if tape.chance(4) {
            kinds = (tape.pick(7), tape.pick(8));
        }
        let of = |found: &[&(String, Value)]| {
            found
                .get(at % found.len().max(1))
                .map(|(path, old)| (path.clone(), old.clone()))
        };
        let value = value(tape, kinds.1);
        operations.extend(match kinds.0 {
            0..=2 => {
                of(&inner).map(|(path, _)| json!({"op": "replace", "path": path, "value": value}))
            }
            3 | 4 => of(&outer).map(|(path, old)| {
                let last = if old.is_array() {
                    "-".to_owned()
                } else {
                    format!("new{serial}")
                };
                json!({"op": "add", "path": format!("{path}/{last}"), "value": value})
            }),
            5 => of(&inner).map(|(path, old)| json!({"op": "test", "path": path, "value": old})),
            _ => of(&inner).map(|(path, _)| json!({"op": "remove", "path": path})),
        });
        at += step * tape.pick(4).min(1);
    }
    operations
}

fn one_by_one(text: &str, operations: &[Value]) -> Result<String, Error> {
    let mut text = text.to_owned();
    for (index, operation) in operations.iter().enumerate() {
        text = apply(&text, &patch(vec![operation.clone()])).map_err(|mut error| {
            if let Error::Splice(SpliceError {
                operation: Some(operation),
                offset,
                ..
            }) = &mut error
            {
                operation.index += index;
                *offset = 0;
            }
            error
        })?;
    }
    Ok(text)
}

/// Compares a patch with one for each operation. Returns its text.
fn check(text: &str, operations: Vec<Value>) -> Result<Option<String>, TestCaseError> {
    let alone = one_by_one(text, &operations);
    let patch = patch(operations);
    let shown = || format!("{patch}\n{}", visible(text));
    let together = apply(text, &patch).map_err(|mut error| {
        if let Error::Splice(SpliceError { offset, .. }) = &mut error {
            *offset = 0;
        }
        error
    });
    let [shown_together, shown_alone] =
        [&together, &alone].map(|text| text.as_deref().map(visible));
    prop_assert_eq!(shown_together, shown_alone, "{}", shown());
    prop_assert!(
        !matches!(together, Err(Error::Mismatch(_) | Error::Yaml(_))),
        "{}",
        shown()
    );
    Ok(together.ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_beside_each_other_are_operations_one_by_one(layout in tape(), choices in tape()) {
        let text = document(&mut ChoiceTape::new(&layout));
        if let Some(value) = read_json(&text) {
            let operations = operations_beside(&mut ChoiceTape::new(&choices), &value);
            check(&value.to_string(), operations.clone())?;
            check(&text, operations)?;
        }
    }
}

#[test]
fn operations_together_are_operations_one_by_one() {
    let Some(files) = corpus::manifests("operations_together_are_operations_one_by_one") else {
        return;
    };
    let is_long = std::env::var_os("MACKEREL_LONG_TESTS").is_some();
    let (step, least) = if is_long { (1, 20_000) } else { (10, 2_000) };
    let mut random = Random(1);
    let mut patches = 0;
    for (_, bytes) in files.step_by(step) {
        let Ok(stream) = String::from_utf8(bytes) else {
            continue;
        };
        for document in documents(&stream).take(2) {
            let text = &stream[document.span];
            let Some(value) = read_json(text).filter(|_| text.len() <= MAX_BYTES) else {
                continue;
            };
            for _ in 0..2 {
                let operations = operations(&random.bytes(), &value);
                if let Some(text) = check(text, operations.clone()).unwrap() {
                    let mut expected = value.clone();
                    json_patch::patch(&mut expected, &patch(operations)).unwrap();
                    assert_eq!(read_json(&text), Some(expected), "{}", visible(&text));
                }
                let beside = operations_beside(&mut ChoiceTape::new(&random.bytes()), &value);
                check(text, beside).unwrap();
                patches += 2;
            }
        }
    }
    assert!(patches > least, "{patches} patches");
}

/// A move that fails at its second path has taken the value out already.
#[test]
fn an_operation_that_fails_behind_a_test_leaves_nothing_half_done() {
    let patch: yaml_json_patch::Patch = serde_json::from_str(
        r#"[{"op": "test", "path": "/a", "value": 1}, {"op": "move", "from": "/a", "path": "/b/c"}]"#,
    )
    .unwrap();
    let error = yaml_json_patch::apply("a: 1\nb: {c: 1}\nb: {c: 2}\n", &patch).unwrap_err();
    let yaml_json_patch::Error::Splice(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.kind, yaml_json_patch::ErrorKind::DuplicateKey);
    assert_eq!(error.operation.map(|operation| operation.index), Some(1));
}
