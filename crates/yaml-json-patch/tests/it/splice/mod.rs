//! Splicing by example: given a text, patched with operations, it gives a text.

mod blank_lines;
mod block_mappings;
mod block_sequences;
mod brackets;
mod carried;
mod ends_of_texts;
mod nulls;
mod refusals;
mod siblings;
mod strings;

use json_patch::Patch;
use serde_json::{Value, json};
use yaml_json_patch::{Error, ErrorKind, apply};

struct SpliceText<'t>(&'t str);

struct Patched<'t> {
    before: &'t str,
    after: Result<String, Error>,
}

fn given(text: &str) -> SpliceText<'_> {
    SpliceText(text)
}

fn patch(operations: Value) -> Patch {
    serde_json::from_value(operations).unwrap()
}

/// Line ends, tabs, byte order marks and a missing final line break can be seen.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = text
        .replace('\u{feff}', "«BOM»")
        .replace('\t', "→")
        .replace('\r', "␍")
        .replace('\n', "␊\n");
    if !text.ends_with('\n') {
        shown.push_str("[end]\n");
    }
    shown
}

impl<'t> SpliceText<'t> {
    pub(crate) fn patched_with(self, operations: Value) -> Patched<'t> {
        Patched {
            before: self.0,
            after: apply(self.0, &patch(operations)),
        }
    }

    fn add(self, path: &str, value: Value) -> Patched<'t> {
        self.patched_with(json!([{"op": "add", "path": path, "value": value}]))
    }

    fn remove(self, path: &str) -> Patched<'t> {
        self.patched_with(json!([{"op": "remove", "path": path}]))
    }

    fn replace(self, path: &str, value: Value) -> Patched<'t> {
        self.patched_with(json!([{"op": "replace", "path": path, "value": value}]))
    }
}

impl Patched<'_> {
    #[track_caller]
    fn gives(self, expected: &str) -> Self {
        match &self.after {
            Ok(after) => assert_eq!(
                visible(after),
                visible(expected),
                "given:\n{}",
                visible(self.before)
            ),
            Err(error) => panic!("{error:?}, given:\n{}", visible(self.before)),
        }
        self
    }

    /// Removing what was added gives the original back, byte for byte.
    #[track_caller]
    fn and_without(self, paths: &[&str]) {
        let after = self.after.unwrap();
        let removals = paths
            .iter()
            .map(|path| json!({"op": "remove", "path": path}))
            .collect();
        let back = apply(&after, &patch(removals)).unwrap();
        assert_eq!(
            visible(&back),
            visible(self.before),
            "without what was added to\n{}",
            visible(&after)
        );
    }

    #[track_caller]
    fn refuses(self, refusal: ErrorKind) {
        match self.after {
            Err(Error::Splice(uneditable)) => assert_eq!(uneditable.kind, refusal),
            other => panic!("{other:?}, given:\n{}", visible(self.before)),
        }
    }
}
