//! Lists in block style.

use super::given;
use serde_json::json;

#[test]
fn an_item_goes_after_the_last_one_and_its_comment() {
    given("list:\n  - a # first\n  - b # last\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n  - a # first\n  - b # last\n  - c\nnext: 1\n")
        .and_without(&["/list/2"]);
}

#[test]
fn an_item_of_a_flush_list() {
    given("list:\n- a\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n- a\n- c\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn comments_deeper_than_the_dash_belong_to_the_item_above() {
    given("list:\n- name: a\n  # about a\n\n  # more about a\n\n# about next\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n- name: a\n  # about a\n\n  # more about a\n- c\n\n# about next\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn comments_at_the_dash_stay_with_what_follows() {
    given("list:\n  - a\n  # - commented out\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n  - a\n  - c\n  # - commented out\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn an_item_in_the_middle_leaves_the_next_ones_comment_to_it() {
    given("- a\n# about b\n- b\n")
        .add("/1", json!("x"))
        .gives("- a\n- x\n# about b\n- b\n")
        .and_without(&["/1"]);
}

#[test]
fn lines_that_were_commented_out_at_the_very_left_stay_with_their_block() {
    given("a:\n  l:\n  - b: 1\n#    c: 2\n#  d: 3\n")
        .patched_with(json!([
            {"op": "add", "path": "/a/l/-", "value": "x"}, {"op": "add", "path": "/a/k", "value": "z"},
        ]))
        .gives("a:\n  l:\n  - b: 1\n#    c: 2\n  - x\n  k: z\n#  d: 3\n")
        .and_without(&["/a/k", "/a/l/1"]);
    given("- b: 1\n#    about what follows\n- c: 1\n")
        .add("/1", json!("x"))
        .gives("- b: 1\n- x\n#    about what follows\n- c: 1\n");
}

#[test]
fn an_item_before_the_first_leaves_its_comment_to_it() {
    given("list:\n  # about a\n  - a\n")
        .add("/list/0", json!({"k": 1, "l": [true, null]}))
        .gives("list:\n  - k: 1\n    l:\n      - true\n      - null\n  # about a\n  - a\n")
        .and_without(&["/list/0"]);
    given("list: # of all\r\n# about the list\r\n\r\n# about a,\r\n  # in two lines\r\n- a\r\n")
        .add("/list/0", json!("b"))
        .gives("list: # of all\r\n# about the list\r\n\r\n- b\r\n# about a,\r\n  # in two lines\r\n- a\r\n")
        .and_without(&["/list/0"]);
}

#[test]
fn the_space_after_the_dash_is_kept() {
    given("list:\n-   name: a\n    image: b\n")
        .add("/list/-", json!({"name": "c", "image": "d", "env": [{"name": "e"}]}))
        .gives("list:\n-   name: a\n    image: b\n-   name: c\n    image: d\n    env:\n    -   name: e\n")
        .and_without(&["/list/1"]);
}

#[test]
fn a_dash_alone_on_its_line() {
    given("list:\n  -\n    name: a\n")
        .add("/list/-", json!({"name": "c"}))
        .gives("list:\n  -\n    name: a\n  - name: c\n");
    // It ends the text above, so that the comment cannot become a part of it.
    given("- |\n  text\n-\n  a: 1\n  # about b\n  b: 2\n")
        .remove("/1/a")
        .gives("- |\n  text\n-\n  # about b\n  b: 2\n");
}

#[test]
fn a_list_in_a_list() {
    given("- - a\n  - b\n- c\n")
        .add("/0/-", json!("x"))
        .gives("- - a\n  - b\n  - x\n- c\n")
        .and_without(&["/0/2"]);
    given("- - a\n  - b\n")
        .add("/0/0", json!("x"))
        .gives("- - x\n  - a\n  - b\n")
        .and_without(&["/0/0"]);
    given("- - a\n")
        .add("/-", json!(["x", "y z: "]))
        .gives("- - a\n- - x\n  - \"y z: \"\n")
        .and_without(&["/1"]);
}

#[test]
fn two_lists_that_end_together() {
    given("a:\n  - b:\n      - c\n")
        .patched_with(json!([
            {"op": "add", "path": "/a/-", "value": "outer"},
            {"op": "add", "path": "/a/0/b/-", "value": "inner"},
            {"op": "add", "path": "/z", "value": "root"},
        ]))
        .gives("a:\n  - b:\n      - c\n      - inner\n  - outer\nz: root\n")
        .and_without(&["/z", "/a/1", "/a/0/b/1"]);
}

#[test]
fn nested_lists_are_written_as_those_in_the_items_beside() {
    given("containers:\n- name: a\n  env:\n    - name: b\n")
        .add(
            "/containers/-",
            json!({"name": "c", "env": [{"name": "d"}]}),
        )
        .gives("containers:\n- name: a\n  env:\n    - name: b\n- name: c\n  env:\n    - name: d\n");
    given("containers:\n- name: a\nvolumes:\n  - v\n")
        .add(
            "/containers/-",
            json!({"name": "c", "env": [{"name": "d"}]}),
        )
        .gives("containers:\n- name: a\n- name: c\n  env:\n  - name: d\nvolumes:\n  - v\n");
}

#[test]
fn a_removed_item_takes_its_own_lines_only() {
    given("list:\n# about a\n- a\n# about b\n- b: 1\n  c: 2 # of b\n# about d\n- d\n")
        .remove("/list/1")
        .gives("list:\n# about a\n- a\n# about b\n# about d\n- d\n");
}

#[test]
fn the_first_item_after_another_dash_is_removed() {
    given("- - a\n  - b\n").remove("/0/0").gives("- - b\n");
    given("- - a\n  # about b\n  - b\n")
        .remove("/0/0")
        .gives("-\n  # about b\n  - b\n");
}

#[test]
fn several_after_another_dash_are_removed() {
    let both = json!([{"op": "remove", "path": "/0/0"}, {"op": "remove", "path": "/0/0"}]);
    given("- - a\n  - b\n  - c\n")
        .patched_with(both.clone())
        .gives("- - c\n");
    given("- - a\n  - b\n  # about c\n  - c\n")
        .patched_with(both)
        .gives("-\n  # about c\n  - c\n");
}

#[test]
fn a_list_that_becomes_empty() {
    given("list: # why\n  - a\n  - b\nnext: 1\n")
        .patched_with(
            json!([{"op": "remove", "path": "/list/0"}, {"op": "remove", "path": "/list/0"}]),
        )
        .gives("list: [] # why\nnext: 1\n");
    given("- - a\n").remove("/0/0").gives("- []\n");
    given("- a\n").remove("/0").gives("[]\n");
    given("k:\n- a").remove("/k/0").gives("k: []");
}

#[test]
fn an_item_that_is_replaced() {
    given("- a # keep\n- b: 1 # goes\n- c\n")
        .replace("/0", json!("x"))
        .gives("- x # keep\n- b: 1 # goes\n- c\n");
    given("- a\n- b: 1 # goes\n- c\n")
        .replace("/1", json!({"x": 1, "w": 2}))
        .gives("- a\n- x: 1\n  w: 2\n- c\n");
    given("- a\n- # empty\n- c\n")
        .replace("/1", json!(5))
        .gives("- a\n- 5 # empty\n- c\n");
    given("- - a\n  - b\n")
        .replace("/0/0", json!({"x": 1, "w": 2}))
        .gives("- - x: 1\n    w: 2\n  - b\n");
}
