//! Blank lines between the elements of block collections.

use super::given;
use serde_json::json;

#[test]
fn a_new_element_is_parted_as_the_others_are() {
    given("services:\n  web:\n    image: a\n\n  db:\n    image: b\n\nvolumes:\n  v:\n")
        .add("/services/cache", json!({"image": "c"}))
        .gives("services:\n  web:\n    image: a\n\n  db:\n    image: b\n\n  cache:\n    image: c\n\nvolumes:\n  v:\n")
        .and_without(&["/services/cache"]);
    given("- a\r\n\r\n- b")
        .add("/-", json!("c"))
        .gives("- a\r\n\r\n- b\r\n\r\n- c")
        .and_without(&["/2"]);
    given("l:\n  # one\n  - a\n\n  # two\n  - b\n")
        .add("/l/0", json!("x"))
        .gives("l:\n  - x\n\n  # one\n  - a\n\n  # two\n  - b\n")
        .and_without(&["/l/0"]);
    given("l:\n- a\n\n- b\n- c\n")
        .add("/l/-", json!("x"))
        .gives("l:\n- a\n\n- b\n- c\n- x\n")
        .and_without(&["/l/3"]);
}

#[test]
fn the_nearest_elements_decide() {
    // Sections, below short lines that are glued to each other.
    given("name: ci\non: push\n\njobs:\n  a:\n    runs-on: x\n")
        .add("/env", json!({"A": "b"}))
        .gives("name: ci\non: push\n\njobs:\n  a:\n    runs-on: x\n\nenv:\n  A: b\n")
        .and_without(&["/env"]);
    given("name: a\nversion: 1\n\nmaintainers:\n  - name: x\n\nkeywords:\n  - k\n")
        .add("/dependencies", json!([{"name": "x"}]))
        .gives("name: a\nversion: 1\n\nmaintainers:\n  - name: x\n\nkeywords:\n  - k\n\ndependencies:\n  - name: x\n")
        .and_without(&["/dependencies"]);
    // The last line is the first of a group.
    given("m:\n  a: 1\n  b: 2\n\n  c: 3\nx: 1\n")
        .add("/m/d", json!(4))
        .gives("m:\n  a: 1\n  b: 2\n\n  c: 3\n  d: 4\nx: 1\n")
        .and_without(&["/m/d"]);
    // In between, the place itself decides.
    given("- a\n- b\n\n- c\n- d\n")
        .patched_with(json!([
            {"op": "add", "path": "/3", "value": "z"},
            {"op": "add", "path": "/2", "value": "w"},
            {"op": "add", "path": "/1", "value": "x"},
        ]))
        .gives("- a\n- x\n- b\n\n- w\n\n- c\n- z\n- d\n")
        .and_without(&["/1", "/2", "/3"]);
}

#[test]
fn a_blank_line_between_the_comments_of_an_element_is_none() {
    let new = json!({"k": 1, "l": 2});
    given("- a\n- b\n  # one\n\n  # two\n")
        .patched_with(json!([{"op": "add", "path": "/-", "value": new}, {"op": "add", "path": "/-", "value": new}]))
        .gives("- a\n- b\n  # one\n\n  # two\n- k: 1\n  l: 2\n- k: 1\n  l: 2\n")
        .and_without(&["/3", "/2"]);
}

#[test]
fn a_blank_line_of_a_text_is_no_blank_line() {
    given("a: 1\n\nb: |+\n  text\n")
        .add("/c", json!(1))
        .gives("a: 1\n\nb: |+\n  text\nc: 1\n")
        .and_without(&["/c"]);
}

#[test]
fn a_removal_leaves_no_two_blank_lines() {
    let text = "a: 1\n\nb: 2\n\nc: 3\n";
    given(text).remove("/a").gives("b: 2\n\nc: 3\n");
    given(text).remove("/b").gives("a: 1\n\nc: 3\n");
    given(text).remove("/c").gives("a: 1\n\nb: 2\n");
    given("# about a\na: 1\n\nb: 2\n")
        .remove("/a")
        .gives("# about a\n\nb: 2\n");
}

#[test]
fn nothing_goes_above_a_line_that_programs_read() {
    given("#!/usr/bin/env ansible-playbook\n- a\n")
        .add("/0", json!("x"))
        .gives("#!/usr/bin/env ansible-playbook\n- x\n- a\n")
        .and_without(&["/0"]);
}
