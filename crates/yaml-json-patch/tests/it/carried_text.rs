//! `move` and `copy` of what is hard to carry: anchors and aliases, tags, merge keys, explicit keys, comments and scalars of
//! several lines in brackets and outside. Every outcome is what RFC 6902 says, or a refusal.

use crate::generator::ChoiceTape;
use crate::properties::{patch, places, read_json, tape};
use crate::splice::visible;
use proptest::prelude::*;
use serde_json::{Value, json};
use yaml_json_patch::{Cache, Error, ErrorKind, apply, edit, operations, read, splice, verify};

/// Writes a document in which each node is of another kind, and neighbours are close.
struct HardDocument {
    text: String,
    anchors: usize,
    keys: usize,
}

fn hard_document(tape: &mut ChoiceTape<'_>) -> String {
    let mut document = HardDocument {
        text: String::new(),
        anchors: 0,
        keys: 0,
    };
    document.text.push_str(tape.choose(&[
        "",
        "",
        "",
        "# head\n",
        "---\n",
        "%TAG !e! tag:yaml.org,2002:\n---\n",
    ]));
    if tape.chance(5) {
        document.sequence(tape, 0, 0);
    } else {
        document.mapping(tape, 0, 0);
    }
    let mut text = document.text;
    text.push_str(tape.choose(&["", "", "# tail\n", "  # deep tail\n", "\n\n", "...\n"]));
    if tape.chance(4) {
        text.pop();
    }
    if tape.chance(6) {
        text = text.replace('\n', "\r\n");
    }
    text
}

impl HardDocument {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn indent(&mut self, column: usize) {
        self.push(&" ".repeat(column));
    }

    fn between(&mut self, tape: &mut ChoiceTape<'_>, column: usize) {
        match tape.pick(10) {
            6 => self.push("\n"),
            7 => self.push("# left\n"),
            8 => {
                self.indent(column);
                self.push("# note\n");
            }
            9 => {
                self.indent(column + 3);
                self.push("# deep\n \n");
            }
            _ => {}
        }
    }

    fn line_end(&mut self, tape: &mut ChoiceTape<'_>) {
        self.push(tape.choose(&["", "", "", " # why", "\t# tab", " "]));
        self.push("\n");
    }

    fn properties(&mut self, tape: &mut ChoiceTape<'_>, tags: &[&str]) {
        match tape.pick(8) {
            5 => {
                self.anchors += 1;
                // A name may be given twice.
                let name = (self.anchors / 2).to_string();
                self.push(&format!("&a{name} "));
            }
            6 => {
                let tag = tape.choose(tags);
                self.push(&format!("{tag} "));
            }
            7 => {
                self.anchors += 1;
                let tag = tape.choose(tags);
                self.push(&format!("{tag} &b{} ", self.anchors));
            }
            _ => {}
        }
    }

    fn key(&mut self, tape: &mut ChoiceTape<'_>) {
        self.keys += 1;
        let serial = self.keys;
        let key = match tape.pick(12) {
            5 => format!("\"k{serial}\""),
            6 => format!("'k{serial}, [x]'"),
            7 => format!("k{serial} y"),
            8 => "on".to_owned(),
            9 => format!("&key{serial} k{serial}"),
            10 => format!("!!str 0{serial}"),
            11 => format!("k{serial}#?, {{]"),
            _ => format!("k{serial}"),
        };
        self.push(&key);
        self.push(":");
    }

    fn mapping(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        for at in 0..=tape.pick(4) {
            if at > 0 {
                self.between(tape, column);
                self.indent(column);
            }
            match tape.pick(16) {
                14 => {
                    self.keys += 1;
                    let key = format!("? e{}\n", self.keys);
                    self.push(&key);
                    self.indent(column);
                    self.push(":");
                }
                15 if self.anchors > 0 => {
                    self.push("<<: *a1\n");
                    continue;
                }
                _ => self.key(tape),
            }
            self.value(tape, column, depth, false);
        }
    }

    fn sequence(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        for at in 0..=tape.pick(4) {
            if at > 0 {
                self.between(tape, column);
                self.indent(column);
            }
            self.push("-");
            let inside = column + 2;
            match if depth > 3 { 0 } else { tape.pick(6) } {
                3 | 4 => {
                    self.push(" ");
                    self.mapping(tape, inside, depth + 1);
                }
                5 => {
                    self.push(" ");
                    self.sequence(tape, inside, depth + 1);
                }
                _ => self.value(tape, column, depth, true),
            }
        }
    }

