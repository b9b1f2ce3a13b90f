//! Random patches of real files: the text is the one that the operations give one after the other.

use crate::generator::ChoiceTape;
use crate::properties::{operation, patch, read_json};
use crate::splice::visible;
use serde_json::Value;
use support::corpus;
use yaml_json_patch::{Error, apply, documents};

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

fn one_by_one(text: &str, operations: &[Value]) -> Result<String, Error> {
    let mut text = text.to_owned();
    for operation in operations {
        text = apply(&text, &patch(vec![operation.clone()]))?;
    }
    Ok(text)
}

fn check(text: &str, operations: Vec<Value>, expected: &Value) {
    let alone = one_by_one(text, &operations);
    let patch = patch(operations);
    match (apply(text, &patch), alone) {
        (Ok(together), Ok(alone)) => {
            let shown = || format!("{patch}\n{}", visible(text));
            assert_eq!(visible(&together), visible(&alone), "{}", shown());
            let mut expected = expected.clone();
            json_patch::patch(&mut expected, &patch).unwrap();
            assert_eq!(read_json(&together), Some(expected), "{}", shown());
        }
        (Err(Error::Splice(together)), Err(Error::Splice(alone))) => {
            assert_eq!(together.kind, alone.kind, "{patch}\n{}", visible(text));
        }
        (together, alone) => panic!("{together:?}\n{alone:?}\n{patch}\n{}", visible(text)),
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
                check(text, operations(&random.bytes(), &value), &value);
                patches += 1;
            }
        }
    }
    assert!(patches > least, "{patches} patches");
}
