//! Every place of every odd document: the yaml-test-suite's, and a part of the corpus.

use crate::splice::visible;
use json_patch::Patch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::corpus;
use yaml_json_patch::documents;
use yaml_json_patch::{self as yaml, to_json};
use yaml_json_patch::{Error, apply};

#[derive(Default)]
struct PlaceCensus {
    done: usize,
    refused: BTreeMap<&'static str, usize>,
}

impl PlaceCensus {
    /// The patched text, after it was compared with the patched JSON.
    fn apply(&mut self, text: &str, value: &Value, operation: &Value) -> Option<String> {
        let patch: Patch = serde_json::from_value(json!([operation])).unwrap();
        let mut expected = value.clone();
        json_patch::patch(&mut expected, &patch).unwrap();
        match apply(text, &patch) {
            Ok(patched) => {
                let tree = yaml::read(&patched).unwrap();
                let found = tree
                    .root()
                    .map(|root| to_json(&tree, root).unwrap())
                    .unwrap_or_default();
                assert_eq!(
                    found,
                    expected,
                    "{operation}\n{}\n{}",
                    visible(text),
                    visible(&patched)
                );
                self.done += 1;
                Some(patched)
            }
            Err(Error::Splice(refused)) => {
                let fault = refused.kind.is_fault_of_patch();
                assert!(!fault, "{:?}: {operation}\n{}", refused.kind, visible(text));
                *self.refused.entry(refused.kind.word()).or_default() += 1;
                None
            }
            Err(error) => panic!("{error:?}: {operation}\n{}", visible(text)),
        }
    }

    fn everywhere(&mut self, text: &str, value: &Value, at: &Value, path: &str) {
        let new = json!({"a": [1, {"b": "c"}], "d": {"e": "f g"}});
        let mut there_and_back = |add: String, remove: String| {
            if let Some(patched) = self.apply(
                text,
                value,
                &json!({"op": "add", "path": add, "value": new}),
            ) {
                let remove: Patch =
                    serde_json::from_value(json!([{"op": "remove", "path": remove}])).unwrap();
                let back = apply(&patched, &remove)
                    .unwrap_or_else(|error| panic!("{error:?}\n{}", visible(&patched)));
                assert_eq!(visible(&back), visible(text), "{}", visible(&patched));
            }
        };
        match at {
            Value::Object(_) => {
                there_and_back(format!("{path}/new member"), format!("{path}/new member"))
            }
            Value::Array(items) => {
                there_and_back(format!("{path}/-"), format!("{path}/{}", items.len()));
                there_and_back(format!("{path}/0"), format!("{path}/0"));
            }
            _ => {}
        }
        self.apply(
            text,
            value,
            &json!({"op": "replace", "path": path, "value": new}),
        );
        self.apply(
            text,
            value,
            &json!({"op": "replace", "path": path, "value": "x"}),
        );
        if !path.is_empty() {
            self.apply(text, value, &json!({"op": "remove", "path": path}));
        }
        let below: Vec<(String, &Value)> = match at {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| (at.to_string(), item))
                .collect(),
            _ => Vec::new(),
        };
        for (token, inside) in below {
            self.everywhere(text, value, inside, &format!("{path}/{token}"));
        }
    }

    fn stream(&mut self, stream: &str) {
        for document in documents(stream) {
            let text = &stream[document.span];
            let Ok(tree) = yaml::read(text) else { continue };
            let Some(value) = tree.root().and_then(|root| to_json(&tree, root).ok()) else {
                continue;
            };
            self.everywhere(text, &value, &value, "");
        }
    }
}

#[test]
fn every_place_of_the_suite() {
    let Some(folder) = corpus::suite("yaml-test-suite", "every_place_of_the_suite") else {
        return;
    };
    let mut census = PlaceCensus::default();
    for (name, bytes) in corpus::Files::below(&folder) {
        if name.ends_with("in.yaml")
            && let Ok(stream) = String::from_utf8(bytes)
        {
            census.stream(&stream);
        }
    }
    let refused: Vec<_> = census.refused.into_iter().collect();
    let expected = vec![
        ("alias", 37),
        ("anchor", 89),
        ("explicit-key", 100),
        ("flow-pair", 32),
        ("layout", 2),
        ("odd-colon", 2),
        ("tag", 1),
    ];
    assert_eq!((census.done, refused), (2_932, expected));
}

#[test]
fn every_place_of_small_manifests() {
    let Some(files) = corpus::manifests("every_place_of_small_manifests") else {
        return;
    };
    let mut census = PlaceCensus::default();
    for (_, bytes) in files.filter(|(_, bytes)| bytes.len() < 400) {
        if let Ok(stream) = String::from_utf8(bytes) {
            census.stream(&stream);
        }
    }
    let refused: Vec<_> = census.refused.into_iter().collect();
    let expected = vec![
        ("alias", 44),
        ("anchor", 55),
        ("duplicate-key", 21),
        ("merge-key", 12),
        ("open-block-scalar", 4),
    ];
    assert_eq!((census.done, refused), (147_960, expected));
}