    fn value(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize, is_item: bool) {
        let inside = column + 1 + tape.pick(4);
        match if depth > 3 { 0 } else { tape.pick(10) } {
            4 | 5 => {
                self.push(" ");
                self.properties(tape, &["!!map", "!own"]);
                self.line_end(tape);
                self.between(tape, inside);
                self.indent(inside);
                self.mapping(tape, inside, depth + 1);
            }
            6 => {
                self.push(" ");
                self.properties(tape, &["!!seq", "!own"]);
                self.line_end(tape);
                let flush = if is_item { inside } else { column };
                self.between(tape, flush);
                self.indent(flush);
                self.sequence(tape, flush, depth + 1);
            }
            7 => {
                self.push(" ");
                self.properties(tape, &["!!map", "!!seq", "!own"]);
                self.flow(tape, inside, depth);
                self.line_end(tape);
            }
            8 => {
                self.line_end(tape);
                self.between(tape, inside);
                self.indent(inside);
                self.scalar(tape, column);
            }
            _ => {
                self.push(" ");
                self.scalar(tape, column);
            }
        }
    }

    fn scalar(&mut self, tape: &mut ChoiceTape<'_>, column: usize) {
        let tags = ["!!str", "!own", "!", "!!binary", "!e!str"];
        self.properties(tape, &tags);
        let inside = " ".repeat(column + 1 + tape.pick(3));
        match tape.pick(14) {
            1 => self.push("0644"),
            2 => self.push("'it''s: # '"),
            3 => self.push("\"a\\x41\\\n   b \""),
            4 => self.push(&format!("one\n{inside}two\n\n{inside}- three")),
            5 => self.push(&format!("'one\n\n{inside}# two'")),
            6 => {
                let width = inside.len() - column;
                let header = match tape.pick(8) {
                    0 => "|".to_owned(),
                    1 => ">".to_owned(),
                    2 => "|-".to_owned(),
                    3 => ">+".to_owned(),
                    4 => "|+ # head".to_owned(),
                    5 if column > 0 => format!("|{width}"),
                    6 if column > 0 => format!(">{width}-"),
                    _ => "| # head".to_owned(),
                };
                let body = match tape.pick(6) {
                    0 => "x\n".to_owned(),
                    1 => format!("x\n\n{inside}  y\n"),
                    2 => format!("# x\n{inside}\ty\n\n"),
                    3 => format!("k: v\n{inside}- w\n \n\n"),
                    4 => "\n".to_owned(),
                    _ => format!("x\n{inside}\n{inside} \n"),
                };
                self.push(&format!("{header}\n{inside}{body}"));
                return;
            }
            7 if self.anchors > 1 => self.push("*a1"),
            8 => self.push("~"),
            9 => self.push("a, [b] {c"),
            10 => self.push("yes"),
            11 => {}
            12 => self.push("a:b#c"),
            13 => self.push("- x".trim_start_matches("- ")),
            _ => self.push("x y"),
        }
        self.line_end(tape);
    }

    fn flow(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        let is_mapping = tape.pick(2) == 0;
        let own_lines = tape.chance(3);
        let inside = " ".repeat(column + 1);
        let [open, close] = if is_mapping { ["{", "}"] } else { ["[", "]"] };
        self.push(open);
        let count = tape.pick(4);
        for at in 0..count {
            if own_lines {
                self.push(tape.choose(&["\n", "\n", " # note\n", "\n\n"]));
                self.push(&inside);
            }
            if is_mapping {
                self.keys += 1;
                let serial = self.keys;
                let key = match tape.pick(6) {
                    3 => format!("\"k{serial}\":"),
                    4 => "on: ".to_owned(),
                    5 => format!("? k{serial} : "),
                    _ => format!("k{serial}: "),
                };
                self.push(&key);
            } else if tape.chance(8) {
                self.push("p: ");
            }
            match tape.pick(10) {
                1 if depth < 3 => self.flow(tape, column + 1, depth + 1),
                2 => self.push("0644"),
                3 => self.push("\"b, \""),
                4 => self.push(&format!("one\n{inside}two")),
                5 => self.push(&format!("'one\n\n{inside}two'")),
                6 if self.anchors > 1 => self.push("*a1 "),
                7 => self.push("!!str 5"),
                8 => {
                    self.anchors += 1;
                    let anchor = format!("&a{} x", self.anchors / 2);
                    self.push(&anchor);
                }
                9 => self.push("yes"),
                _ => self.push("a b"),
            }
            if at + 1 < count || tape.chance(4) {
                self.push(tape.choose(&[",", ", ", " ,"]));
            }
        }
        if own_lines && count > 0 {
            self.push(tape.choose(&["\n", " # last\n"]));
            self.push(&inside);
        }
        self.push(close);
    }
}

