//! Strings: where they need quotes, and where they are blocks.

use super::given;
use serde_json::json;

#[test]
fn a_version_or_an_address_needs_no_quotes() {
    given("name: web\nversion: 0.1.0\nappVersion: 1.16.0 # upstream\nhost: 10.0.0.1\n")
        .patched_with(json!([
            {"op": "replace", "path": "/version", "value": "0.1.1"},
            {"op": "replace", "path": "/appVersion", "value": "1.17.0"},
            {"op": "replace", "path": "/host", "value": "10.0.0.2"},
        ]))
        .gives("name: web\nversion: 0.1.1\nappVersion: 1.17.0 # upstream\nhost: 10.0.0.2\n");
}

#[test]
fn a_block_stays_a_block_of_its_kind() {
    given("steps:\n  - run: |\n      echo ${{ x }}\n      make\n    shell: bash\n")
        .replace("/steps/0/run", json!("echo ${X}\nmake\n"))
        .gives("steps:\n  - run: |\n      echo ${X}\n      make\n    shell: bash\n");
    given("a: >- # why\n   one\n   two\nb: 1\n")
        .replace("/a", json!("three four\nfive\n"))
        .gives("a: > # why\n   three four\n\n   five\nb: 1\n");
    given("a: |+\n  one\n\nb: 1\n")
        .replace("/a", json!("two\n\n\n"))
        .gives("a: |+\n  two\n\n\nb: 1\n");
    given("- |2\n   a\n- b\n")
        .replace("/0", json!("x"))
        .gives("- |2-\n  x\n- b\n");
    given("a: | # why\n  one\nb: 1\n")
        .replace("/a", json!(1))
        .gives("a: 1 # why\nb: 1\n");
    given("a: | # why\n  one\nb: 1\n")
        .replace("/a", json!({"c": 1}))
        .gives("a: # why\n  c: 1\nb: 1\n");
}

#[test]
fn a_text_of_several_lines_is_a_block() {
    given("data:\n  one: |\n    a\n    b\n")
        .add("/data/two", json!("c\nd\n"))
        .gives("data:\n  one: |\n    a\n    b\n  two: |\n    c\n    d\n")
        .and_without(&["/data/two"]);
    given("- a # why\r\n- b\r\n")
        .replace("/0", json!("c\nd"))
        .gives("- |- # why\r\n  c\r\n  d\r\n- b\r\n");
    given("a:\n  b: 1\n")
        .replace("/a", json!(" c\nd\n"))
        .gives("a: |2\n   c\n  d\n");
}

#[test]
fn a_text_that_no_block_can_hold_has_quotes() {
    given("a: 1\n")
        .add("/b", json!("c\n\n"))
        .gives("a: 1\nb: \"c\\n\\n\"\n");
    given("a: [1]\n")
        .add("/a/-", json!("c\nd"))
        .gives("a: [1, \"c\\nd\"]\n");
    // A line break at the end would be missing.
    given("a: 1")
        .add("/b", json!("c\n"))
        .gives("a: 1\nb: \"c\\n\"");
    // The comment would be a line of the text.
    given("a: 1\n    # deep\nb: 2\n")
        .replace("/a", json!("c\nd"))
        .gives("a: \"c\\nd\"\n    # deep\nb: 2\n");
}
