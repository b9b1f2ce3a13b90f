//! Line ends, final line breaks, byte order marks, markers, block scalars.

use super::given;
use serde_json::json;
use yaml_json_patch::ErrorKind;

#[test]
fn a_text_without_final_line_break_keeps_none() {
    given("a: 1")
        .add("/b", json!(2))
        .gives("a: 1\nb: 2")
        .and_without(&["/b"]);
    given("a:\n- b")
        .add("/a/-", json!({"c": 1, "d": 2}))
        .gives("a:\n- b\n- c: 1\n  d: 2")
        .and_without(&["/a/1"]);
    given("a:\n- b # c")
        .add("/a/-", json!("d"))
        .gives("a:\n- b # c\n- d")
        .and_without(&["/a/1"]);
    given("a: 1\n# end")
        .add("/b", json!(2))
        .gives("a: 1\nb: 2\n# end")
        .and_without(&["/b"]);
    given("a:").add("/a", json!({"b": 1})).gives("a:\n  b: 1");
    given("a: 1\nb: 2").remove("/b").gives("a: 1");
    given("a: 1\nb: 2\nc: 3")
        .patched_with(json!([{"op": "remove", "path": "/b"}, {"op": "remove", "path": "/c"}]))
        .gives("a: 1");
    given("a: 1\nb: 2")
        .patched_with(
            json!([{"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": [[{}]]}]),
        )
        .gives("a: 1\nc:\n  - - {}");
}

#[test]
fn lines_end_as_their_neighbours_do() {
    given("a: 1\r\nb:\r\n  - c\r\n")
        .add("/b/-", json!({"d": 1, "e": 2}))
        .gives("a: 1\r\nb:\r\n  - c\r\n  - d: 1\r\n    e: 2\r\n")
        .and_without(&["/b/1"]);
    given("a: 1\r\nb: 2")
        .add("/c", json!(3))
        .gives("a: 1\r\nb: 2\r\nc: 3")
        .and_without(&["/c"]);
    given("a: 1\nb: 2\r\nc: 3\n")
        .add("/d", json!(4))
        .gives("a: 1\nb: 2\r\nc: 3\nd: 4\n")
        .and_without(&["/d"]);
    given("{\r\n  \"a\": 1\r\n}")
        .add("/b", json!([2]))
        .gives("{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    2\r\n  ]\r\n}")
        .and_without(&["/b"]);
}

#[test]
fn a_byte_order_mark_is_no_column() {
    given("\u{feff}a: 1\n")
        .add("/b", json!(2))
        .gives("\u{feff}a: 1\nb: 2\n")
        .and_without(&["/b"]);
    given("\u{feff}a: 1\nb: 2\n")
        .remove("/a")
        .gives("\u{feff}b: 2\n");
}

#[test]
fn markers_stay_where_they_are() {
    given("%YAML 1.1\n---\na: 1\n...\n")
        .add("/b", json!(2))
        .gives("%YAML 1.1\n---\na: 1\nb: 2\n...\n")
        .and_without(&["/b"]);
    given("--- # first\na: 1\n")
        .add("/b", json!(2))
        .gives("--- # first\na: 1\nb: 2\n")
        .and_without(&["/b"]);
}

#[test]
fn after_a_block_scalar() {
    given("a: |\n  x\n\nb: 1\n")
        .add("/c", json!(2))
        .gives("a: |\n  x\n\nb: 1\n\nc: 2\n")
        .and_without(&["/c"]);
    given("a: |+\n  x\n\n")
        .add("/c", json!(2))
        .gives("a: |+\n  x\n\nc: 2\n")
        .and_without(&["/c"]);
    given("a: |-\n  x\n\n\n")
        .add("/c", json!(2))
        .gives("a: |-\n  x\nc: 2\n\n\n")
        .and_without(&["/c"]);
}

#[test]
fn after_a_block_scalar_that_the_texts_end_cuts_off() {
    given("a: |\n  x")
        .add("/c", json!(2))
        .gives("c: 2\na: |\n  x")
        .and_without(&["/c"]);
    given("- a: |\n    x")
        .add("/0/c", json!(2))
        .gives("- c: 2\n  a: |\n    x")
        .and_without(&["/0/c"]);
    given("a: |-\n  x")
        .add("/c", json!(2))
        .gives("a: |-\n  x\nc: 2")
        .and_without(&["/c"]);
    given("- |\n  x")
        .add("/-", json!(2))
        .refuses(ErrorKind::OpenBlockScalar);
    given("a: |\n  x\nb: 1").remove("/b").gives("a: |\n  x\n");
}

#[test]
fn a_document_without_content_gets_some() {
    for text in ["", "# why\n", "\u{feff}# why\n"] {
        given(text)
            .add("", json!({"a": 1}))
            .gives(&format!("{text}a: 1\n"));
    }
    for text in ["...\n", "# why\n\u{feff}# why\n"] {
        given(text)
            .add("", json!({"a": 1}))
            .refuses(ErrorKind::Layout);
    }
}

#[test]
fn nothing_slips_into_a_block_scalar() {
    given("a: |\n  x\nb: 1\n  # note\n")
        .remove("/b")
        .refuses(ErrorKind::Swallowed);
    given("a: |\n    x\nb: 1\n  # note\n")
        .remove("/b")
        .gives("a: |\n    x\n  # note\n");
    given("a: |+\n  x\nb: 1\n\nc: 1\n")
        .remove("/b")
        .refuses(ErrorKind::Swallowed);
    given("a: |+\n  x\nz: {}\nb: 1\n\nc: 1\n")
        .remove("/b")
        .gives("a: |+\n  x\nz: {}\n\nc: 1\n");
    given("a: |\n  x\nb: 1\n\nc: 1\n")
        .remove("/b")
        .gives("a: |\n  x\n\nc: 1\n");
    given("a: |\n  x\nb: 1\n\nc: 1\n  # note\n")
        .patched_with(json!([
            {"op": "remove", "path": "/b"},
            {"op": "remove", "path": "/c"},
        ]))
        .refuses(ErrorKind::Swallowed);
    // What is deeper than the content is content, white space too.
    for blank in ["   \n", "\n   \nc: 1\n", "   "] {
        given(&format!("a: |\n  x\nb: 1\n{blank}"))
            .remove("/b")
            .refuses(ErrorKind::Swallowed);
    }
    given("a: |\n  x\nb: 1\n  \nc: 1\n")
        .remove("/b")
        .gives("a: |\n  x\n  \nc: 1\n");
    // The first line of content says how deep it is indented.
    given("a: |\n\nb: 1\n  # note\n")
        .remove("/b")
        .refuses(ErrorKind::Swallowed);
    given("a:\n  |\n\nb: 1\n  # note\n")
        .remove("/b")
        .refuses(ErrorKind::Swallowed);
    given("a: | # head\n \nb: 1\n  # note\n")
        .remove("/b")
        .refuses(ErrorKind::Swallowed);
    given("a: |\n\nb: 1\n# note\n")
        .remove("/b")
        .gives("a: |\n\n# note\n");
}
