//! JSON is read as other readers of JSON do, whatever YAML thinks of it.

use crate::generator::ChoiceTape;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use yaml_json_patch::{read_json, to_json};

/// Characters that YAML refuses, folds or gives a meaning, and some others.
const CHARACTERS: [&str; 28] = [
    "a",
    " ",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{92}",
    "\u{9f}",
    "\u{a0}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10ffff}",
    "😀",
    "あ",
    "\"",
    "\\",
    "/",
    "\0",
    "\t",
    "\n",
    "\r",
    "<<",
    "#",
    ": ",
    "'",
];

const WORDS: [&str; 16] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-1",
    "1.0",
    "0.25",
    "1e3",
    "1E+2",
    "-2.5e-7",
    "9223372036854775808",
    "18446744073709551616",
    "1e22",
    "123456789.125",
];

fn json(tape: &mut ChoiceTape<'_>, depth: usize, out: &mut String) {
    space(tape, out);
    match tape.pick(if depth > 6 { 2 } else { 5 }) {
        0 => out.push_str(tape.choose(&WORDS)),
        1 => string(tape, out),
        2 => list(tape, ['[', ']'], out, |tape, out| {
            json(tape, depth + 1, out)
        }),
        _ => list(tape, ['{', '}'], out, |tape, out| {
            space(tape, out);
            string(tape, out);
            space(tape, out);
            out.push(':');
            json(tape, depth + 1, out);
        }),
    }
    space(tape, out);
}

fn list(
    tape: &mut ChoiceTape<'_>,
    brackets: [char; 2],
    out: &mut String,
    mut item: impl FnMut(&mut ChoiceTape<'_>, &mut String),
) {
    out.push(brackets[0]);
    for at in 0..tape.pick(4) {
        out.extend((at > 0).then_some(','));
        item(tape, out);
    }
    space(tape, out);
    out.push(brackets[1]);
}

fn space(tape: &mut ChoiceTape<'_>, out: &mut String) {
    out.push_str(tape.choose(&["", "", "", " ", "\t", "\n", "\r", "\r\n\t "]));
}

fn string(tape: &mut ChoiceTape<'_>, out: &mut String) {
    out.push('"');
    // YAML takes no key of more than 1,024 characters.
    let times = if tape.chance(20) { 300 } else { 1 };
    for _ in 0..tape.pick(5) {
        for character in tape.choose(&CHARACTERS).repeat(times).chars() {
            match tape.pick(3) {
                0 if character > '\u{1f}' && !matches!(character, '"' | '\\') => {
                    out.push(character)
                }
                1 => character
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| write!(out, "\\u{unit:04x}").unwrap()),
                _ => {
                    let quoted = serde_json::to_string(&character).unwrap();
                    out.push_str(&quoted[1..quoted.len() - 1]);
                }
            }
        }
    }
    out.push('"');
}

/// As a reader of YAML sees numbers: 1.0 is 1.
fn with_plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => format!("{:.12e}", number.as_f64().unwrap() + 0.0).into(),
        Value::Array(items) => items.into_iter().map(with_plain_numbers).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, with_plain_numbers(value)))
            .collect(),
        other => other,
    }
}

#[track_caller]
fn is_read(text: &str) {
    let raw: Box<RawValue> =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    let tree = read_json(&raw).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    let seen = to_json(&tree, tree.root().unwrap()).unwrap();
    let expected: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        with_plain_numbers(seen),
        with_plain_numbers(expected),
        "{text:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn it_is_read_as_serde_json_reads_it(tape in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut text = String::new();
        json(&mut ChoiceTape::new(&tape), 0, &mut text);
        is_read(&text);
    }
}

#[test]
fn what_yaml_refuses_is_read() {
    let key = "k".repeat(5_000);
    for text in [
        "{\"a\": \"\u{7f}\u{80}\u{9f}\u{fffe}\u{ffff}\"}",
        "{\t\"a\"\t:\t1,\r\"b\":\r\n[\t]}",
        "{\"<<\": {\"a\": 1}, \"a\": 2, \"a\": 3}",
        &format!("{{\"{key}\": \"\\ud83d\\ude00\\/\\u0000\"}}"),
        &format!("{}1{}", "[".repeat(99), "]".repeat(99)),
        "7",
    ] {
        is_read(text);
    }
    // As Go reads halves of a pair.
    let raw: Box<RawValue> = serde_json::from_str(r#"["\ud800", "\udc00a", 1e400]"#).unwrap();
    let tree = read_json(&raw).unwrap();
    let seen = to_json(&tree, tree.root().unwrap()).unwrap();
    assert_eq!(seen, serde_json::json!(["\u{fffd}", "\u{fffd}a", "1e400"]));
}

#[test]
fn deep_nesting_ends_with_an_error() {
    for text in [
        "[".repeat(100_000) + &"]".repeat(100_000),
        "{\"a\":".repeat(101) + "1" + &"}".repeat(101),
    ] {
        let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
        let error = read_json(&raw).unwrap_err();
        assert_eq!(
            error.message,
            "the object is nested more than 100 levels deep"
        );
    }
}

/// With a look back at each of them, this would take minutes.
#[test]
fn a_string_of_escaped_tabs_is_read_in_one_pass() {
    is_read(&format!("\"{}\"", "\\t".repeat(1 << 20)));
}