/// A place that exists, or one beside it that does not yet.
fn target(tape: &mut ChoiceTape<'_>, found: &[(String, Value)]) -> String {
    let (path, value) = &found[tape.pick(found.len())];
    match value {
        Value::Object(_) if tape.pick(3) > 0 => format!("{path}/new"),
        Value::Array(items) if tape.pick(3) > 0 => {
            format!("{path}/{}", tape.pick(items.len() + 1))
        }
        _ => path.clone(),
    }
}

fn check(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = hard_document(&mut ChoiceTape::new(layout));
    let Some(mut expected) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let mut chosen = Vec::new();
    for _ in 0..=tape.pick(3) {
        let mut found = Vec::new();
        places(&expected, "", &mut found);
        let from = found[tape.pick(found.len())].0.clone();
        let path = target(&mut tape, &found);
        let operation = match tape.pick(8) {
            0..3 => json!({"op": "move", "from": from, "path": path}),
            3..6 => json!({"op": "copy", "from": from, "path": path}),
            6 => json!({"op": "remove", "path": from}),
            _ => json!({"op": "add", "path": path, "value": {"v": ["w", {"x": null}]}}),
        };
        let one = patch(vec![operation.clone()]);
        let mut next = expected.clone();
        if (operation["op"] == "move" && from == path)
            || json_patch::patch(&mut next, &one).is_err()
        {
            break;
        }
        expected = next;
        chosen.push(operation);
    }
    let count = chosen.len();
    let patch = patch(chosen);
    let shown = || format!("{patch}\n{}", visible(&text));
    match apply(&text, &patch) {
        Ok(patched) => {
            prop_assert_eq!(
                read_json(&patched),
                Some(expected.clone()),
                "{}\n{}",
                shown(),
                visible(&patched)
            );
        }
        Err(Error::Splice(refused)) => {
            prop_assert!(
                !refused.kind.is_fault_of_patch(),
                "{refused:?}: {}",
                shown()
            );
            prop_assert!(
                refused.operation.is_some_and(|failed| failed.index < count),
                "{}",
                shown()
            );
        }
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    }
    // The parts by themselves say the same.
    let tree = read(&text).unwrap();
    let cache = Cache::default();
    if let Ok(spliced) = splice(&tree, operations(&patch), &cache) {
        let edited = edit::apply(&text, &spliced.edits);
        let new = read(&edited);
        let verified = new
            .as_ref()
            .is_ok_and(|new| verify(&tree, &spliced, new, &cache).is_ok());
        prop_assert!(verified, "{}\n{}", shown(), visible(&edited));
        prop_assert_eq!(read_json(&edited), Some(expected), "{}", shown());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_hard_to_carry_is_right_or_refused(layout in tape(), choices in tape()) {
        check(&layout, &choices)?;
    }
}

fn failed(text: &str, operations: Value) -> (ErrorKind, usize, String) {
    let patch = serde_json::from_value(operations).unwrap();
    match apply(text, &patch).unwrap_err() {
        Error::Splice(error) => {
            let operation = error.operation.unwrap();
            (error.kind, operation.index, operation.path.to_string())
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_missing_from_is_named() {
    let copy = json!([{"op": "copy", "from": "/x", "path": "/b"}]);
    assert_eq!(
        failed("a: 1\n", copy),
        (ErrorKind::InvalidPointer, 0, "/x".to_owned())
    );
    let moved = json!([{"op": "move", "from": "/a", "path": "/d/c"}]);
    assert_eq!(
        failed("a: &x 1\nb: *x\nd: {}\n", moved),
        (ErrorKind::Anchor, 0, "/a".to_owned())
    );
    let target = json!([{"op": "move", "from": "/a", "path": "/c/d"}]);
    assert_eq!(
        failed("a: 1\n", target),
        (ErrorKind::InvalidPointer, 0, "/c/d".to_owned())
    );
    let patch = serde_json::from_value(json!([{"op": "move", "from": "/x", "path": "/c"}]));
    assert_eq!(
        apply("a: 1\n", &patch.unwrap()).unwrap_err().to_string(),
        "operation 0 (from `/x`): the document has no `x`"
    );
}

/// The error and the operation belong together, whatever else the others cannot do.
#[test]
fn the_operation_that_fails_is_named() {
    let text = "a: {}\nb:\n  c: 1 # x\u{2028}y\n";
    let patch = json!([
        {"op": "add", "path": "/b/d", "value": 1},
        {"op": "add", "path": format!("/a/{}", "k".repeat(2000)), "value": 1},
    ]);
    let (kind, index, path) = failed(text, patch);
    assert_eq!((kind, index, &*path), (ErrorKind::LineBreaks, 0, "/b/d"));
}
