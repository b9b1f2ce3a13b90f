//! The public RFC 6902 vectors (json-patch-tests), on text: JSON on one line and on several, YAML in block style.

use crate::block_yaml::{Dashes, print};
use json_patch::Patch;
use serde_json::Value;
use support::corpus;
use yaml_json_patch::{Error, apply};
use yaml_json_patch::{read, to_json};

#[test]
fn every_vector_on_text() {
    let Some(folder) = corpus::suite("json-patch-tests", "every_vector_on_text") else {
        return;
    };
    let (mut done, mut errors, mut disabled) = (0, 0, 0);
    for file in ["tests.json", "spec_tests.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
        for case in cases {
            if case["disabled"] == Value::Bool(true) || case.get("patch").is_none() {
                disabled += 1;
                continue;
            }
            let document = &case["doc"];
            let texts = [
                document.to_string(),
                serde_json::to_string_pretty(document).unwrap(),
                print(document, Dashes::Flush),
                print(document, Dashes::Indented),
            ];
            let patch: Result<Patch, _> = serde_json::from_value(case["patch"].clone());
            for text in texts {
                let result = patch.as_ref().map(|patch| apply(&text, patch));
                if case.get("error").is_some() {
                    errors += 1;
                    let fault = match &result {
                        Err(_) => true,
                        Ok(Err(Error::Splice(uneditable))) => uneditable.kind.is_fault_of_patch(),
                        Ok(_) => false,
                    };
                    assert!(fault, "{case}\n{text}\n{result:?}");
                    continue;
                }
                let patched = result.unwrap_or_else(|error| panic!("{case}\n{error}"));
                let patched = patched.unwrap_or_else(|error| panic!("{case}\n{text}\n{error:?}"));
                let expected = case.get("expected").unwrap_or(document);
                let tree = read(&patched).unwrap();
                let found = tree
                    .root()
                    .map_or(Value::Null, |root| to_json(&tree, root).unwrap());
                assert_eq!(&found, expected, "{case}\n{text}\n{patched}");
                done += 1;
            }
        }
    }
    // Of 112 cases, each in four texts.
    assert_eq!((done, errors, disabled), (4 * 74, 4 * 34, 4));
}
